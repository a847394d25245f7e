//! Access: holds what clients show against what the config and the archive say, and makes identities of it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{How, Right, Tokens};
use sample::Timestamp;

use crate::{
    config::{Config, Subject},
    identity::{Identity, Proof},
    jwt::{Said, TokenFault},
    limits::{Counted, Key, LongAnswer},
    login::Logins,
    presented::{Credential, From, Presented},
    provider::Provider,
    random,
    refused::{BEARER, Kind, Reason, Refused},
    rights::{Rights, Scope},
    sessions::{LoginSession, Sessions},
    tokens::{Book, InMemory, Token},
    who::Who,
};
#[cfg(feature = "ldap")]
use crate::{
    ldap::{self, Directory},
    lockout::Lockout,
};

mod given;
mod page;

pub use page::LoggedIn;

/// What a config leads to.
#[derive(Debug)]
struct Held {
    config: Arc<Config>,
    oidc: Option<Arc<Provider>>,
    #[cfg(feature = "ldap")]
    ldap: Option<Arc<Directory>>,
}

impl Held {
    /// Reads the files that a config names. Who is asked as before stays, with what is known.
    fn new(config: Config, before: Option<&Held>) -> Result<Held, AccessError> {
        let same = before
            .and_then(|held| held.oidc.as_ref())
            .filter(|provider| Some(&provider.config) == config.oidc.as_ref());
        let oidc = match (&config.oidc, same) {
            (None, _) => None,
            (Some(_), Some(same)) => Some(Arc::clone(same)),
            (Some(oidc), None) => Some(Arc::new(Provider::new(oidc.clone())?)),
        };
        #[cfg(feature = "ldap")]
        let ldap = config.ldap.clone().map(Directory::new).transpose()?.map(Arc::new);
        #[cfg(not(feature = "ldap"))]
        if config.ldap.is_some() {
            return Err(
                "[access.ldap]: this program was built without LDAP; leave it out, or build with the feature ldap"
                    .into(),
            );
        }
        Ok(Held {
            config: Arc::new(config),
            oidc,
            #[cfg(feature = "ldap")]
            ldap,
        })
    }
}

/// Why access cannot begin, or not with another config: the tokens cannot be read, or a file that the config names.
pub type AccessError = Box<dyn std::error::Error + Send + Sync>;

/// Who asks, and what they may do. One for all listeners and ways in.
#[derive(Debug)]
pub struct Access {
    // fixed after start
    is_open: bool,
    // each guarded by a lock of its own
    held: RwLock<Arc<Held>>,
    tokens: Book,
    sessions: Sessions,
    counted: Counted,
    #[cfg(feature = "ldap")]
    lockout: Lockout,
    logins: Logins,
    /// Tokens of the provider that were found to hold, by their hashes.
    jwts: Mutex<HashMap<[u8; 32], Said>>,
    /// How often what identities may do has changed.
    changes: AtomicU64,
}

impl Access {
    /// Without `[access]`: everybody may do what the listener allows, and nothing that is shown is looked at.
    pub fn open() -> Access {
        let tokens = Book::new(Box::new(InMemory::default())).expect("memory can be read");
        let held = Held::new(Config::open(), None).expect("it names no file");
        Access::with(true, held, tokens)
    }

    /// As the config has it, with the tokens of an archive.
    pub fn new(config: Config, tokens: Box<dyn Tokens>) -> Result<Access, AccessError> {
        Ok(Access::with(false, Held::new(config, None)?, Book::new(tokens)?))
    }

