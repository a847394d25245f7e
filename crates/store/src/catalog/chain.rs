//! The chain of the audit: beside each line stands a hash of it and of all before it, so that none can be changed, taken out or put in
//! between without a trace.
//!
//! ```text
//!   hash of line n  =  SHA-256( hash of line n - 1 ║ n ║ the line's bytes )          before line 0: zeros
//! ```
//! Hashes that lie beside the lines prove nothing against somebody who makes all of them anew, nor against one who cuts the end off. So
//! the last of them, the head, is said in the log of the program with each change, and is in each backup: see `AuditHead`.
//!
//! Older programs write lines without hashes. The next line of ours brings those of all before it.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{fmt, fmt::Write, str::FromStr};

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, TableError};
use ring::digest;

use super::{
    changes::Transaction,
    pvs_wire,
    tables::{AUDIT, CHAIN},
};

/// What stands before the first line.
const BEGINNING: [u8; 32] = [0; 32];

/// The words before a head in the log.
pub const AUDIT_HEAD: &str = "the audit ends with ";

/// The most faults that are told one by one.
const FAULTS_MAX: usize = 100;

/// The end of the chain as it was at some time: the number of the last line and its hash, written `17:3af0…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// The number of the line.
    pub number: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.number)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for AuditHead {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<AuditHead, &'static str> {
        const EXPECTED: &str = "expected NUMBER:HASH, a hash of 64 hexadecimal digits";
        let (number, digits) = text.split_once(':').ok_or(EXPECTED)?;
        let number = number.parse().map_err(|_| EXPECTED)?;
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(EXPECTED);
        }
        for (index, byte) in hash.iter_mut().enumerate() {
            let digits = digits.get(2 * index..2 * index + 2).ok_or(EXPECTED)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| EXPECTED)?;
        }
        Ok(AuditHead { number, hash })
    }
}

/// Whether the audit is what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditProof {
    /// How many lines there are.
    pub lines: u64,
    /// The last line that has a hash; none if no line has one.
    pub head: Option<AuditHead>,
    /// So many lines behind it have none: an older program wrote them.
    pub without_hash: u64,
    /// What is not as it was written, in sentences. Of very many the last says how many more there are.
    pub faults: Vec<String>,
}

