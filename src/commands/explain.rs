//! `pvark explain`: why there is no data of a PV in a range, or not all.

use archive::ledger::{COLUMNS, Kind};
use serde_json::Value;

use super::{
    http::{ANSWER_BYTES_MAX, agent, checked, encoded},
    print::print_line,
    table,
};
use crate::{cli::Explain, failure::Failure, host::clock::now};

pub(crate) fn run(command: &Explain) -> Result<(), Failure> {
    let now = now();
    let (from, to) = command.range.ends(now)?;
    let (pv, proof) = (encoded(&command.pv), &command.proof);
    let url = format!("{}/api/v1/pvs/{pv}/explain?from={from}&to={to}&proof={proof}", command.server.url);
    let mut answer = checked(agent().get(&url).call(), &command.server.url)?;
    let told: Value = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?;
    let text = table::text;
    let samples = text(&told["samples"]);
    print_line(&format!("{samples} samples, {}: {}", text(&told["complete"]), text(&told["text"])))?;
    let mut rows = vec![["from", "to", "lost", "why"].map(str::to_owned).to_vec()];
    for reason in table::list(&told["reasons"]) {
        rows.push(["from", "to", "lost", "text"].map(|column| text(&reason[column])).to_vec());
    }
    if rows.len() > 1 {
        table::aligned(&rows).iter().try_for_each(|line| print_line(line))?;
    }
    Ok(print_line(&in_short(&told["account"]))?)
}

/// An account in one line.
fn in_short(account: &Value) -> String {
    let named = |kinds: &[Kind]| {
        let columns = COLUMNS.iter().filter(|column| kinds.contains(&column.kind));
        let said = columns.filter_map(|column| {
            let lost = matches!(column.kind, Kind::Lost | Kind::Missed);
            let count = if lost { &account["lost"][column.name] } else { &account[column.name] };
            Some(column.in_short?.replace("{}", &table::text(count)))
        });
        said.collect::<Vec<_>>().join(", ")
    };
    let (fates, lost, missed) =
        (named(&[Kind::Received, Kind::Stored, Kind::Skipped]), named(&[Kind::Lost]), named(&[Kind::Missed]));
    format!("{fates}, lost {lost}; {missed}")
}
