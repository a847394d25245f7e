//! Sessions: who has logged in with a browser. The browser has a random word; here only its hash is known, and in memory alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use sample::Timestamp;

use crate::{
    random::{self, SECRET_LETTERS},
    who::Who,
};

/// A session that nobody uses ends after this.
pub const IDLE_MAX: Duration = Duration::from_secs(8 * 3600);
/// Each session ends after this.
pub const SESSION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Of more sessions than this the one that was not used for longest ends; and of one person, of more than the second.
const SESSIONS_MAX: usize = 10_000;
const SESSIONS_OF_ONE_MAX: usize = 50;

/// How the cookie is called over TLS, where browsers then take it from no other host and no plain page.
pub const COOKIE: &str = "__Host-pvark";
/// How it is called on a plain connection to this machine.
pub const PLAIN_COOKIE: &str = "pvark";

/// How the cookie of a login is called.
pub(crate) const LOGIN_COOKIE: &str = "__Host-pvark-login";
/// How it is called on a plain connection to this machine.
pub(crate) const PLAIN_LOGIN_COOKIE: &str = "pvark-login";

/// Where a cookie goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over TLS.
    Tls,
    /// As it is.
    Plain,
}

/// The key under which a session is known.
pub(crate) type Key = [u8; 32];

/// Somebody who has logged in.
#[derive(Clone, Debug)]
pub struct LoginSession {
    /// Who it is.
    pub who: Who,
    /// In which groups.
    pub groups: Arc<[Box<str>]>,
    /// What the provider calls the user and the login, for a logout that it tells.
    pub(crate) subject: Option<Box<str>>,
    pub(crate) provider: Option<Box<str>>,
}

/// A login that lasts.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) logged: LoginSession,
    begun: Timestamp,
    used: Timestamp,
}

impl Session {
    fn holds(&self, now: Timestamp) -> bool {
        now < self.used.saturating_add(IDLE_MAX) && now < self.begun.saturating_add(SESSION_MAX)
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Key, Session>>);

impl Sessions {
    /// Begins one, with a word that was never used before. Gives the word.
    pub(crate) fn begin(&self, logged: LoginSession, now: Timestamp) -> String {
        let word = random::letters(SECRET_LETTERS);
        let mut sessions = self.0.lock().expect("no holder of this lock panics");
        sessions.retain(|_, session| session.holds(now));
        let of_who = sessions.values().filter(|session| session.logged.who == logged.who).count();
        let longest_unused = |is_of: &dyn Fn(&Session) -> bool| {
            let of = sessions.iter().filter(|(_, session)| is_of(session));
            of.min_by_key(|(_, session)| session.used).map(|(key, _)| *key)
        };
        let ends = match (of_who >= SESSIONS_OF_ONE_MAX, sessions.len() >= SESSIONS_MAX) {
            (true, _) => longest_unused(&|session| session.logged.who == logged.who),
            (false, true) => longest_unused(&|_| true),
            (false, false) => None,
        };
        ends.map(|key| sessions.remove(&key));
        sessions.insert(random::hash(&word), Session { logged, begun: now, used: now });
        word
    }

    /// The session of a word, if it is one that holds; it is then in use.
    pub(crate) fn find(&self, word: &str, now: Timestamp) -> Option<(Key, Session)> {
        if !random::are_letters(word, SECRET_LETTERS) {
            return None;
        }
        let key = random::hash(word);
        let mut sessions = self.0.lock().expect("no holder of this lock panics");
        let session = sessions.get_mut(&key).filter(|session| session.holds(now))?;
        session.used = session.used.max(now);
        Some((key, session.clone()))
    }

    /// The session of a key, if it holds; looking is no use of it.
    pub(crate) fn again(&self, key: &Key, now: Timestamp) -> Option<Session> {
        let sessions = self.0.lock().expect("no holder of this lock panics");
        sessions.get(key).filter(|session| session.holds(now)).cloned()
    }

    /// Ends one. Whether there was one of that word.
    pub(crate) fn end(&self, word: &str) -> bool {
        self.0.lock().expect("no holder of this lock panics").remove(&random::hash(word)).is_some()
    }

