//! Logins by a real OpenID provider: oidc-provider-mock, which `make setup` installs into `.venv`. Without it this test says that it was
//! skipped.

use std::{
    collections::HashMap,
    env,
    io::{self, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use access::{Access, Callback, From, InMemory, LoggedIn, Presented, Reason, Redirect, Refused, Transport};
use archive::Right;
use sample::Timestamp;

const CALLBACK: &str = "https://archiver.lab.example/login/callback";

/// The provider, which ends with it.
struct Server {
    child: Child,
    url: String,
    /// With the secret of the client, which may be anything.
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Server {
    /// None if it is not installed, which is said where everybody sees it.
    fn start() -> Option<Server> {
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/oidc-provider-mock");
        let program = env::var_os("OIDC_PROVIDER_MOCK").map_or(usual, PathBuf::from);
        if !program.exists() {
            let message =
                "SKIPPED: there is no .venv/bin/oidc-provider-mock, which `make setup` installs: no login was tried\n";
            // Written past what cargo captures of tests that pass.
            io::stderr().write_all(message.as_bytes()).unwrap();
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let claims = "{\"sub\":\"operator1\",\"groups\":[\"operators\"]}";
        let child = Command::new(program)
            .args(["--port", &port.to_string(), "--user-claims", claims])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { child, url: format!("http://127.0.0.1:{port}"), folder: tempfile::tempdir().unwrap() };
        std::fs::write(server.folder.path().join("secret"), "s e:c/ret\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the provider does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn end(&mut self) {
        let _ = self.child.kill(); // it may have ended
        self.child.wait().unwrap();
    }

    fn access(&self) -> Access {
        let text = format!(
            "anonymous = \"none\"\n[[grant]]\nto = \"group:operators\"\nright = \"operate\"\n\
             [oidc]\nissuer = {:?}\nclient = \"pvark\"\naudience = \"pvark\"\nclient_secret_file = {:?}\n",
            self.url,
            self.folder.path().join("secret")
        );
        Access::new(toml::from_str(&text).unwrap(), Box::new(InMemory::default())).unwrap()
    }

    /// What a person does at the provider: says a name, and is sent back. Gives where to.
    fn let_in(&self, location: &str, name: &str) -> HashMap<String, String> {
        let agent: ureq::Agent = ureq::Agent::config_builder().max_redirects(0).build().into();
        let answer = agent.post(location).send_form([("sub", name)]).unwrap();
        let back = answer.headers()["location"].to_str().unwrap().to_owned();
        let (to, query) = back.split_once('?').unwrap();
        assert_eq!(to, CALLBACK);
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }
}

/// The provider's clock is that of the machine.
fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "a real provider signs real times")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_seconds(since.as_secs() as i64, 0)
}

fn presented<'a>(headers: &'a [(&'a str, &'a [u8])]) -> Presented<'a> {
    let from = From::Network("10.0.0.7".parse().unwrap());
    Presented { from, transport: Transport::Tls, ceiling: Right::Administer, headers, certificate: None }
}

fn cookie(set: &str) -> &str {
    set.split(';').next().unwrap()
}

fn finish(access: &Access, redirect: &Redirect, brought: &HashMap<String, String>) -> Result<LoggedIn, Refused> {
    let of = |name: &str| brought.get(name).map(String::as_str);
    let brought = Callback { code: of("code"), state: of("state"), issuer: of("iss"), error: of("error") };
    let headers = [("cookie", cookie(&redirect.set_cookie).as_bytes())];
    access.finish_login(&presented(&headers), CALLBACK, brought, now())
}

#[test]
fn somebody_logs_in_by_the_provider_and_stays_in_when_it_dies() {
    let Some(mut server) = Server::start() else { return };
    let access = server.access();
    let begin = |return_to| access.begin_login(&presented(&[]), CALLBACK, return_to, now());

    let redirect = begin("/pv/SR1").unwrap();
    let brought = server.let_in(&redirect.location, "operator1");
    let logged_in = finish(&access, &redirect, &brought).unwrap();
    assert_eq!((logged_in.who.to_string().as_str(), logged_in.return_to.as_str()), ("oidc:operator1", "/pv/SR1"));
    assert!(logged_in.set_cookies[1].contains("Max-Age=0"), "the cookie of the login goes");
    let twice = finish(&access, &redirect, &brought).unwrap_err();
    assert_eq!((twice.status(), twice.reason), (401, Reason::Login), "a code twice");

    // A state that is another's, and a provider that says it is another.
    let redirect = begin("//evil.example").unwrap();
    let mut brought = server.let_in(&redirect.location, "operator1");
    for (name, value) in [("state", "x"), ("iss", "https://evil.example"), ("error", "access_denied")] {
        let before = brought.insert(name.to_owned(), value.to_owned());
        assert_eq!(finish(&access, &redirect, &brought).unwrap_err().reason, Reason::Login, "{name}");
        match before {
            Some(before) => brought.insert(name.to_owned(), before),
            None => brought.remove(name),
        };
    }
    assert_eq!(finish(&access, &redirect, &brought).unwrap().return_to, "/");

    // The provider dies: whoever is in stays in, and nobody else comes in.
    let redirect = begin("/").unwrap();
    let brought = server.let_in(&redirect.location, "operator1");
    server.end();
    let refused = finish(&access, &redirect, &brought).unwrap_err();
    assert_eq!((refused.status(), refused.reason), (503, Reason::Away));
    let headers = [("cookie", cookie(&logged_in.set_cookies[0]).as_bytes())];
    let identity = access.identify(&presented(&headers), now()).unwrap();
    assert_eq!(identity.principal().established(), "oidc:operator1");
    assert!(identity.rights.may(Right::Operate, "SR1"));

    // An archiver that starts while it is dead starts; it only lets nobody log in.
    let access = server.access();
    let refused = access.begin_login(&presented(&[]), CALLBACK, "/", now()).unwrap_err();
    assert_eq!((refused.status(), refused.reason, refused.retry_after_seconds()), (503, Reason::Away, Some(10)));
    access.identify(&presented(&[]), now()).unwrap();
}
