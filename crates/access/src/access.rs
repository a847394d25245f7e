//! Access: holds what clients show against what the config and the archive say, and makes identities of it.

use std::sync::{
    Arc, RwLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use archive::{By, Right, TokenRow, Tokens, TokensError};
use sample::Timestamp;

use crate::{
    config::{Config, Subject},
    identity::{Identity, Proof},
    limits::{Counted, Key, LongAnswer},
    presented::{Credential, From, Presented},
    refused::{Kind, Reason, Refused},
    rights::{Rights, Scope},
    sessions::{Sessions, Transport, clear_cookie, set_cookie},
    tokens::{Book, InMemory, NewToken, Token, TokenError, TokenWish},
    who::{How, Who},
};

/// Why access cannot begin, or not with another config: the tokens cannot be read, or a file that the config names.
pub type AccessError = Box<dyn std::error::Error + Send + Sync>;

/// Who asks, and what they may do. One for all listeners and ways in.
#[derive(Debug)]
pub struct Access {
    // fixed after start
    is_open: bool,
    // each guarded by a lock of its own
    config: RwLock<Arc<Config>>,
    tokens: Book,
    pub(crate) sessions: Sessions,
    counted: Counted,
    /// How often what identities may do has changed.
    changes: AtomicU64,
}

impl Access {
    /// Without `[access]`: everybody may do what the listener allows, and nothing that is shown is looked at.
    pub fn open() -> Access {
        let tokens = Book::new(Box::new(InMemory::default())).expect("memory can be read");
        Access::with(true, Config::open(), tokens)
    }

    /// As the config has it, with the tokens of an archive.
    pub fn new(config: Config, tokens: Box<dyn Tokens>) -> Result<Access, AccessError> {
        Ok(Access::with(false, config, Book::new(tokens)?))
    }

    fn with(is_open: bool, config: Config, tokens: Book) -> Access {
        Access {
            is_open,
            config: RwLock::new(Arc::new(config)),
            tokens,
            sessions: Sessions::default(),
            counted: Counted::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// Takes another config, or nothing of it if a file that it names cannot be used. What is under way is held against it when it
    /// is looked at again.
    pub fn reload(&self, config: Config) -> Result<(), AccessError> {
        *self.config.write().expect("no holder of this lock panics") = Arc::new(config);
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

    /// The config that holds now.
    pub fn config(&self) -> Arc<Config> {
        self.config.read().expect("no holder of this lock panics").clone()
    }

    /// Whether identifying may wait for a network: whoever must not wait lets another thread do it.
    pub fn may_block(&self, presented: &Presented) -> bool {
        let config = self.config();
        match presented.credential(config.proxy.as_ref()) {
            _ if self.is_open => false,
            Ok(Credential::Bearer(text)) => !Book::is_one(text) && config.oidc.is_some(),
            Ok(Credential::Basic { password, .. }) => !Book::is_one(&password) && config.ldap.is_some(),
            _ => false,
        }
    }

    /// Who asks. What is shown and wrong is refused, and never taken for nothing. Failures count as requests of their address.
    pub fn identify(&self, presented: &Presented, now: Timestamp) -> Result<Identity, Refused> {
        let config = self.config();
        let identified = match presented.from {
            From::Local { uid } => {
                let who = Who { how: How::Local, name: uid.to_string().into() };
                let rights = Rights::new(Vec::new(), Some(Right::Administer), presented.ceiling);
                Ok(Identity {
                    who,
                    groups: Arc::default(),
                    rights,
                    from: None,
                    ceiling: presented.ceiling,
                    proof: Proof::Held,
                })
            }
            From::Network(_) if self.is_open => {
                Ok(self.identity(&config, presented, Who::anonymous(), Shown::default()))
            }
            From::Network(_) => self.shown(&config, presented, now),
        };
        self.counting_failures(&config, presented, now, identified)
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
                Ok(made(session.who, Shown { groups: session.groups, proof: Proof::Session(key), scope: None }))
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
        Err(unproved(config, presented, Reason::Token, "this is no token of this archive"))
    }

    /// A name and a password. A token does for a password, whatever the name is, for clients that know nothing else.
    fn basic(
        &self,
        config: &Config,
        presented: &Presented,
        (_user, password): (&str, &str),
        now: Timestamp,
    ) -> Result<Identity, Refused> {
        if Book::is_one(password) {
            return self.by_token(config, presented, password, now);
        }
        if !presented.is_safe() {
            let message = "a password is taken over TLS only, as anybody could have overheard this one";
            return Err(unproved(config, presented, Reason::Plain, message));
        }
        Err(unproved(config, presented, Reason::Password, "no passwords are known here"))
    }

    fn by_token(
        &self,
        config: &Config,
        presented: &Presented,
        text: &str,
        now: Timestamp,
    ) -> Result<Identity, Refused> {
        let token = self.tokens.find(text, now).map_err(|reason| token_refused(config, presented, reason))?;
        Ok(self.identity(config, presented, token.who(), Shown::of(&token)))
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
        }
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

    /// Begins a session of somebody who has proved who they are. Gives the header that gives the browser its cookie.
    pub fn log_in(
        &self,
        who: Who,
        groups: Arc<[Box<str>]>,
        provider: Option<Box<str>>,
        transport: Transport,
        now: Timestamp,
    ) -> String {
        set_cookie(&self.sessions.begin(who, groups, provider, now), transport)
    }

    /// Ends the session of a request, if it has one. Gives the header that takes the cookie from the browser.
    pub fn log_out(&self, presented: &Presented) -> String {
        if let Ok(Some(word)) = presented.cookie() {
            self.sessions.end(word);
            self.changed();
        }
        clear_cookie(presented.transport)
    }

    /// Ends all sessions of somebody. How many there were.
    pub fn end_sessions(&self, who: &Who) -> usize {
        let ended = self.sessions.end_of(Some(who), None);
        self.changed();
        ended
    }

    /// The same identity with what it may do by now, for work that takes long. Refused if it is not established any more.
    pub fn again(&self, identity: &Identity, now: Timestamp) -> Result<Identity, Refused> {
        let over = |reason, message: &str| {
            Err(Refused { kind: Kind::Unproved { challenge: BEARER.to_owned() }, reason, message: message.to_owned() })
        };
        let mut scope = None;
        match &identity.proof {
            Proof::Held if identity.who.how == How::Local => return Ok(identity.clone()),
            Proof::Held => {}
            Proof::Until(end) if now < *end => {}
            Proof::Until(_) if identity.who.how == How::Certificate => {
                return over(Reason::Certificate, "the client certificate does not hold any more");
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
            (None, _) | (_, How::Local) => Ok(()),
            (Some(limits), _) => self.counted.request(limits, &Key::of(&identity.who, identity.from), now),
        }
    }

    /// Counts a long answer of an identity, until what is returned is dropped.
    pub fn long_answer(&self, identity: &Identity) -> Result<LongAnswer, Refused> {
        match (&self.config().limits, identity.who.how) {
            (None, _) | (_, How::Local) => Ok(LongAnswer::default()),
            (Some(limits), _) => self.counted.long_answer(limits, &Key::of(&identity.who, identity.from)),
        }
    }

    /// Makes a token. Nobody gives more than they have, nor for longer than they have it.
    pub fn add_token(&self, maker: &Identity, wish: TokenWish, now: Timestamp) -> Result<NewToken, TokenError> {
        let scope = Book::checked(&wish, now)?;
        let config = self.config();
        let who = Who { how: How::Token, name: wish.name.as_str().into() };
        let grants = config.grants.iter().filter(|grant| grant.to.contains(&Subject::Who(who.clone())));
        let more =
            std::iter::once(&scope).chain(grants.map(|grant| &grant.scope)).find(|scope| !maker.rights.contain(scope));
        if let Some(more) = more {
            let pvs: Vec<&str> = more.pvs.iter().map(|fits| fits.as_str()).collect();
            let message = format!(
                "{} would have the right {} on {}, which {} does not have to give",
                who,
                more.right,
                pvs.join(", "),
                maker.who
            );
            return Err(forbidden(more.right, Reason::Right, message).into());
        }
        let ends = match &maker.proof {
            Proof::Token(id) => self.tokens.with_id(id).map(|token| token.row.expires),
            _ => None,
        };
        if let Some(end) = ends.filter(|end| *end < wish.expires) {
            let message = format!("{} expires at {end}, and gives nothing for longer", maker.who);
            return Err(forbidden(wish.right, Reason::Right, message).into());
        }
        self.tokens.make(wish, By::new(maker.principal(), now))
    }

    /// Forgets a token for good. Whether there was one of that id.
    pub fn revoke_token(&self, id: &str, by: &Identity, now: Timestamp) -> Result<bool, TokenError> {
        let was_there = self.tokens.revoke(id, &By::new(by.principal(), now));
        self.changed();
        was_there
    }

    /// All tokens, the newest first.
    pub fn tokens(&self) -> Vec<TokenRow> {
        self.tokens.rows()
    }

    /// What is to be done now and then, once a minute or so: keeps the days on which tokens were used.
    pub fn tend(&self) -> Result<(), TokensError> {
        self.tokens.keep_days()
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

const BEARER: &str = "Bearer realm=\"pvark\"";

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

pub(crate) fn forbidden(right: Right, reason: Reason, message: String) -> Refused {
    Refused { kind: Kind::Forbidden { right }, reason, message }
}

#[cfg(test)]
mod tests;
