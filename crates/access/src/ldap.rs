//! LDAP: whether a password is the one of a user, and in which groups the user is, as a server says.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use archive::How;
use ldap3::{LdapConn, LdapConnSettings, LdapError, Scope, SearchEntry, dn_escape, ldap_escape};
use ring::{hmac, rand::SystemRandom};
use sample::Timestamp;

use crate::{
    config::Ldap,
    random,
    who::{NAME_BYTES_MAX, Who},
};

/// A server that takes longer is away.
const PATIENCE: Duration = Duration::from_secs(5);
/// One that was found away is not asked again so long after it was asked, so that only few wait for it.
const AWAY_FOR: Duration = Duration::from_secs(10);
/// A good password is not asked for again so long.
const GOOD_FOR: Duration = Duration::from_secs(300);
/// The most good passwords that are remembered.
const KEPT_MAX: usize = 10_000;
/// A user has no more groups.
const GROUPS_MAX: usize = 1000;

/// Users share so many turns.
const TURNS: usize = 64;

/// What LDAP calls wrong names and passwords: no such object, inappropriate authentication, invalid credentials, invalid DN.
const WRONG: [u32; 4] = [32, 34, 48, 49];

/// Why nobody is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A name or a password that is wrong, or can be none.
    Wrong,
    /// The server cannot be asked.
    Away,
}

/// Somebody whose password was right.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) who: Who,
    pub(crate) groups: Arc<[Box<str>]>,
    pub(crate) until: Timestamp,
}

/// An LDAP server.
pub(crate) struct Directory {
    // fixed after start
    pub(crate) config: Ldap,
    settings: LdapConnSettings,
    /// Of this process, so that what is remembered of passwords says nothing to anybody else.
    key: hmac::Key,
    // each guarded by its lock
    good: Mutex<HashMap<[u8; 32], Known>>,
    /// When the server was last found to be away.
    away: Mutex<Option<Timestamp>>,
    /// Those who ask for one user ask one after another, so that many passwords at once are no more than one by one.
    turns: [Mutex<()>; TURNS],
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Directory {
    /// Reads the files that the config names. Nothing is asked yet.
    pub(crate) fn new(config: Ldap) -> Result<Directory, String> {
        crate::tls::choose_provider();
        let mut settings = LdapConnSettings::new().set_conn_timeout(PATIENCE).set_starttls(config.starttls);
        if let Some(path) = &config.ca {
            let tls = crate::tls::trusting(path)
                .map_err(|why| format!("[access.ldap] ca = {path:?} cannot be used: {why}"))?;
            settings = settings.set_config(tls);
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.expect("the kernel gives random bytes once it has started");
        let turns = std::array::from_fn(|_| Mutex::default());
        Ok(Directory { config, settings, key, good: Mutex::default(), away: Mutex::default(), turns })
    }

    /// The turn of a user: whoever holds it asks alone.
    pub(crate) fn turn(&self, user: &str) -> MutexGuard<'_, ()> {
        let turn = &self.turns[usize::from(random::hash(user)[0]) % TURNS];
        turn.lock().unwrap_or_else(PoisonError::into_inner) // nothing is in it
    }

    /// Somebody whose password was found right not long ago.
    pub(crate) fn remembered(&self, user: &str, password: &str, now: Timestamp) -> Option<Known> {
        let good = self.good.lock().expect("no holder of this lock panics");
        good.get(&self.hash(user, password)).filter(|known| now < known.until).cloned()
    }

    /// Asks the server. A bind without a password is one of nobody, which many servers answer with success: it is never made.
    pub(crate) fn ask(&self, user: &str, password: &str, now: Timestamp) -> Result<Known, Failed> {
        let is_name = |c: char| !c.is_control();
        let who = Who::new(How::Ldap, user).filter(|_| user.trim() == user && user.chars().all(is_name));
        let who = who.ok_or(Failed::Wrong)?;
        if password.is_empty() || password.contains('\0') {
            return Err(Failed::Wrong);
        }
        let is_away = |at: Timestamp| at <= now && now < at.saturating_add(AWAY_FOR);
        if self.away.lock().expect("no holder of this lock panics").is_some_and(is_away) {
            return Err(Failed::Away); // it is given time to come back
        }
        let groups = self.bind(user, password).map_err(|error| match error {
            LdapError::LdapResult { result } if WRONG.contains(&result.rc) => Failed::Wrong,
            error => {
                tracing::warn!("the LDAP server {} cannot be asked: {error}", self.config.url);
                *self.away.lock().expect("no holder of this lock panics") = Some(now);
                Failed::Away
            }
        })?;
        let known = Known { who, groups: groups.into(), until: now.saturating_add(GOOD_FOR) };
        let mut good = self.good.lock().expect("no holder of this lock panics");
        if good.len() >= KEPT_MAX {
            good.retain(|_, known| now < known.until);
        }
        if good.len() >= KEPT_MAX {
            good.clear(); // they are asked for again
        }
        good.insert(self.hash(user, password), known.clone());
        Ok(known)
    }

    fn bind(&self, user: &str, password: &str) -> Result<Vec<Box<str>>, LdapError> {
        let dn = self.config.user_dn.replace("{user}", &dn_escape(user));
        let mut connection = LdapConn::with_settings(self.settings.clone(), &self.config.url)?;
        connection.with_timeout(PATIENCE).simple_bind(&dn, password)?.success()?;
        let groups = match &self.config.groups {
            None => Vec::new(),
            Some(groups) => {
                // The DN first: a name may hold what stands for it.
                let filter = groups.filter.replace("{user}", "\0").replace("{dn}", &ldap_escape(dn.as_str()));
                let filter = filter.replace('\0', &ldap_escape(user));
                let found = connection.with_timeout(PATIENCE).search(
                    &groups.base,
                    Scope::Subtree,
                    &filter,
                    [groups.name.as_str()],
                )?;
                let (entries, _) = found.success()?;
                let names = entries.into_iter().take(GROUPS_MAX).flat_map(|entry| {
                    let mut attributes = SearchEntry::construct(entry).attrs;
                    let name = attributes.keys().find(|name| name.eq_ignore_ascii_case(&groups.name)).cloned();
                    name.and_then(|name| attributes.remove(&name)).unwrap_or_default()
                });
                names.filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX).map(Into::into).collect()
            }
        };
        // The server ends the connection when it is dropped as well.
        let _ = connection.unbind();
        Ok(groups)
    }

    fn hash(&self, user: &str, password: &str) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [user.len().to_string().as_str(), " ", user, password] {
            context.update(part.as_bytes());
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(context.sign().as_ref());
        hash
    }
}
