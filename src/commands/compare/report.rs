//! The report of a comparison: a page that somebody can sign. Who compared what when, the totals, each difference with its reason and
//! links to both archives.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde_json::Value;

use super::{journal::Journal, outcome::Kind};
use crate::{
    commands::table::{list, text},
    failure::Failure,
};

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Html,
    Markdown,
}

impl Form {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Result<Form, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Ok(Form::Html),
            Some("md") => Ok(Form::Markdown),
            _ => Err(format!("a report is written as .html or .md, and {} is neither", path.display()).into()),
        }
    }

    fn escaped(self, text: &str) -> String {
        match self {
            Form::Html => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
            Form::Markdown => {
                let mut escaped = String::new();
                for c in text.chars() {
                    if "\\|`*_[]<>".contains(c) {
                        escaped.push('\\');
                    }
                    escaped.push(if c.is_control() { ' ' } else { c });
                }
                escaped
            }
        }
    }

    fn heading(self, out: &mut impl Write, text: &str) -> io::Result<()> {
        match self {
            Form::Html => writeln!(out, "<h2>{}</h2>", self.escaped(text)),
            Form::Markdown => writeln!(out, "\n## {}\n", self.escaped(text)),
        }
    }

    fn paragraph(self, out: &mut impl Write, text: &str) -> io::Result<()> {
        match self {
            Form::Html => writeln!(out, "<p>{}</p>", self.escaped(text)),
            Form::Markdown => writeln!(out, "\n{}\n", self.escaped(text)),
        }
    }

    /// The beginning of a table; rows come with `row`, and `table_end` ends it.
    fn table(self, out: &mut impl Write, columns: &[&str]) -> io::Result<()> {
        match self {
            Form::Html => writeln!(out, "<table><tr><th>{}</th></tr>", columns.join("</th><th>")),
            Form::Markdown => {
                writeln!(out, "\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()))
            }
        }
    }

    /// Cells, each of which may lead somewhere.
    fn row(self, out: &mut impl Write, cells: &[(String, Option<&str>)]) -> io::Result<()> {
        let cell = |(text, link): &(String, Option<&str>)| match (self, link) {
            (_, None) => self.escaped(text),
            (Form::Html, Some(link)) => format!("<a href=\"{}\">{}</a>", self.escaped(link), self.escaped(text)),
            (Form::Markdown, Some(link)) => format!("[{}](<{link}>)", self.escaped(text)),
        };
        let cells: Vec<String> = cells.iter().map(cell).collect();
        match self {
            Form::Html => writeln!(out, "<tr><td>{}</td></tr>", cells.join("</td><td>")),
            Form::Markdown => writeln!(out, "| {} |", cells.join(" | ")),
        }
    }

    fn table_end(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Form::Html => writeln!(out, "</table>"),
            Form::Markdown => writeln!(out),
        }
    }
}

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #999;padding:.2em .6em;text-align:left;vertical-align:top}\
.sign td{height:3.5em;min-width:16em}@media print{a{color:inherit;text-decoration:none}}";

/// Writes the report.
pub(crate) fn write(path: &Path, journal: &Journal, head: &Value, total: &Value) -> Result<(), Failure> {
    let form = Form::of(path)?;
    let file = File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let mut out = BufWriter::new(file);
    let title = "Comparison of two archives";
    match form {
        Form::Html => writeln!(
            out,
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>"
        )?,
        Form::Markdown => writeln!(out, "# {title}")?,
    }
    verdict(form, &mut out, total)?;
    what(form, &mut out, head, total)?;
    totals(form, &mut out, total)?;
    differences(form, &mut out, journal)?;
    signature(form, &mut out)?;
    Ok(out.flush()?)
}

fn verdict(form: Form, out: &mut impl Write, total: &Value) -> io::Result<()> {
    let count = |key: &str| total[key].as_u64().unwrap_or(0);
    let verdict = match () {
        () if count("pvs_failed") > 0 => "Not complete: some PVs could not be read to their end on both sides.",
        () if total["is_equal"] != true => "Not equal.",
        () if count("pvs_accepted") > 0 => "Equal, but for differences of kinds that were accepted.",
        () => "Equal.",
    };
    form.heading(out, "Result")?;
    form.paragraph(out, verdict)
}

fn what(form: Form, out: &mut impl Write, head: &Value, total: &Value) -> io::Result<()> {
    form.heading(out, "What was compared")?;
    form.table(out, &["", ""])?;
    let asked = &head["asked"];
    let names = |value: &Value| list(value).iter().map(text).collect::<Vec<_>>().join(", ");
    let pvs = match (names(&asked["pvs"]), text(&asked["list"]).as_str()) {
        (pvs, "-") if pvs.is_empty() => "all that the other archiver has".to_owned(),
        (pvs, "-") => pvs,
        (pvs, file) => format!("{pvs} {file}"),
    };
    for (what, value) in [
        ("here", format!("{}, {}", text(&head["here"]), text(&head["version_here"]))),
        ("there", format!("{}, {}", text(&head["there"]), text(&head["version_there"]))),
        ("range", format!("{} to {} (not included)", text(&head["from"]), text(&head["to"]))),
        ("PVs", pvs),
        ("accepted differences", names(&asked["accept"])),
        ("stamps of one sample", format!("up to {} s apart", text(&asked["stamps_within_seconds"]))),
        ("compared", format!("{} to {}", text(&head["begun"]), text(&total["ended"]))),
        ("by", format!("{} on {}", text(&head["by"]), text(&head["host"]))),
    ] {
        form.row(out, &[(what.to_owned(), None), (value, None)])?;
    }
    form.table_end(out)?;
    form.paragraph(
        out,
        "Every sample of the range was read from both archives and compared in time, value, severity and status; of units, precision, \
         limits and names of states the last ones. The sample before the range, with which answers of the Archiver Appliance begin, does \
         not count. Equal numbers in different types are equal.",
    )
}