    fn with(is_open: bool, held: Held, tokens: Book) -> Access {
        Access {
            is_open,
            held: RwLock::new(Arc::new(held)),
            tokens,
            sessions: Sessions::default(),
            counted: Counted::default(),
            #[cfg(feature = "ldap")]
            lockout: Lockout::default(),
            logins: Logins::default(),
            jwts: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// Takes another config, or nothing of it if a file that it names cannot be used. What is under way is held against it when it
    /// is looked at again.
    pub fn reload(&self, config: Config) -> Result<(), AccessError> {
        let held = Held::new(config, Some(&self.held()))?;
        *self.held.write().expect("no holder of this lock panics") = Arc::new(held);
        self.jwts().clear();
        self.changed();
        Ok(())
    }

    /// How often what identities may do has changed. Streams look at it, and identify anew when it is another number.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    /// Whether nothing that is shown is looked at, as there is no `[access]`.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether people can log in, by the provider or by a password.
    pub fn has_logins(&self) -> bool {
        self.config().oidc.is_some() || self.takes_passwords()
    }

    /// Whether there is a directory that takes passwords.
    pub fn takes_passwords(&self) -> bool {
        self.config().ldap.is_some()
    }

    /// The host of the OpenID provider, by which people know it.
    pub fn provider_host(&self) -> Option<String> {
        let config = self.config();
        let (_, rest) = config.oidc.as_ref()?.issuer.split_once("://")?;
        rest.split('/').next().map(str::to_owned)
    }

    /// The config that holds now.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.held().config)
    }

    fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.read().expect("no holder of this lock panics"))
    }

    /// Whether identifying may wait for a network: whoever must not wait, as a task of tokio, lets another thread do it.
    pub fn may_block(&self, presented: &Presented) -> bool {
        let config = self.config();
        match presented.credential(config.proxy.as_ref()) {
            _ if self.is_open => false,
            Ok(Credential::Bearer(text)) => {
                !Book::is_one(text) && config.oidc.is_some() && !self.jwts().contains_key(&random::hash(text))
            }
            Ok(Credential::Basic { password, .. }) => !Book::is_one(&password) && config.ldap.is_some(),
            _ => false,
        }
    }

    fn jwts(&self) -> MutexGuard<'_, HashMap<[u8; 32], Said>> {
        self.jwts.lock().expect("no holder of this lock panics")
    }

    /// Who asks. What is shown and wrong is refused, and never taken for nothing. Failures count as requests of their address.
    pub fn identify(&self, presented: &Presented, now: Timestamp) -> Result<Identity, Refused> {
        let config = self.config();
        let identified = match presented.from {
            From::Local { uid } => {
                let who = Who { how: How::Socket, name: uid.to_string().into() };
                let rights = Rights::new(Vec::new(), Some(Right::Administer), presented.ceiling);
                Ok(Identity {
                    who,
                    groups: Arc::default(),
                    rights,
                    from: None,
                    ceiling: presented.ceiling,
                    proof: Proof::Held,
                    expires: None,
                })
            }
            From::Network(_) if self.is_open => {
                Ok(self.identity(&config, presented, Who::anonymous(), Shown::default()))
            }
            From::Network(_) => {
                self.may_ask_further(&config, presented, now)?;
                self.shown(&config, presented, now)
            }
        };
        self.counting_failures(&config, presented, now, identified)
    }

    /// Refuses to ask an identity server for an address that has shown too much that was wrong.
    fn may_ask_further(&self, config: &Config, presented: &Presented, now: Timestamp) -> Result<(), Refused> {
        match (&config.limits, presented.address()) {
            (Some(limits), Some(address)) if self.may_block(presented) => {
                self.counted.has_room(limits, &Key::at(address), now)
            }
            _ => Ok(()),
        }
    }

    /// Counts what was shown and wrong as a request of its address, so that nobody tries words without end.
    fn counting_failures(
        &self,
        config: &Config,
        presented: &Presented,
        now: Timestamp,
        identified: Result<Identity, Refused>,
    ) -> Result<Identity, Refused> {
        if let (Err(refused), Some(limits), Some(address)) = (&identified, &config.limits, presented.address())
            && matches!(refused.kind, Kind::Unproved { .. } | Kind::Malformed)
        {
            self.counted.request(limits, &Key::at(address), now)?;
        }
        identified
    }

    fn shown(&self, config: &Config, presented: &Presented, now: Timestamp) -> Result<Identity, Refused> {
        let wrong = |reason, message: &str| unproved(config, presented, reason, message);
        let made = |who, shown| self.identity(config, presented, who, shown);
        let named = |how, name: &str| {
            Who::new(how, name).ok_or_else(|| wrong(Reason::Malformed, "the name that is shown cannot be one"))
        };
        match presented.credential(config.proxy.as_ref())? {
            Credential::Certificate(certificate) => {
                if now < certificate.not_before || now >= certificate.not_after {
                    return Err(wrong(Reason::Certificate, "the client certificate does not hold at this time"));
                }
                let who = named(How::Certificate, &certificate.name)?;
                Ok(made(who, Shown { proof: Proof::Until(certificate.not_after), ..Shown::default() }))
            }
            Credential::Bearer(text) => self.bearer(config, presented, text, now),
            Credential::Basic { user, password } => self.basic(config, presented, (&user, &password), now),
            Credential::Cookie(word) => {
                let Some((key, session)) = self.sessions.find(word, now) else {
                    return Err(wrong(Reason::Session, "the session is over; log in again"));
                };
                let LoginSession { who, groups, .. } = session.logged;
                Ok(made(who, Shown { groups, proof: Proof::Session(key), scope: None }))
            }
            Credential::Proxy { user, groups } => {
                let groups = groups.into_iter().map(Into::into).collect();
                Ok(made(named(How::Proxy, user)?, Shown { groups, ..Shown::default() }))
            }
            Credential::Nothing => Ok(made(Who::anonymous(), Shown::default())),
        }
    }

    fn bearer(&self, config: &Config, presented: &Presented, text: &str, now: Timestamp) -> Result<Identity, Refused> {
        if Book::is_one(text) {
            return self.by_token(config, presented, text, now);
        }
        let held = self.held();
        let Some(provider) = &held.oidc else {
            return Err(unproved(config, presented, Reason::Token, "this is no token of this archive"));
        };
        let key = random::hash(text);
        let known = self.jwts().get(&key).filter(|said| now < said.until).cloned();
        let said = match known {
            Some(said) => said,
            None => {
                let said = provider.access_token(text, now).map_err(|wrong| match wrong {
                    TokenFault::Token(message) => unproved(config, presented, Reason::Jwt, message),
                    TokenFault::Away => Refused::away("the OpenID provider"),
                })?;
                self.remember(key, said.clone(), now);
                said
            }
        };
        let shown = Shown { groups: said.groups, proof: Proof::Until(said.until), scope: None };
        Ok(self.identity(config, presented, said.who, shown))
    }

    fn remember(&self, key: [u8; 32], said: Said, now: Timestamp) {
        let mut jwts = self.jwts();
        if jwts.len() >= JWTS_MAX {
            jwts.retain(|_, said| now < said.until);
        }
        if jwts.len() >= JWTS_MAX {
            jwts.clear(); // they are verified again
        }
        jwts.insert(key, said);
    }

    /// A name and a password. A token does for a password, whatever the name is, for clients that know nothing else.
    fn basic(
        &self,
        config: &Config,
        presented: &Presented,
        (user, password): (&str, &str),
        now: Timestamp,
    ) -> Result<Identity, Refused> {
        if Book::is_one(password) {
            return self.by_token(config, presented, password, now);
        }
        if !presented.is_safe() {
            let message = "a password is taken over TLS only, as anybody could have overheard this one";
            return Err(unproved(config, presented, Reason::Plain, message));
        }
        let logged = self.password(presented, user, password, now)?;
        let until = Proof::Until(now.saturating_add(PASSWORD_FOR));
        Ok(self.identity(config, presented, logged.who, Shown { groups: logged.groups, proof: until, scope: None }))
    }

    /// Somebody whose password is right, as the LDAP server says.
    #[cfg(feature = "ldap")]
    fn password(
        &self,
        presented: &Presented,
        user: &str,
        password: &str,
        now: Timestamp,
    ) -> Result<LoginSession, Refused> {
        let held = self.held();
        let wrong = |message| unproved(&held.config, presented, Reason::Password, message);
        let Some(directory) = &held.ldap else { return Err(wrong("no passwords are known here")) };
        let from = presented.address();
        let _turn = directory.turn(user);
        self.lockout.check(user, from, now).map_err(|wait| {
            Refused::too_many(Reason::LockedOut, wait, "there were too many wrong passwords; wait a minute")
        })?;
        let known = directory.remembered(user, password, now).map_or_else(|| directory.ask(user, password, now), Ok);
        match known {
            Ok(known) => Ok(LoginSession { who: known.who, groups: known.groups, subject: None, provider: None }),
            Err(ldap::Failed::Wrong) => {
                self.lockout.wrong(user, from, now);
                Err(wrong("the name or the password is wrong"))
            }
            Err(ldap::Failed::Away) => Err(Refused::away("the LDAP server")),
        }
    }

    #[cfg(not(feature = "ldap"))]
    fn password(&self, presented: &Presented, _: &str, _: &str, _: Timestamp) -> Result<LoginSession, Refused> {
        Err(unproved(&self.config(), presented, Reason::Password, "no passwords are known here"))
    }

    fn by_token(
        &self,
        config: &Config,
        presented: &Presented,
        text: &str,
        now: Timestamp,
    ) -> Result<Identity, Refused> {
        let token = self.tokens.find(text, now).map_err(|reason| token_refused(config, presented, reason))?;
        let expires = Some(token.row.expires);
        Ok(Identity { expires, ..self.identity(config, presented, token.who(), Shown::of(&token)) })
    }

    /// An identity with what it may do.
    fn identity(&self, config: &Config, presented: &Presented, who: Who, shown: Shown) -> Identity {
        let rights = rights(config, &who, &shown.groups, shown.scope, presented.ceiling);
        Identity {
            who,
            groups: shown.groups,
            rights,
            from: presented.address(),
            ceiling: presented.ceiling,
            proof: shown.proof,
            expires: None,
        }
    }

    /// Somebody who shows nothing, from where the request comes: for what anybody may ask though a session that is shown is over.
    pub fn anonymous(&self, presented: &Presented) -> Identity {
        self.identity(&self.config(), presented, Who::anonymous(), Shown::default())
    }

    /// Who asks with a name and a password, where these do not come in a header. What else is shown is not looked at.
    pub fn identify_password(
        &self,
        presented: &Presented,
        user: &str,
        password: &str,
        now: Timestamp,
    ) -> Result<Identity, Refused> {
        let config = self.config();
        let identified = self.basic(&config, presented, (user, password), now);
        self.counting_failures(&config, presented, now, identified)
    }

    /// The same identity with what it may do by now, for work that takes long. Refused if it is not established any more.
    pub fn again(&self, identity: &Identity, now: Timestamp) -> Result<Identity, Refused> {
        let over = |reason, message: &str| {
            Err(Refused { kind: Kind::Unproved { challenge: BEARER.to_owned() }, reason, message: message.to_owned() })
        };
        let mut scope = None;
        match &identity.proof {
            Proof::Held if identity.who.how == How::Socket => return Ok(identity.clone()),
            Proof::Held => {}
            Proof::Until(end) if now < *end => {}
            Proof::Until(_) if identity.who.how == How::Certificate => {
                return over(Reason::Certificate, "the client certificate does not hold any more");
            }
            Proof::Until(_) if identity.who.how == How::Ldap => {
                return over(Reason::Password, "the password was shown too long ago; show it again");
            }
            Proof::Until(_) => return over(Reason::Jwt, "the token has expired"),
            Proof::Token(id) => match self.tokens.again(id, now) {
                Ok(token) => scope = Some(token.scope.clone()),
                Err(reason) => return over(reason, token_message(reason)),
            },
            Proof::Session(key) if self.sessions.again(key, now).is_some() => {}
            Proof::Session(_) => return over(Reason::Session, "the session is over; log in again"),
        }
        let rights = rights(&self.config(), &identity.who, &identity.groups, scope, identity.ceiling);
        Ok(Identity { rights, ..identity.clone() })
    }

    /// Counts a request of an identity.
    pub fn admit(&self, identity: &Identity, now: Timestamp) -> Result<(), Refused> {
        match (&self.config().limits, identity.who.how) {
            (None, _) | (_, How::Socket) => Ok(()),
            (Some(limits), _) => self.counted.request(limits, &Key::of(&identity.who, identity.from), now),
        }
    }

    /// Counts a long answer of an identity, until what is returned is dropped.
    pub fn long_answer(&self, identity: &Identity) -> Result<LongAnswer, Refused> {
        match (&self.config().limits, identity.who.how) {
            (None, _) | (_, How::Socket) => Ok(LongAnswer::default()),
            (Some(limits), _) => self.counted.long_answer(limits, &Key::of(&identity.who, identity.from)),
        }
    }
}

