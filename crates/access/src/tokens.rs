//! Tokens: random words by which programs say who they are. `pvk_<id>_<secret>`; of the whole only the SHA-256 is kept.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{By, How, Right, TokenRow, Tokens, TokensError};
use sample::Timestamp;

use crate::{
    config::patterns,
    random::{self, SECRET_LETTERS},
    refused::{Reason, Refused},
    rights::Scope,
    who::Who,
};

/// How every token begins, so that people and scanners know one when they see it.
const PREFIX: &str = "pvk_";
const ID_LETTERS: usize = 8;

/// An archive has no more tokens than this.
const TOKENS_MAX: usize = 10_000;
const NAME_BYTES_MAX: usize = 64;
const PVS_MAX: usize = 1000;
/// No token holds for longer: ten years.
const TOKEN_MAX: Duration = Duration::from_secs(3660 * 86_400);

const NANOS_A_DAY: i64 = 86_400_000_000_000;

/// In place of a day, of a token that was never used.
const NEVER: i64 = i64::MIN;

/// What somebody wants of a new token.
#[derive(Clone, Debug)]
pub struct TokenWish {
    /// Letters, digits and `_.-`: the token shows itself as `token:NAME`.
    pub name: String,
    /// What it may do.
    pub right: Right,
    /// To which PVs, by patterns.
    pub pvs: Vec<String>,
    /// Until when.
    pub expires: Timestamp,
}

/// A token that was made: the only time that its secret is seen.
pub struct NewToken {
    /// What is kept of it.
    pub row: TokenRow,
    text: String,
}

impl NewToken {
    /// The whole token, for whoever asked for it.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").field("row", &self.row).finish_non_exhaustive()
    }
}

/// Why a token is not made or revoked.
#[derive(Debug)]
pub enum TokenError {
    /// It may not be, or makes no sense.
    Refused(Refused),
    /// It cannot be kept.
    Unkept(TokensError),
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Refused(refused) => refused.fmt(f),
            TokenError::Unkept(error) => write!(f, "the table of tokens cannot be changed: {error}"),
        }
    }
}

impl std::error::Error for TokenError {}

impl From<Refused> for TokenError {
    fn from(refused: Refused) -> TokenError {
        TokenError::Refused(refused)
    }
}

/// A token as requests are held against it.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) row: TokenRow,
    pub(crate) scope: Scope,
    /// The day of its last use, and the one that is kept.
    used: AtomicI64,
    kept: AtomicI64,
}

impl Token {
    /// None of one whose patterns cannot be used.
    fn of(row: TokenRow) -> Option<Token> {
        let scope = Scope { right: row.right, pvs: patterns(&row.pvs).ok()? };
        let used = row.used.map_or(NEVER, Timestamp::nanos);
        Some(Token { row, scope, used: AtomicI64::new(used), kept: AtomicI64::new(used) })
    }

    pub(crate) fn who(&self) -> Who {
        Who { how: How::Token, name: self.row.name.clone() }
    }
}

/// The tokens of an archive, in memory as they are kept.
pub(crate) struct Book {
    kept: Box<dyn Tokens>,
    // guarded by lock
    by_id: RwLock<HashMap<Box<str>, Arc<Token>>>,
    // atomic
    /// How many were made and revoked here.
    changes: AtomicU64,
}

impl Book {
    pub(crate) fn new(kept: Box<dyn Tokens>) -> Result<Book, TokensError> {
        let book = Book { kept, by_id: RwLock::default(), changes: AtomicU64::new(0) };
        book.read_anew()?;
        Ok(book)
    }