fn totals(form: Form, out: &mut impl Write, total: &Value) -> io::Result<()> {
    form.heading(out, "Totals")?;
    form.table(out, &["", "number"])?;
    for (what, key) in [
        ("PVs", "pvs"),
        ("PVs that are equal", "pvs_equal"),
        ("PVs with accepted differences only", "pvs_accepted"),
        ("PVs that differ", "pvs_differing"),
        ("PVs that could not be compared", "pvs_failed"),
        ("PVs that are only here (not compared)", "only_here"),
        ("aliases that are missing here", "aliases_missing"),
        ("samples that are equal", "equal"),
        ("samples that are missing there", "lost_there"),
        ("samples that are missing here", "lost_here"),
        ("samples of another value", "value"),
        ("samples in a narrower type", "type"),
        ("samples with another stamp", "stamp"),
        ("samples with another alarm", "alarm"),
        ("differences in units, precision, limits, names of states", "metadata"),
        ("answers that broke off and were asked for again", "read_again"),
    ] {
        form.row(out, &[(what.to_owned(), None), (text(&total[key]), None)])?;
    }
    form.table_end(out)?;
    for (what, key) in [("Only here", "only_here_names"), ("Aliases that are missing here", "aliases_missing_names")] {
        let names: Vec<String> = list(&total[key]).iter().map(text).collect();
        if !names.is_empty() {
            form.paragraph(out, &format!("{what}: {}", names.join(", ")))?;
        }
    }
    Ok(())
}

/// Each stretch of each PV that is not equal.
fn differences(form: Form, out: &mut impl Write, journal: &Journal) -> Result<(), Failure> {
    form.heading(out, "Differences")?;
    form.table(out, &["PV", "kind", "samples", "from", "to", "here", "there", "reason"])?;
    let mut equal = Vec::new();
    journal.each(&mut |line| {
        let pv = text(&line["pv"]);
        if line["status"] == "equal" {
            equal.push(pv);
            return Ok(());
        }
        let (here, there) = (line["links"]["here"].as_str(), line["links"]["there"].as_str());
        let empty = || (String::new(), None);
        if let Some(message) = line["message"].as_str() {
            let status = text(&line["status"]);
            let mut cells = vec![(pv.clone(), here), (status, None)];
            cells.extend((0..5).map(|_| empty()));
            cells.push((message.to_owned(), there));
            form.row(out, &cells)?;
        }
        for one in list(&line["differences"]) {
            let cells = [
                (pv.clone(), None),
                (kind_in_words(&text(&one["kind"])).to_owned(), None),
                (text(&one["count"]), None),
                (text(&one["from"]), None),
                (text(&one["to"]), None),
                (text(&one["here"]), here),
                (text(&one["there"]), there),
                (text(&one["text"]), None),
            ];
            form.row(out, &cells)?;
        }
        let untold = line["differences_untold"].as_u64().unwrap_or(0);
        if untold > 0 {
            let mut cells = vec![(pv, here), ("more".to_owned(), None), (untold.to_string(), None)];
            cells.extend((0..5).map(|_| empty()));
            form.row(out, &cells)?;
        }
        Ok(())
    })?;
    form.table_end(out)?;
    form.heading(out, "PVs that are equal")?;
    Ok(form.paragraph(out, &if equal.is_empty() { "none".to_owned() } else { equal.join(", ") })?)
}

fn kind_in_words(kind: &str) -> &str {
    match Kind::ALL.into_iter().find(|one| one.name() == kind) {
        Some(Kind::LostThere) => "missing there",
        Some(Kind::LostHere) => "missing here",
        Some(Kind::Value) => "another value",
        Some(Kind::Type) => "a narrower type",
        Some(Kind::Stamp) => "another stamp",
        Some(Kind::Alarm) => "another alarm",
        Some(Kind::Metadata) => "other metadata",
        None => kind,
    }
}

fn signature(form: Form, out: &mut impl Write) -> io::Result<()> {
    form.heading(out, "Signature")?;
    form.paragraph(out, "I have read this report, and agree that the archiver named above as \"here\" takes over.")?;
    match form {
        Form::Html => writeln!(
            out,
            "<table class=\"sign\"><tr><th>name</th><th>date</th><th>signature</th></tr>\
             <tr><td></td><td></td><td></td></tr><tr><td></td><td></td><td></td></tr></table></html>"
        ),
        Form::Markdown => writeln!(out, "| name | date | signature |\n|---|---|---|\n| | | |\n| | | |"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_out_of_their_cells() {
        assert_eq!(Form::Html.escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        assert_eq!(Form::Markdown.escaped("a|b\nc_d"), "a\\|b c\\_d");
        assert!(Form::of(Path::new("a.pdf")).is_err());
    }
}
