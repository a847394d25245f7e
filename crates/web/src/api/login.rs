//! `/api/v1/me`, `/login…`, `/logout`: who one is, and how a page lets people in and out.

use access::{Callback, LoggedIn, Presented, Scope};
use archive::Right;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::now;

use crate::{
    auth::turn,
    call::Call,
    delivery::answer::{Answer, json},
    host::Scheme,
    refusal::{Code, Refusal},
};

/// Where the provider sends people back to.
const CALLBACK: &str = "/api/v1/login/callback";

#[derive(Serialize)]
struct Me<'a> {
    /// `oidc:operator1`, `anonymous`.
    who: String,
    /// How that was established.
    how: &'static str,
    groups: Vec<&'a str>,
    /// What may be done to every PV; none if nothing may.
    all: Option<&'static str>,
    /// The most that may be done to any.
    most: Option<&'static str>,
    /// What more may be done to some.
    some: Vec<More<'a>>,
    /// The most that anybody may do at this address.
    here: &'static str,
    /// Whether it is known who asks at all.
    open: bool,
    /// Whether a session can be ended.
    session: bool,
    /// How people can log in.
    login: Ways,
}

#[derive(Serialize)]
struct More<'a> {
    right: &'static str,
    pvs: Vec<&'a str>,
}

#[derive(Serialize)]
struct Ways {
    /// The host of the OpenID provider.
    oidc: Option<String>,
    /// By name and password, if those can be sent without being overheard.
    password: bool,
}

/// `GET /me`
pub(crate) fn me(call: &Call) -> Answer {
    let (identity, access) = (&call.asker, &call.app.access);
    let mut answer = json(&Me {
        who: identity.who.to_string(),
        how: identity.who.how.name(),
        groups: identity.groups.iter().map(|group| &**group).collect(),
        all: identity.rights.to_all().map(Right::name),
        most: identity.rights.most().map(Right::name),
        some: identity.rights.to_some().iter().map(more).collect(),
        here: call.origin.ceiling().name(),
        open: access.is_open(),
        session: identity.has_session(),
        login: Ways {
            oidc: access.provider_host(),
            password: access.takes_passwords() && shown(call, |presented| presented.is_safe()),
        },
    })?;
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

fn more(scope: &Scope) -> More<'_> {
    More { right: scope.right.name(), pvs: scope.pvs.iter().map(|fits| fits.as_str()).collect() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Password {
    user: String,
    password: String,
}

/// `POST /login`
pub(crate) fn by_password(call: &Call) -> Answer {
    // What cannot be read is not told again: it may hold the password.
    let sent: Password = serde_json::from_slice(&call.body).map_err(|_| {
        Refusal::new(Code::BadRequest, "the body is not a name and a password")
            .hint(r#"send {"user":"ana","password":"…"} as JSON"#)
    })?;
    let _turn = turn()?;
    let logged =
        shown(call, |presented| call.app.access.log_in_with_password(presented, &sent.user, &sent.password, now()));
    match logged {
        Ok(logged) => {
            tracing::info!("{} has logged in", logged.who);
            let mut answer = json(&json!({ "who": logged.who.to_string() }))?;
            give_cookies(&mut answer, &logged.set_cookies);
            Ok(answer)
        }
        Err(why) => call.refused(&why),
    }
}

/// `GET /login/oidc`: to the provider.
pub(crate) fn to_provider(call: &Call) -> Answer {
    let _turn = turn()?;
    let (callback, return_to) = (callback(call)?, call.query.get("return").unwrap_or("/").to_owned());
    let begun = shown(call, |presented| call.app.access.begin_login(presented, &callback, &return_to, now()));
    match begun {
        Ok(redirect) => Ok(found(&redirect.location, &[redirect.set_cookie])),
        Err(why) => call.refused(&why),
    }
}

/// `GET /login/callback`: back from the provider.
pub(crate) fn from_provider(call: &Call) -> Answer {
    let _turn = turn()?;
    let callback = callback(call)?;
    let brought = |name| call.query.get(name);
    let brought =
        Callback { code: brought("code"), state: brought("state"), issuer: brought("iss"), error: brought("error") };
    match shown(call, |presented| call.app.access.finish_login(presented, &callback, brought, now())) {
        Ok(LoggedIn { who, set_cookies, return_to }) => {
            tracing::info!("{who} has logged in");
            Ok(found(&return_to, &set_cookies))
        }
        Err(why) => {
            let refused = call.refused(&why)?;
            // The page says it by the word for the reason, and there people can begin anew.
            let to_page = || found(&format!("/login?refused={}", why.reason.name()), &[]);
            Ok(if call.asked.is_page { to_page() } else { refused })
        }
    }
}

/// `POST /login/backchannel`: the provider says that somebody has logged out.
pub(crate) fn out_by_provider(call: &Call) -> Answer {
    let _turn = turn()?;
    let token = call.body.strip_prefix(b"logout_token=").and_then(|token| token.split(|byte| *byte == b'&').next());
    let token = token.and_then(|token| percent_decode_str(std::str::from_utf8(token).ok()?).decode_utf8().ok());
    let token = token.ok_or_else(|| Refusal::new(Code::BadRequest, "the body has no logout_token"))?;
    match shown(call, |presented| call.app.access.log_out_by_provider(presented, &token, now())) {
        Ok(ended) => json(&json!({ "ended": ended })),
        Err(why) => call.refused(&why),
    }
}

/// `POST /logout`
pub(crate) fn out(call: &Call) -> Answer {
    let cookie = shown(call, |presented| call.app.access.log_out(presented));
    let mut answer = json(&json!({ "who": "anonymous" }))?;
    give_cookies(&mut answer, &[cookie]);
    Ok(answer)
}

fn shown<T>(call: &Call, look: impl FnOnce(&Presented) -> T) -> T {
    call.origin.shown(&call.headers, look)
}

/// Where people come back to: as the config has it, or by the name under which they came.
fn callback(call: &Call) -> Result<String, Refusal> {
    if let Some(callback) = call.app.access.config().oidc.as_ref().and_then(|oidc| oidc.callback.clone()) {
        return Ok(callback);
    }
    let host = call.host();
    if host.is_empty() {
        return Err(Refusal::new(Code::BadRequest, "the request does not say by which name it came"));
    }
    let scheme = if call.scheme == Scheme::Https { "https" } else { "http" };
    Ok(format!("{scheme}://{host}{CALLBACK}"))
}

fn found(location: &str, cookies: &[String]) -> Response {
    let mut response = (StatusCode::FOUND, [(header::LOCATION, location)]).into_response();
    give_cookies(&mut response, cookies);
    response
}

fn give_cookies(response: &mut Response, cookies: &[String]) {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies.iter().filter_map(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.append(header::SET_COOKIE, cookie);
    }
}