    /// As it is kept: after a change that may hold or not, too, and now and then where others make and revoke tokens as well. Those that
    /// are known keep their days of last use. What is changed here while the table is read is not undone by what was read.
    pub(crate) fn read_anew(&self) -> Result<(), TokensError> {
        let before = self.changes.load(Relaxed);
        let kept = self.kept.list()?;
        let mut known = self.by_id.write().expect("no holder of this lock panics");
        if self.changes.load(Relaxed) != before {
            return Ok(());
        }
        let mut by_id = HashMap::new();
        for row in kept {
            let id = row.id.clone();
            let token = known.remove(&id).filter(|token| token.row.hash == row.hash);
            match token.or_else(|| Token::of(row).map(Arc::new)) {
                Some(token) => _ = by_id.insert(id, token),
                None => tracing::warn!("the token {id} is of no use: its patterns cannot be read"),
            }
        }
        *known = by_id;
        Ok(())
    }

    /// Whether a text claims to be a token.
    pub(crate) fn is_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The token that a text is, if it holds.
    pub(crate) fn find(&self, text: &str, now: Timestamp) -> Result<Arc<Token>, Reason> {
        let id = id(text).ok_or(Reason::Token)?;
        let token = self.with_id(id).filter(|token| random::same(&token.row.hash, &random::hash(text)));
        let token = token.ok_or(Reason::Token)?;
        self.still(&token, now)?;
        token.used.store(now.nanos() - now.nanos().rem_euclid(NANOS_A_DAY), Relaxed);
        Ok(token)
    }

    /// The token of an id, whatever has become of it.
    pub(crate) fn with_id(&self, id: &str) -> Option<Arc<Token>> {
        self.by_id.read().expect("no holder of this lock panics").get(id).cloned()
    }

    fn still(&self, token: &Token, now: Timestamp) -> Result<(), Reason> {
        if now < token.row.expires { Ok(()) } else { Err(Reason::TokenExpired) }
    }

    /// The token of an id, if it still holds.
    pub(crate) fn again(&self, id: &str, now: Timestamp) -> Result<Arc<Token>, Reason> {
        let token = self.with_id(id).ok_or(Reason::Token)?;
        self.still(&token, now)?;
        Ok(token)
    }

    /// What is wanted as a scope, if it makes sense.
    pub(crate) fn checked(wish: &TokenWish, now: Timestamp) -> Result<Scope, Refused> {
        let wrong = |message: String| Refused::malformed(Reason::Malformed, message);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if wish.name.is_empty() || wish.name.len() > NAME_BYTES_MAX || !wish.name.bytes().all(fits) {
            return Err(wrong(format!("{:?} is no name for a token, expected letters, digits, _, . and -", wish.name)));
        }
        if wish.expires <= now {
            return Err(wrong(format!("the token would have expired at {}, expected a later time", wish.expires)));
        }
        if wish.expires > now.saturating_add(TOKEN_MAX) {
            return Err(wrong(format!("the token would hold until {}, expected ten years at most", wish.expires)));
        }
        if wish.pvs.len() > PVS_MAX {
            return Err(wrong(format!("{} patterns are too many, expected at most {PVS_MAX}", wish.pvs.len())));
        }
        let pvs = patterns(&wish.pvs).map_err(wrong)?;
        Ok(Scope { right: wish.right, pvs })
    }

    /// Makes a token of what was checked.
    pub(crate) fn make(&self, wish: TokenWish, made: By) -> Result<NewToken, TokenError> {
        let full = self.by_id.read().expect("no holder of this lock panics").len() >= TOKENS_MAX;
        if full {
            let message = format!("there are {TOKENS_MAX} tokens already; revoke some that are of no use");
            return Err(Refused::malformed(Reason::Malformed, message).into());
        }
        let id = loop {
            let id = random::letters(ID_LETTERS);
            if self.with_id(&id).is_none() {
                break id;
            }
        };
        let text = format!("{PREFIX}{id}_{}", random::letters(SECRET_LETTERS));
        let row = TokenRow {
            id: id.into(),
            name: wish.name.into(),
            hash: random::hash(&text),
            right: wish.right,
            pvs: wish.pvs.into_iter().map(Into::into).collect(),
            made,
            expires: wish.expires,
            used: None,
        };
        let kept = self.kept.add(&row);
        self.settled(kept)?;
        let token = Token::of(row.clone()).expect("its patterns were checked");
        let mut by_id = self.by_id.write().expect("no holder of this lock panics");
        self.changes.fetch_add(1, Relaxed);
        by_id.insert(row.id.clone(), Arc::new(token));
        drop(by_id);
        Ok(NewToken { row, text })
    }

