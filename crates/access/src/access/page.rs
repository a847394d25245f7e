//! How a page lets people in and out: by a password, by the OpenID provider, by a session.

use archive::How;
use sample::Timestamp;

use super::{Access, Held, unproved};
use crate::{
    config::Config,
    jwt::TokenFault,
    login::{self, Callback, Redirect, clear_login_cookie},
    presented::Presented,
    provider::Provider,
    refused::{Reason, Refused},
    sessions::{LoginSession, Transport, clear_cookie, set_cookie},
    who::Who,
};

/// A browser that has logged in.
#[derive(Debug)]
pub struct LoggedIn {
    /// Who has.
    pub who: Who,
    /// For `Set-Cookie`, a header each.
    pub set_cookies: Vec<String>,
    /// The path of ours where they wanted to go.
    pub return_to: String,
}

impl Access {
    /// Begins a session of somebody whose password is right, for a form of the page. May wait for the LDAP server.
    pub fn log_in_with_password(
        &self,
        presented: &Presented,
        user: &str,
        password: &str,
        now: Timestamp,
    ) -> Result<LoggedIn, Refused> {
        if !presented.is_safe() {
            let message = "a password is taken over TLS only, as anybody could have overheard this one";
            return Err(unproved(&self.config(), presented, Reason::Plain, message));
        }
        let logged = self.password(presented, user, password, now)?;
        Ok(self.logged_in(logged, presented.transport, None, now))
    }

    /// Sends a browser to the OpenID provider, from where it comes back to `callback`, a URL of ours that the provider knows, and
    /// from there to a path of ours. May wait for the provider.
    pub fn begin_login(
        &self,
        presented: &Presented,
        callback: &str,
        return_to: &str,
        now: Timestamp,
    ) -> Result<Redirect, Refused> {
        let held = self.held();
        let provider = self.provider(&held, presented)?;
        let begun = self.logins.begin(provider, callback, return_to, presented.transport, now);
        begun.map_err(|failed| login_failed(&held.config, presented, failed))
    }

    /// Takes a browser back from the OpenID provider. May wait for the provider.
    pub fn finish_login(
        &self,
        presented: &Presented,
        callback: &str,
        brought: Callback<'_>,
        now: Timestamp,
    ) -> Result<LoggedIn, Refused> {
        let held = self.held();
        let provider = self.provider(&held, presented)?;
        let cookie = presented.login_cookie()?.unwrap_or_default();
        let done = self.logins.finish(provider, callback, cookie, brought, now);
        let done = done.map_err(|failed| login_failed(&held.config, presented, failed))?;
        Ok(self.logged_in(done.logged, presented.transport, Some(done.return_to), now))
    }

    fn provider<'a>(&self, held: &'a Held, presented: &Presented) -> Result<&'a Provider, Refused> {
        let missing = || unproved(&held.config, presented, Reason::Login, "no OpenID provider is known here");
        held.oidc.as_deref().ok_or_else(missing)
    }

    fn logged_in(
        &self,
        logged: LoginSession,
        transport: Transport,
        return_to: Option<String>,
        now: Timestamp,
    ) -> LoggedIn {
        let who = logged.who.clone();
        let mut set_cookies = vec![self.log_in(logged, transport, now)];
        if return_to.is_some() {
            set_cookies.push(clear_login_cookie(transport));
        }
        LoggedIn { who, set_cookies, return_to: return_to.unwrap_or_else(|| "/".to_owned()) }
    }

    /// Ends the sessions that a logout token of the OpenID provider is for. How many there were. May wait for the provider.
    pub fn log_out_by_provider(&self, presented: &Presented, token: &str, now: Timestamp) -> Result<usize, Refused> {
        let held = self.held();
        let meant = self.provider(&held, presented)?.logout_token(token, now);
        let meant = meant.map_err(|wrong| match wrong {
            // As OpenID Connect Back-Channel Logout has it: 400.
            TokenFault::Token(message) => Refused::malformed(Reason::Login, message),
            TokenFault::Away => Refused::away("the OpenID provider"),
        })?;
        let is = |meant: &Option<Box<str>>, has: &Option<Box<str>>| meant.is_none() || meant == has;
        let ended = self.sessions.end_all(|logged| {
            logged.who.how == How::Oidc && is(&meant.subject, &logged.subject) && is(&meant.provider, &logged.provider)
        });
        self.changed();
        Ok(ended)
    }

    /// Begins a session of somebody who has proved who they are. Gives the header that gives the browser its cookie.
    pub fn log_in(&self, logged: LoginSession, transport: Transport, now: Timestamp) -> String {
        set_cookie(&self.sessions.begin(logged, now), transport)
    }

    /// Ends the session of a request, if it has one. Gives the header that takes the cookie from the browser.
    pub fn log_out(&self, presented: &Presented) -> String {
        // Whoever has none may say so as often as they like: nobody else is looked at anew for it.
        if let Ok(Some(word)) = presented.cookie()
            && self.sessions.end(word)
        {
            self.changed();
        }
        clear_cookie(presented.transport)
    }

    /// Ends all sessions of somebody. How many there were.
    pub fn end_sessions(&self, who: &Who) -> usize {
        let ended = self.sessions.end_all(|logged| logged.who == *who);
        self.changed();
        ended
    }
}

fn login_failed(config: &Config, presented: &Presented, failed: login::Failed) -> Refused {
    match failed {
        login::Failed::Wrong(message) => unproved(config, presented, Reason::Login, &message),
        login::Failed::Away => Refused::away("the OpenID provider"),
    }
}