/// The hash of a line behind one with that hash.
fn hash(before: &[u8; 32], number: u64, line: &[u8]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(before);
    context.update(&number.to_le_bytes());
    context.update(line);
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// The number of the next line. That of one that has gone is not used again, or nobody would see that it has.
pub(super) fn next_number(transaction: &Transaction) -> Result<u64, redb::Error> {
    let after = |number: u64| number.saturating_add(1);
    let lines = transaction.open_table(AUDIT)?.last()?.map_or(0, |(number, _)| after(number.value()));
    let hashes = transaction.open_table(CHAIN)?.last()?.map_or(0, |(number, _)| after(number.value()));
    Ok(lines.max(hashes))
}

/// Gives each line that has none its hash.
pub(super) fn extend(transaction: &Transaction) -> Result<(), redb::Error> {
    let (audit, mut chain) = (transaction.open_table(AUDIT)?, transaction.open_table(CHAIN)?);
    let last = chain.last()?.map(|(number, hash)| (number.value(), hash.value()));
    let (next, mut before) = last.map_or((0, BEGINNING), |(number, hash)| (number.saturating_add(1), hash));
    for row in audit.range(next..)? {
        let (number, line) = row?;
        before = hash(&before, number.value(), line.value());
        chain.insert(number.value(), before)?;
    }
    Ok(())
}

/// The hashes, for reading.
struct Hashes(Option<ReadOnlyTable<u64, [u8; 32]>>);

impl Hashes {
    fn open(transaction: &ReadTransaction) -> Result<Hashes, redb::Error> {
        match transaction.open_table(CHAIN) {
            Ok(table) => Ok(Hashes(Some(table))),
            Err(TableError::TableDoesNotExist(_)) => Ok(Hashes(None)),
            Err(error) => Err(error.into()),
        }
    }

    fn last(&self) -> Result<Option<AuditHead>, redb::Error> {
        let last = self.0.as_ref().map(ReadableTable::last).transpose()?.flatten();
        Ok(last.map(|(number, hash)| AuditHead { number: number.value(), hash: hash.value() }))
    }

    fn of(&self, number: u64) -> Result<Option<[u8; 32]>, redb::Error> {
        let hash = self.0.as_ref().map(|table| table.get(number)).transpose()?.flatten();
        Ok(hash.map(|hash| hash.value()))
    }
}

/// The last line that has a hash.
pub(super) fn head(transaction: &ReadTransaction) -> Result<Option<AuditHead>, redb::Error> {
    Hashes::open(transaction)?.last()
}

/// Holds each line against its hash, and heads that were told or kept elsewhere against what is there.
pub(super) fn prove(transaction: &ReadTransaction, known: &[AuditHead]) -> Result<AuditProof, redb::Error> {
    let hashes = Hashes::open(transaction)?;
    let mut proof = AuditProof { head: hashes.last()?, ..AuditProof::default() };
    let mut faults = Faults::default();
    let audit = match transaction.open_table(AUDIT) {
        Err(TableError::TableDoesNotExist(_)) => None,
        audit => Some(audit?),
    };
    let end = proof.head.map_or(0, |head| head.number.saturating_add(1));
    let mut lines = audit.as_ref().map(ReadableTable::iter).transpose()?;
    let (mut expected, mut before) = (0, BEGINNING);
    while let Some((number, line)) = lines.as_mut().and_then(Iterator::next).transpose()? {
        let number = number.value();
        faults.missing(expected, number);
        if number > expected {
            // The last hash before it says how to go on, if it is there.
            before = hashes.of(number.saturating_sub(1))?.unwrap_or(before);
        }
        (proof.lines, expected) = (proof.lines + 1, number.saturating_add(1));
        if number >= end {
            proof.without_hash += 1;
            continue;
        }
        let computed = hash(&before, number, line.value());
        let own = hashes.of(number)?;
        if own != Some(computed) {
            let what = match own {
                None => "has no hash, though later ones have",
                Some(_) => "is not what was written, or the hash of the line before it is not",
            };
            faults.add(|| format!("line {number} {what}: {}", said(number, line.value())));
        }
        before = own.unwrap_or(computed);
    }
    faults.missing(expected, end);
    for known in known {
        let number = known.number;
        match hashes.of(number)? {
            Some(own) if own == known.hash => {}
            Some(_) => {
                faults.add(|| format!("line {number} had another hash once: what is there up to it was written anew"))
            }
            None => faults.add(|| {
                let last =
                    proof.head.map_or("no line has one".to_owned(), |head| format!("line {} is the last", head.number));
                format!("line {number} had a hash once and has none now, {last}: the end of the audit was cut off")
            }),
        }
    }
    proof.faults = faults.told();
    Ok(proof)
}

/// Faults, not more of them than somebody reads.
#[derive(Default)]
struct Faults {
    told: Vec<String>,
    more: u64,
}

impl Faults {
    fn add(&mut self, fault: impl FnOnce() -> String) {
        match self.told.len() < FAULTS_MAX {
            true => self.told.push(fault()),
            false => self.more += 1,
        }
    }

    /// There are no lines from `first` up to, not including, `next`.
    fn missing(&mut self, first: u64, next: u64) {
        match next.saturating_sub(first) {
            0 => {}
            1 => self.add(|| format!("line {first} is missing")),
            _ => self.add(|| format!("lines {first} to {} are missing", next.saturating_sub(1))),
        }
    }

    fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("and so are {} more", self.more));
        }
        self.told
    }
}

/// What a line says now, for whoever looks for it.
fn said(number: u64, line: &[u8]) -> String {
    let Some(record) = pvs_wire::audit(number, line) else { return "it cannot be read".to_owned() };
    let mut text = format!("{} by {}, {}", record.by.at, record.by.who, record.action.name());
    for more in [&record.name, &record.detail] {
        if !more.is_empty() {
            _ = write!(text, " {more}"); // a text takes all that is written to it
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other programs can prove the chain: this is what `sha256sum` says of the same bytes.
    #[test]
    fn a_hash_is_of_the_one_before_the_number_and_the_line() {
        let before: [u8; 32] = std::array::from_fn(|index| index as u8);
        let head = AuditHead { number: 7, hash: hash(&before, 7, b"a line") };
        assert_eq!(head.to_string(), "7:8446d4aaccd14cc11130b2e23d7651a2680253efbbfa90f58bdc4a0be568ef4b");
    }
}
