//! `pvark audit --verify`: proves from the files of an archive that its audit is what was written.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use store::{AUDIT_HEAD, AuditHead, AuditProof, verify_audit};

use super::print::print_line;
use crate::{
    cli::Audit,
    failure::{Damaged, Failure},
};

/// Lines of a log are read up to here.
const LINE_BYTES_MAX: u64 = 64 << 10;

pub(crate) fn verify(command: &Audit) -> Result<(), Failure> {
    let mut known = Vec::new();
    for log in &command.log {
        let told = match log.as_os_str().as_encoded_bytes() {
            b"-" => told_in(io::stdin().lock()),
            _ => File::open(log).map(BufReader::new).and_then(told_in),
        };
        let told = told.map_err(|error| format!("cannot read {}: {error}", log.display()))?;
        known.extend(named(told, log, "tells of no end of the audit")?);
    }
    for backup in &command.backup {
        let AuditProof { head, .. } = verify_audit(backup, &[])?;
        known.extend(named(head.into_iter().collect(), backup, "has no line of the audit with a hash")?);
    }
    let AuditProof { lines, head, without_hash, faults, .. } = verify_audit(&command.data, &known)?;
    let head = head.map_or("no line has a hash yet".to_owned(), |head| format!("{AUDIT_HEAD}{head}"));
    print_line(&format!("{lines} lines; {head}"))?;
    if without_hash > 0 {
        print_line(&format!(
            "{without_hash} lines at the end have no hash: an older program wrote them, the next change brings their hashes"
        ))?;
    }
    faults.iter().try_for_each(|fault| print_line(&format!("CHANGED  {fault}")))?;
    if !faults.is_empty() {
        return Err(Damaged::audit_in(&command.data).into());
    }
    Ok(print_line(&format!("every line is what was written; {} known ends are there", known.len()))?)
}

/// What a log or a backup has; an error if that is nothing, which would prove nothing.
fn named(heads: Vec<AuditHead>, of: &Path, nothing: &str) -> Result<Vec<AuditHead>, Failure> {
    if heads.is_empty() {
        return Err(format!("{} {nothing}", of.display()).into());
    }
    Ok(heads)
}

/// The ends of the audit of which a log tells, each once.
fn told_in(mut log: impl BufRead) -> io::Result<Vec<AuditHead>> {
    let mut told = BTreeMap::new();
    let mut line = Vec::new();
    while log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let head = text.split_once(AUDIT_HEAD).map(|(_, rest)| rest);
        let word = head.and_then(|rest| rest.split(|c: char| c != ':' && !c.is_ascii_hexdigit()).next());
        if let Some(head) = word.and_then(|word| word.parse::<AuditHead>().ok()) {
            told.insert((head.number, head.hash), head);
        }
        line.clear();
    }
    Ok(told.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_in_logs_of_either_form() {
        let head = AuditHead { number: 17, hash: [0xa5; 32] };
        let log = format!(
            "2026 INFO store: {AUDIT_HEAD}{head}\n{{\"message\":\"{AUDIT_HEAD}{head}\",\"level\":\"INFO\"}}\n{AUDIT_HEAD}18:12\n\
             INFO {AUDIT_HEAD}{}\nother\n",
            AuditHead { number: 18, ..head }
        );
        let told = told_in(log.as_bytes()).unwrap();
        assert_eq!(told.iter().map(|head| head.number).collect::<Vec<_>>(), [17, 18]);
        assert_eq!(told[0], head);
    }
}
