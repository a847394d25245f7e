//! Memos: notes and views that people write beside the samples, who sees them, and who may change them.

use std::collections::{HashMap, HashSet};

use archive::{Memo, MemoError, MemoKind, MemoText, Numbered, Right};
use sample::TimeRange;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// What a memo takes besides its texts.
const MEMO_BYTES: usize = 1000;
/// The most memos that one request writes.
pub const MEMOS_AT_ONCE: usize = 10_000;

/// Which memos are looked for.
#[derive(Clone, Debug)]
pub struct MemosWanted {
    /// Of which kind.
    pub kind: MemoKind,
    /// Those that have all of these words, in any order, in their names, texts or PVs, whatever the case.
    pub words: Vec<String>,
    /// Those about this PV.
    pub pv: Option<String>,
    /// Those about a time within it, or that reaches into it.
    pub range: Option<TimeRange>,
    /// Views with exactly this name.
    pub name: Option<String>,
    /// Views in this folder, or in one within it.
    pub folder: Option<String>,
    /// Those with lower numbers.
    pub before: u64,
    /// At most so many.
    pub limit: usize,
}

impl MemosWanted {
    /// All of a kind.
    pub fn all(kind: MemoKind) -> MemosWanted {
        MemosWanted {
            kind,
            words: Vec::new(),
            pv: None,
            range: None,
            name: None,
            folder: None,
            before: u64::MAX,
            limit: usize::MAX,
        }
    }

    fn fits(&self, memo: &MemoText) -> bool {
        let is_of_pv = |pv: &String| memo.pvs.iter().any(|own| own.as_str() == pv);
        let is_in = |folder: &String| {
            let rest = memo.name.strip_prefix(folder.trim_matches('/'));
            folder.trim_matches('/').is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        memo.kind == self.kind
            && self.name.as_ref().is_none_or(|name| *name == memo.name)
            && self.pv.as_ref().is_none_or(is_of_pv)
            && self.folder.as_ref().is_none_or(is_in)
            && self.range.is_none_or(|range| is_within(memo, range))
            && has_words(memo, &self.words)
    }
}

/// Whether a memo is about a time that a range has something of.
fn is_within(memo: &MemoText, range: TimeRange) -> bool {
    match (memo.from, memo.to) {
        (None, _) => false,
        (Some(from), None) => range.contains(from),
        (Some(from), Some(to)) => from < range.t1 && to > range.t0,
    }
}

fn has_words(memo: &MemoText, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let texts = [&memo.name, &memo.text].map(|text| text.to_lowercase());
    let pvs: Vec<String> = memo.pvs.iter().map(|pv| pv.as_str().to_lowercase()).collect();
    words.iter().all(|word| {
        let word = word.to_lowercase();
        texts.iter().chain(&pvs).any(|text| text.contains(&word))
    })
}

impl Ask {
    /// Memos that whoever asks sees, the newest first.
    pub fn memos(&self, wanted: &MemosWanted) -> Result<Vec<Memo>, Refusal> {
        let mut found = Vec::new();
        let mut refused = Ok(());
        self.listed().behind.directory.memos(wanted.before, &mut |memo| {
            if wanted.fits(&memo.text) && self.sees_memo(&memo) && found.len() < wanted.limit {
                refused = self.lease.grow_by(1, memo.text.text.len() + memo.text.query.len() + MEMO_BYTES);
                found.push(memo);
            }
            refused.is_ok() && found.len() < wanted.limit
        })?;
        refused.map(|()| found)
    }

    /// The memo of a number. One that was written at another node a moment ago is there.
    pub fn memo(&self, kind: MemoKind, number: u64) -> Result<Memo, Refusal> {
        if let Some(memo) = self.known_memo(kind, number)? {
            return Ok(memo);
        }
        self.memo_of_now(kind, number)
    }

    /// The same as it is now, whichever node has changed it.
    fn memo_of_now(&self, kind: MemoKind, number: u64) -> Result<Memo, Refusal> {
        self.listed().behind.directory.look_again(Numbered::Memo)?;
        self.known_memo(kind, number)?.ok_or_else(|| {
            let message = format!("there is no {} with the number {number}", kind.name());
            Refusal::new(Code::UnknownPv, message).hint(format!("GET /api/v1/{}s lists them", kind.name()))
        })
    }