    /// Ends all that are meant. How many.
    pub(crate) fn end_all(&self, is_meant: impl Fn(&LoginSession) -> bool) -> usize {
        let mut sessions = self.0.lock().expect("no holder of this lock panics");
        let before = sessions.len();
        sessions.retain(|_, session| !is_meant(&session.logged));
        before - sessions.len()
    }
}

/// The header that gives a browser its cookie.
pub fn set_cookie(word: &str, transport: Transport) -> String {
    match transport {
        Transport::Tls => format!("{COOKIE}={word}; Path=/; Secure; HttpOnly; SameSite=Lax"),
        Transport::Plain => format!("{PLAIN_COOKIE}={word}; Path=/; HttpOnly; SameSite=Lax"),
    }
}

/// The header that takes it away again.
pub fn clear_cookie(transport: Transport) -> String {
    format!("{}; Max-Age=0", set_cookie("", transport))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds, 0)
    }

    fn who(name: &str) -> Who {
        Who::parse(&format!("oidc:{name}")).unwrap()
    }

    fn begin(sessions: &Sessions, name: &str, now: i64) -> String {
        let provider = Some(format!("sid-{name}").into());
        sessions.begin(LoginSession { who: who(name), groups: Arc::default(), subject: None, provider }, at(now))
    }

    const HOUR: i64 = 3600;

    #[test]
    fn a_session_ends_when_it_is_idle_and_at_the_end_of_a_day() {
        let sessions = Sessions::default();
        let idle = begin(&sessions, "a", 0);
        assert!(sessions.find(&idle, at(8 * HOUR - 1)).is_some());
        assert!(sessions.find(&idle, at(16 * HOUR - 1)).is_none());
        let busy = begin(&sessions, "a", 0);
        for hour in (0..24).step_by(4) {
            assert!(sessions.find(&busy, at(hour * HOUR)).is_some(), "{hour}");
        }
        let (key, _) = sessions.find(&busy, at(24 * HOUR - 1)).unwrap();
        assert!(sessions.again(&key, at(24 * HOUR - 1)).is_some());
        assert!(sessions.find(&busy, at(24 * HOUR)).is_none() && sessions.again(&key, at(24 * HOUR)).is_none());
    }

    #[test]
    fn only_its_word_finds_a_session_and_the_word_is_not_kept() {
        let sessions = Sessions::default();
        let word = begin(&sessions, "a", 0);
        assert_eq!(sessions.find(&word, at(1)).unwrap().1.logged.who, who("a"));
        for wrong in ["", "x", &"0".repeat(SECRET_LETTERS), &word.to_ascii_lowercase(), &word[1..]] {
            assert!(sessions.find(wrong, at(1)).is_none(), "{wrong}");
        }
        assert!(!format!("{sessions:?}").contains(&word));
        sessions.end(&word);
        assert!(sessions.find(&word, at(1)).is_none());
    }

    #[test]
    fn a_logout_ends_those_that_are_meant() {
        let sessions = Sessions::default();
        let words = [begin(&sessions, "a", 0), begin(&sessions, "a", 0), begin(&sessions, "b", 0)];
        let there = || words.iter().map(|word| sessions.find(word, at(1)).is_some()).collect::<Vec<_>>();
        assert_eq!(sessions.end_all(|_| false), 0);
        assert_eq!(sessions.end_all(|logged| logged.provider.as_deref() == Some("sid-b")), 1);
        assert_eq!(there(), [true, true, false]);
        assert_eq!(sessions.end_all(|logged| logged.who == who("a")), 2);
        assert_eq!(there(), [false, false, false]);
    }

    #[test]
    fn there_are_never_too_many() {
        let sessions = Sessions::default();
        let first = begin(&sessions, "a", 0);
        (1..=SESSIONS_OF_ONE_MAX as i64).for_each(|second| _ = begin(&sessions, "a", second));
        assert!(sessions.find(&first, at(100)).is_none());
        assert_eq!(sessions.0.lock().unwrap().len(), SESSIONS_OF_ONE_MAX);
    }

    #[test]
    fn cookies_say_that_nobody_else_may_have_them() {
        assert_eq!(set_cookie("w", Transport::Tls), "__Host-pvark=w; Path=/; Secure; HttpOnly; SameSite=Lax");
        assert_eq!(clear_cookie(Transport::Plain), "pvark=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    }
}