/// What was shown besides a name.
#[derive(Default)]
struct Shown {
    groups: Arc<[Box<str>]>,
    proof: Proof,
    /// What a token may do by itself.
    scope: Option<Scope>,
}

impl Shown {
    fn of(token: &Token) -> Shown {
        Shown { groups: Arc::default(), proof: Proof::Token(token.row.id.clone()), scope: Some(token.scope.clone()) }
    }
}

/// What somebody may do: what everybody may, what grants say, and what a token may by itself.
pub(crate) fn rights(config: &Config, who: &Who, groups: &[Box<str>], own: Option<Scope>, ceiling: Right) -> Rights {
    let is_theirs = |subject: &Subject| subject.is(who, groups);
    let grants = config.grants.iter().filter(|grant| grant.to.iter().any(is_theirs));
    let public = config.grants.iter().filter(|grant| grant.to.contains(&Subject::Who(Who::anonymous())));
    let public = public.filter(|_| who.how != How::Anonymous);
    let scopes = grants.chain(public).map(|grant| grant.scope.clone()).chain(own).collect();
    Rights::new(scopes, config.anonymous.0, ceiling)
}

/// The most tokens of a provider that are remembered.
const JWTS_MAX: usize = 10_000;
/// A password that was shown counts so long in what is under way, as it is not shown again.
const PASSWORD_FOR: Duration = Duration::from_secs(300);
/// A refusal of what was shown, with how to show something better.
pub(crate) fn unproved(config: &Config, presented: &Presented, reason: Reason, message: &str) -> Refused {
    let error = match reason {
        Reason::Token | Reason::TokenExpired | Reason::Jwt => ", error=\"invalid_token\"",
        _ => "",
    };
    let basic = match config.ldap.is_some() && presented.is_safe() && !presented.is_of_browser() {
        true => ", Basic realm=\"pvark\", charset=\"UTF-8\"",
        false => "",
    };
    Refused {
        kind: Kind::Unproved { challenge: format!("{BEARER}{error}{basic}") },
        reason,
        message: message.to_owned(),
    }
}

fn token_message(reason: Reason) -> &'static str {
    match reason {
        Reason::TokenExpired => "the token has expired",
        _ => "there is no such token, or it was revoked",
    }
}

fn token_refused(config: &Config, presented: &Presented, reason: Reason) -> Refused {
    unproved(config, presented, reason, token_message(reason))
}

#[cfg(test)]
mod tests;