    /// Forgets a token for good. From now on it is of no use, whatever becomes of the table. Whether there was one.
    pub(crate) fn revoke(&self, id: &str, by: &By) -> Result<bool, TokenError> {
        let removed = self.kept.revoke(id, by);
        let was_there = self.settled(removed)?;
        let mut by_id = self.by_id.write().expect("no holder of this lock panics");
        self.changes.fetch_add(1, Relaxed);
        by_id.remove(id);
        Ok(was_there)
    }

    /// After a change that failed the table says what holds; if it can be read.
    fn settled<T>(&self, changed: Result<T, TokensError>) -> Result<T, TokenError> {
        changed.map_err(|error| {
            if let Err(error) = self.read_anew() {
                tracing::warn!("the table of tokens cannot be read again: {error}");
            }
            TokenError::Unkept(error)
        })
    }

    /// All of them with the days of their last uses, the newest first.
    pub(crate) fn rows(&self) -> Vec<TokenRow> {
        let by_id = self.by_id.read().expect("no holder of this lock panics");
        let day = |token: &Token| Some(token.used.load(Relaxed)).filter(|day| *day != NEVER);
        let row = |token: &Arc<Token>| TokenRow { used: day(token).map(Timestamp::from_nanos), ..token.row.clone() };
        let mut rows: Vec<TokenRow> = by_id.values().map(row).collect();
        rows.sort_by(|a, b| (b.made.at, &b.id).cmp(&(a.made.at, &a.id)));
        rows
    }

    /// Keeps the days of last uses that are not kept yet.
    pub(crate) fn keep_days(&self) -> Result<(), TokensError> {
        let unkept: Vec<Arc<Token>> = {
            let by_id = self.by_id.read().expect("no holder of this lock panics");
            let is_unkept = |token: &&Arc<Token>| token.used.load(Relaxed) != token.kept.load(Relaxed);
            by_id.values().filter(is_unkept).cloned().collect()
        };
        let days: Vec<(Box<str>, Timestamp)> = unkept
            .iter()
            .map(|token| (token.row.id.clone(), Timestamp::from_nanos(token.used.load(Relaxed))))
            .collect();
        if days.is_empty() {
            return Ok(());
        }
        self.kept.touch(&days)?;
        unkept.iter().zip(&days).for_each(|(token, (_, day))| token.kept.store(day.nanos(), Relaxed));
        Ok(())
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").finish_non_exhaustive()
    }
}

/// The id in a text that has the shape of a token.
fn id(text: &str) -> Option<&str> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    (random::are_letters(id, ID_LETTERS) && random::are_letters(secret, SECRET_LETTERS)).then_some(id)
}

/// Tokens that are kept in memory alone: of a program without an archive, and of tests.
#[derive(Debug, Default)]
pub struct InMemory(RwLock<Vec<TokenRow>>);

impl Tokens for InMemory {
    fn list(&self) -> Result<Vec<TokenRow>, TokensError> {
        Ok(self.0.read().expect("no holder of this lock panics").clone())
    }

    fn add(&self, token: &TokenRow) -> Result<(), TokensError> {
        self.0.write().expect("no holder of this lock panics").push(token.clone());
        Ok(())
    }

    fn revoke(&self, id: &str, _by: &By) -> Result<bool, TokensError> {
        let mut rows = self.0.write().expect("no holder of this lock panics");
        let before = rows.len();
        rows.retain(|row| &*row.id != id);
        Ok(rows.len() < before)
    }

    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError> {
        let mut rows = self.0.write().expect("no holder of this lock panics");
        for (id, day) in used {
            rows.iter_mut().filter(|row| row.id == *id).for_each(|row| row.used = Some(*day));
        }
        Ok(())
    }
}