    fn known_memo(&self, kind: MemoKind, number: u64) -> Result<Option<Memo>, Refusal> {
        let mut newest = None;
        self.listed().behind.directory.memos(number.saturating_add(1), &mut |memo| {
            newest = Some(memo);
            false
        })?;
        Ok(newest.filter(|memo| memo.number == number && memo.text.kind == kind && self.sees_memo(memo)))
    }

    /// Whoever does not see all PVs sees what they wrote themselves, and what is about PVs that they see.
    fn sees_memo(&self, memo: &Memo) -> bool {
        let pvs = &memo.text.pvs;
        self.sees_all()
            || memo.made.who.established() == self.established()
            || (!pvs.is_empty() && pvs.iter().all(|pv| self.sees_name(pv.as_str())))
    }

    /// Writes memos, all in one change. A view takes the place of the one that has its name.
    pub fn write_memos(&self, texts: Vec<MemoText>) -> Result<Vec<Memo>, Refusal> {
        texts.iter().try_for_each(|text| self.may_write(text))?;
        let mut former = self.views_named(&texts)?;
        former.values().try_for_each(|view| self.may_change(view))?;
        let memos = texts.into_iter().map(|text| (former.remove(&text.name), text)).collect();
        self.keep_memos(memos)
    }

    /// Writes another text in the place of a memo.
    pub fn change_memo(&self, number: u64, text: MemoText) -> Result<Memo, Refusal> {
        let former = self.memo_of_now(text.kind, number)?;
        self.may_change(&former)?;
        self.may_write(&text)?;
        let mut kept = self.keep_memos(vec![(Some(former), text)])?;
        kept.pop().ok_or_else(|| Refusal::new(Code::Internal, "nobody says what became of the memo"))
    }

    /// Takes a memo away.
    pub fn remove_memo(&self, kind: MemoKind, number: u64) -> Result<Memo, Refusal> {
        let memo = self.memo_of_now(kind, number)?;
        self.may_change(&memo)?;
        self.ordered_named(Right::Read, [])?.curator.remove_memo(&memo, &self.by())?;
        Ok(memo)
    }

    fn keep_memos(&self, memos: Vec<(Option<Memo>, MemoText)>) -> Result<Vec<Memo>, Refusal> {
        Ok(self.ordered_named(Right::Read, [])?.curator.put_memos(&memos, &self.by())?)
    }

    /// The views that have the names of these, all found in one go.
    fn views_named(&self, texts: &[MemoText]) -> Result<HashMap<String, Memo>, Refusal> {
        let names: HashSet<&str> =
            texts.iter().filter(|text| text.kind == MemoKind::View).map(|text| text.name.as_str()).collect();
        let mut found = HashMap::new();
        if names.is_empty() {
            return Ok(found);
        }
        self.listed().behind.directory.look_again(Numbered::Memo)?;
        self.listed().behind.directory.memos(u64::MAX, &mut |memo| {
            if names.contains(&*memo.text.name) && self.sees_memo(&memo) {
                found.insert(memo.text.name.clone(), memo);
            }
            found.len() < names.len()
        })?;
        Ok(found)
    }

    /// Refuses a memo that whoever asks may not write, or that is none.
    fn may_write(&self, text: &MemoText) -> Result<(), Refusal> {
        text.check()?;
        match text.pvs.as_slice() {
            [] => self.needs_all(Right::Operate),
            pvs => pvs.iter().try_for_each(|pv| self.needs_named(Right::Operate, pv.as_str())),
        }
    }

    /// A memo is changed by who wrote it, and by administrators.
    fn may_change(&self, memo: &Memo) -> Result<(), Refusal> {
        if memo.made.who.established() == self.established() {
            return Ok(());
        }
        self.needs_all(Right::Administer)
    }
}

impl From<MemoError> for Refusal {
    fn from(error: MemoError) -> Refusal {
        let code = if matches!(error, MemoError::TooLong { .. }) { Code::TooLarge } else { Code::BadRequest };
        Refusal::new(code, error.to_string())
    }
}
