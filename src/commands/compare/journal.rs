//! The journal: a line of JSON for the comparison, one for each PV that is done, written as they come, and one for the end:
//!
//!   journal := {"compare": …} {"pv": …, "status": …, …}* {"ended": time}?
//!
//! A comparison without an end is begun again with the same words and goes on behind its lines; with one it is begun anew. A report is made
//! from it.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use sample::Timestamp;
use serde_json::{Value, json};

use crate::{commands::lines, failure::Failure, host::clock::now};

pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    file: File,
    /// It is only for this run.
    is_scratch: bool,
}

/// What a journal of an earlier run says.
pub(crate) struct Earlier {
    /// Its first line.
    pub(crate) head: Value,
    /// The PVs that need not be compared again.
    pub(crate) done: HashSet<String>,
    /// Whether it came to its end, so that there is nothing to go on with.
    pub(crate) has_ended: bool,
}

impl Journal {
    /// Opens a journal, or begins one: in a file of its own if none is named.
    pub(crate) fn open(path: Option<&Path>) -> Result<(Journal, Option<Earlier>), Failure> {
        let is_scratch = path.is_none();
        let path = path.map_or_else(scratch, Path::to_owned);
        // Others may write where scratch files are: what is there already, a link too, is not ours.
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).create_new(is_scratch);
        let file = options.open(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let journal = Journal { path, file, is_scratch };
        let (mut head, mut done, mut has_ended) = (None, HashSet::new(), false);
        let whole = lines::whole(&journal.file, |value| {
            if let Some(pv) = value["pv"].as_str().filter(|_| value["status"] != "failed") {
                done.insert(pv.to_owned());
            }
            has_ended |= value["pv"].is_null() && value["ended"].is_string();
            head.get_or_insert(value);
        })?;
        let is_other = head.as_ref().is_some_and(|head| head["compare"].is_null());
        if is_other || (head.is_none() && journal.file.metadata()?.len() > 0) {
            return Err(format!("{} is no journal of a comparison; name another file", journal.path.display()).into());
        }
        journal.file.set_len(whole)?;
        Ok((journal, head.map(|head| Earlier { head: head["compare"].clone(), done, has_ended })))
    }

    pub(crate) fn write(&mut self, line: &Value) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }

    /// Begins it with the first line of a comparison; whatever an earlier one wrote goes.
    pub(crate) fn begin(&mut self, head: &Value) -> io::Result<()> {
        self.file.set_len(0)?;
        self.write(&json!({ "compare": head }))
    }

    /// Marks that all was compared, and told.
    pub(crate) fn end(&mut self, time: Timestamp) -> io::Result<()> {
        self.write(&json!({ "ended": time.to_string() }))
    }

    /// Shows what it says of each PV; of several lines about one PV only the last.
    pub(crate) fn each(&self, see: &mut dyn FnMut(Value) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut last = std::collections::HashMap::new();
        let pv_of = |value: &Value| value["pv"].as_str().map(str::to_owned);
        let lines = || -> io::Result<_> {
            let file = BufReader::new(File::open(&self.path)?);
            Ok(file.lines().map(|line| Ok(serde_json::from_str::<Value>(&line?)?)))
        };
        for (number, value) in lines()?.enumerate() {
            let value: io::Result<Value> = value;
            pv_of(&value?).map(|pv| last.insert(pv, number));
        }
        for (number, value) in lines()?.enumerate() {
            let value: io::Result<Value> = value;
            let value = value?;
            if pv_of(&value).is_some_and(|pv| last.get(&pv) == Some(&number)) {
                see(value)?;
            }
        }
        Ok(())
    }
}

/// The path of a journal that is only for this run. The time keeps it apart from one that a killed process of the same number left.
fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("pvark-compare-{}-{}.jsonl", std::process::id(), now().nanos()))
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_scratch {
            _ = std::fs::remove_file(&self.path); // it says nothing that was not printed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_goes_on_behind_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let (mut journal, earlier) = Journal::open(Some(&path)).unwrap();
        assert!(earlier.is_none());
        journal.begin(&json!({ "with": "x" })).unwrap();
        for (pv, status) in [("A", "equal"), ("B", "failed"), ("C", "differs")] {
            journal.write(&json!({ "pv": pv, "status": status })).unwrap();
        }
        journal.file.write_all(b"{\"pv\":\"D\",\"sta").unwrap();
        let (mut journal, earlier) = Journal::open(Some(&path)).unwrap();
        let Earlier { head, mut done, has_ended } = earlier.unwrap();
        assert_eq!((&head["with"], has_ended), (&json!("x"), false));
        assert!(done.remove("A") && done.remove("C") && done.is_empty());
        journal.write(&json!({ "pv": "B", "status": "equal" })).unwrap();
        let mut seen = Vec::new();
        let mut see = |line: Value| {
            seen.push(format!("{}{}", line["pv"], line["status"]));
            Ok(())
        };
        journal.each(&mut see).unwrap();
        assert_eq!(seen, ["\"A\"\"equal\"", "\"C\"\"differs\"", "\"B\"\"equal\""]);
        journal.end(Timestamp::from_nanos(0)).unwrap();
        let (mut journal, earlier) = Journal::open(Some(&path)).unwrap();
        assert!(earlier.unwrap().has_ended);
        journal.begin(&json!({ "with": "x" })).unwrap();
        let (_, earlier) = Journal::open(Some(&path)).unwrap();
        assert!(earlier.is_some_and(|earlier| earlier.done.is_empty() && !earlier.has_ended));
        std::fs::write(&path, "something else\n").unwrap();
        assert!(Journal::open(Some(&path)).is_err_and(|error| error.to_string().contains("is no journal")));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else\n");
    }
}
