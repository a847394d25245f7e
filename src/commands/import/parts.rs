//! Parts of an import of lines: gathered until there are enough, named by what they hold, sent if the archiver does not have them yet.

use std::time::{Duration, Instant};

use archive::{old_part_hash, part_hash};
use serde_json::Value;

use super::patiently;
use crate::{
    commands::{
        bytes::bytes_text,
        http::{ANSWER_BYTES_MAX, agent, by, encoded},
    },
    failure::Failure,
};

/// A part has about so many bytes: well within what the archiver takes at once.
pub(crate) const PART_BYTES: usize = 8 << 20;

/// What the parts brought.
#[derive(Debug, Default)]
pub(crate) struct Total {
    pub(crate) bytes: u64,
    pub(crate) parts: u64,
    pub(crate) known_parts: u64,
    /// Written to the archive, without repeats.
    pub(crate) samples: u64,
    /// Samples that came, and were found in the archive after it had taken them.
    pub(crate) verified: u64,
    /// Samples that came, and were not found there.
    pub(crate) missing: u64,
    pub(crate) lines_bad: u64,
    pub(crate) gaps: u64,
    pub(crate) problems: Vec<String>,
}

/// Where parts go.
pub(crate) struct Parts<'a> {
    server: &'a str,
    import: &'a str,
    /// How long the import waits for an archiver that takes nothing.
    patience: Duration,
    /// What the next part begins with, so that equal bytes of two times have two names.
    label: String,
    waiting: Vec<u8>,
    pub(crate) total: Total,
    told_at: Instant,
    begun: Instant,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(server: &'a str, import: &'a str, patience: Duration) -> Parts<'a> {
        let now = Instant::now();
        let (label, waiting) = (String::new(), Vec::new());
        Parts { server, import, patience, label, waiting, total: Total::default(), told_at: now, begun: now }
    }

    /// Sends what waits; what follows belongs together under another label.
    pub(crate) fn label(&mut self, label: &str) -> Result<(), Failure> {
        self.flush()?;
        label.clone_into(&mut self.label);
        Ok(())
    }

    /// Takes a chunk: a header, lines, and the empty line behind them.
    pub(crate) fn add(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        if self.waiting.len() + chunk.len() > PART_BYTES {
            self.flush()?;
        }
        self.waiting.extend_from_slice(chunk);
        Ok(())
    }

    /// Sends what waits, unless the archiver has it.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let names = names(&self.label, &self.waiting);
        let answer = match self.ask(&names, &[])? {
            answer if answer["status"] == "unknown" => self.ask(&names, &self.waiting)?,
            known => known,
        };
        let count = |key: &str| answer[key].as_u64().unwrap_or(0);
        let total = &mut self.total;
        total.parts += 1;
        total.bytes += self.waiting.len() as u64;
        total.samples += count("samples");
        total.known_parts += u64::from(answer["status"] == "already_imported");
        total.verified += count("verified");
        total.missing += count("missing");
        total.lines_bad += count("lines_bad");
        total.gaps += count("gaps");
        if let Some(missing) = answer["missing_of"].as_str() {
            total.problems.push(format!("not found after it was imported: {missing}"));
        }
        let refused = answer["names_refused"].as_array().into_iter().flatten();
        total
            .problems
            .extend(refused.filter_map(|name| name.as_str()).map(|name| format!("a name is refused: {name}")));
        self.waiting.clear();
        self.tell();
        Ok(())
    }

    fn ask(&self, [part, known_as]: &[String; 2], body: &[u8]) -> Result<Value, Failure> {
        let (import, part, known_as) = (encoded(self.import), encoded(part), encoded(known_as));
        let names = format!("import={import}&part={part}&known_as={known_as}");
        let url = format!("{}/api/v1/import?{names}&by={}", self.server, by());
        let send = || agent().post(&url).header("content-type", "application/x-protobuf").send(body);
        let mut answer = patiently(self.patience, self.server, send)?;
        Ok(answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_json()?)
    }

    fn tell(&mut self) {
        if self.told_at.elapsed() >= Duration::from_secs(2) {
            self.told_at = Instant::now();
            let seconds = self.begun.elapsed().as_secs_f64();
            let (bytes, rate) = (self.total.bytes, self.total.bytes as f64 / seconds);
            eprintln!("{}: {} in all, {}/s", self.label, bytes_text(bytes), bytes_text(rate as u64));
        }
    }
}

/// The name of a part, and what older programs called it.
fn names(label: &str, part: &[u8]) -> [String; 2] {
    let name = |hash: String| format!("{label} {hash} {}", part.len());
    [name(format!("xxh3-{:016x}", part_hash(part))), name(format!("{:016x}", old_part_hash(part)))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down in catalogues: a program that names parts otherwise imports them once more.
    #[test]
    fn a_part_has_the_name_that_it_always_had() {
        let expected = ["week of 2026-01-05 xxh3-2d06800538d394c2 0", "week of 2026-01-05 d1fba762150c532c 0"];
        assert_eq!(names("week of 2026-01-05", b""), expected);
    }
}
