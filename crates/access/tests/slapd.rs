//! LDAP against a real server: slapd of OpenLDAP, which `make setup` unpacks into `.make/slapd`. Without it these tests say that they
//! were skipped.

#![cfg(feature = "ldap")]

use std::{
    fs,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use access::{Access, Config, From, Identity, InMemory, Presented, Reason, Refused, Transport};
use archive::Right;
use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use sample::Timestamp;

const PEOPLE: &str = "
dn: dc=lab,dc=example
objectClass: dcObject
objectClass: organization
o: lab
dc: lab

dn: ou=people,dc=lab,dc=example
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=lab,dc=example
objectClass: organizationalUnit
ou: groups

dn: uid=operator1,ou=people,dc=lab,dc=example
objectClass: inetOrgPerson
uid: operator1
cn: Operator One
sn: One
userPassword: secret1

dn: uid=a\\2Cb (c)*,ou=people,dc=lab,dc=example
objectClass: inetOrgPerson
uid: a,b (c)*
cn: Odd
sn: Odd
userPassword: secret2

dn: cn=operators,ou=groups,dc=lab,dc=example
objectClass: groupOfNames
cn: operators
member: uid=operator1,ou=people,dc=lab,dc=example
member: uid=a\\2Cb (c)*,ou=people,dc=lab,dc=example

dn: cn=staff,ou=groups,dc=lab,dc=example
objectClass: groupOfNames
cn: staff
member: uid=operator1,ou=people,dc=lab,dc=example

dn: cn=others,ou=groups,dc=lab,dc=example
objectClass: groupOfNames
cn: others
member: uid=nobody,ou=people,dc=lab,dc=example
";

/// A certificate for this machine, and who has signed it.
struct Certificates {
    ca: String,
    certificate: String,
    key: String,
}

impl Certificates {
    fn new() -> Certificates {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let of_ca = ca.self_signed(&ca_key).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let certificate = server.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
        Certificates { ca: of_ca.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// slapd with the people above, which ends with it.
struct Server {
    folder: tempfile::TempDir,
    child: Child,
    plain: u16,
    tls: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Where slapd was unpacked; none if it was not, which is said where everybody sees it.
fn slapd() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.make/slapd");
    if root.join("usr/sbin/slapd").exists() {
        return Some(root.canonicalize().unwrap());
    }
    // Written past what cargo captures of tests that pass.
    let message = "SKIPPED: there is no .make/slapd, which `make setup` unpacks: nothing of LDAP was tested\n";
    io::stderr().write_all(message.as_bytes()).unwrap();
    None
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    fn start() -> Option<Server> {
        let root = slapd()?;
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let certificates = Certificates::new();
        for (name, text) in
            [("ca.pem", &certificates.ca), ("server.pem", &certificates.certificate), ("server.key", &certificates.key)]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        fs::write(folder.path().join("foreign.pem"), Certificates::new().ca).unwrap();
        let root = root.display();
        let schema = |name| format!("include {root}/etc/ldap/schema/{name}.schema\n");
        let config = [
            schema("core") + &schema("cosine") + &schema("inetorgperson"),
            format!("modulepath {root}/usr/lib/ldap\nmoduleload back_mdb\npidfile {at}/pid\nargsfile {at}/args\n"),
            format!(
                "TLSCACertificateFile {at}/ca.pem\nTLSCertificateFile {at}/server.pem\nTLSCertificateKeyFile {at}/server.key\n"
            ),
            // What makes a bind without a password succeed on many servers.
            "allow bind_anon_cred bind_anon_dn\n".to_owned(),
            format!("database mdb\nmaxsize 10485760\nsuffix \"dc=lab,dc=example\"\ndirectory {at}/data\n"),
        ];
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("slapd.conf"), config.concat()).unwrap();
        fs::write(folder.path().join("people.ldif"), PEOPLE).unwrap();
        let program = |name: &str| {
            let mut command = Command::new(format!("{root}/usr/sbin/{name}"));
            command.env("LD_LIBRARY_PATH", format!("{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib/aarch64-linux-gnu"));
            command.arg("-f").arg(folder.path().join("slapd.conf"));
            command
        };
        let added = program("slapadd").arg("-l").arg(folder.path().join("people.ldif")).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let (plain, tls) = (free_port(), free_port());
            let urls = format!("ldap://127.0.0.1:{plain} ldaps://127.0.0.1:{tls}");
            let mut child = program("slapd").args(["-d", "0", "-h", &urls]).stderr(Stdio::null()).spawn().unwrap();
            let is_open = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
            // Where another test has got one of its ports meanwhile, it ends.
            while child.try_wait().unwrap().is_none() {
                if is_open(plain) && is_open(tls) {
                    return Some(Server { folder, child, plain, tls });
                }
                assert!(Instant::now() < deadline, "slapd does not answer");
                thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < deadline, "slapd does not start");
        }
    }

    fn access(&self, ldap: &str) -> Access {
        let text = format!(
            "anonymous = \"none\"\n[[grant]]\nto = \"group:operators\"\nright = \"operate\"\n[ldap]\n{ldap}\n\
             user_dn = \"uid={{user}},ou=people,dc=lab,dc=example\"\n\
             groups = {{ base = \"ou=groups,dc=lab,dc=example\", filter = \"(member={{dn}})\", name = \"cn\" }}\n"
        );
        let config: Config = toml::from_str(&text).unwrap();
        Access::new(config, Box::new(InMemory::default())).unwrap()
    }

    /// By TLS, with a certificate that is trusted or not.
    fn by_tls(&self, ca: &str) -> Access {
        let ca = self.folder.path().join(ca);
        self.access(&format!("url = \"ldaps://127.0.0.1:{}\"\nca = {ca:?}", self.tls))
    }

    fn plainly(&self) -> Access {
        self.access(&format!("url = \"ldap://127.0.0.1:{}\"", self.plain))
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds, 0)
}

fn ask_from(access: &Access, from: &str, user: &str, password: &str, now: i64) -> Result<Identity, Refused> {
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
    let headers = [("authorization", basic.as_bytes())];
    let from = From::Network(from.parse().unwrap());
    let presented =
        Presented { from, transport: Transport::Tls, ceiling: Right::Administer, headers: &headers, certificate: None };
    access.identify(&presented, at(now))
}

fn ask(access: &Access, user: &str, password: &str, now: i64) -> Result<Identity, Refused> {
    ask_from(access, "10.0.0.7", user, password, now)
}

#[test]
fn a_right_password_gets_in_with_the_groups_of_the_user() {
    let Some(server) = Server::start() else { return };
    for access in [server.plainly(), server.by_tls("ca.pem")] {
        let identity = ask(&access, "operator1", "secret1", 0).unwrap();
        assert_eq!(identity.who.to_string(), "ldap:operator1");
        let mut groups = identity.groups.to_vec();
        groups.sort();
        assert_eq!(groups, ["operators".into(), "staff".into()]);
        assert!(identity.rights.may(Right::Operate, "X"));
        let odd = ask(&access, "a,b (c)*", "secret2", 0).unwrap();
        assert_eq!(*odd.groups, ["operators".into()]);
    }
}

#[test]
fn by_starttls_the_certificate_must_be_right_too() {
    let Some(server) = Server::start() else { return };
    let with = |ca: &str| {
        let ca = server.folder.path().join(ca);
        let access =
            server.access(&format!("url = \"ldap://127.0.0.1:{}\"\nstarttls = true\nca = {ca:?}", server.plain));
        ask(&access, "operator1", "secret1", 0)
            .map(|identity| identity.who.to_string())
            .map_err(|refused| refused.reason)
    };
    assert_eq!(with("ca.pem"), Ok("ldap:operator1".to_owned()));
    assert_eq!(with("foreign.pem"), Err(Reason::Away));
}

#[test]
fn whatever_else_is_typed_gets_nobody_in() {
    let Some(server) = Server::start() else { return };
    let access = server.plainly();
    let names = [
        "operator1",
        "*",
        ")(uid=*",
        "operator1,ou=x",
        "operator1,ou=people,dc=lab,dc=example",
        "nobody",
        "",
        " operator1",
    ];
    let odd = [
        "operator1\0",
        "operator1\n",
        "operator1\\",
        "#x",
        "uid=operator1",
        "+",
        "\"",
        "operator1,ou=people,dc=lab,dc=example,x=",
    ];
    let passwords = ["", "wrong", "secret1 ", "secret1\0", "*", "SECRET1"];
    let mut number = 0;
    for (user, password) in names.iter().flat_map(|user| passwords.map(|password| (*user, password))) {
        number += 1;
        let refused =
            ask_from(&access, &format!("10.0.{}.{}", number / 200, number % 200), user, password, 0).unwrap_err();
        assert_eq!((refused.status(), refused.reason), (401, Reason::Password), "{user:?} {password:?}");
    }
    for user in names[1..].iter().chain(&odd) {
        let refused = ask_from(&access, "10.1.0.1", user, "secret1", 0).unwrap_err();
        assert_eq!((refused.status(), refused.reason), (401, Reason::Password), "{user:?}");
    }
}

#[test]
fn a_foreign_certificate_is_an_identity_server_that_is_away() {
    let Some(server) = Server::start() else { return };
    let refused = ask(&server.by_tls("foreign.pem"), "operator1", "secret1", 0).unwrap_err();
    assert_eq!((refused.status(), refused.reason, refused.retry_after_seconds()), (503, Reason::Away, Some(10)));
    // Without any that is trusted here it is no better.
    let access = server.access(&format!("url = \"ldaps://127.0.0.1:{}\"", server.tls));
    assert_eq!(ask(&access, "operator1", "secret1", 0).unwrap_err().status(), 503);
}

#[test]
fn five_wrong_passwords_a_minute_lock_a_user_out_at_that_address() {
    let Some(server) = Server::start() else { return };
    let access = server.plainly();
    ask(&access, "operator1", "secret1", 0).unwrap();
    for second in 0..5 {
        assert_eq!(ask(&access, "operator1", "wrong", second).unwrap_err().status(), 401);
    }
    for password in ["wrong", "secret1"] {
        let refused = ask(&access, "operator1", password, 5).unwrap_err();
        assert_eq!(
            (refused.status(), refused.reason, refused.retry_after_seconds()),
            (429, Reason::LockedOut, Some(55))
        );
    }
    ask_from(&access, "10.0.0.8", "operator1", "secret1", 5).unwrap();
    ask(&access, "operator1", "secret1", 60).unwrap();
}

#[test]
fn a_server_that_hangs_holds_nobody_for_long_and_those_who_were_in_stay_in() {
    let Some(mut server) = Server::start() else { return };
    let access = server.plainly();
    let before = ask(&access, "operator1", "secret1", 0).unwrap();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    ask(&access, "operator1", "secret1", 299).unwrap();
    access.again(&before, at(299)).unwrap();
    assert_eq!(ask(&access, "operator1", "secret1", 300).unwrap_err().reason, Reason::Away);
    // One that takes connections and says nothing.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let access = server.access(&format!("url = \"ldap://127.0.0.1:{}\"", hanging.local_addr().unwrap().port()));
    let begun = Instant::now();
    for _ in 0..5 {
        let refused = ask(&access, "operator1", "secret1", 0).unwrap_err();
        assert_eq!((refused.status(), refused.reason), (503, Reason::Away));
    }
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?} for five that wait", begun.elapsed());
    drop(hanging);
}

#[test]
fn a_password_that_could_be_overheard_is_not_even_asked_for() {
    let Some(server) = Server::start() else { return };
    let access = server.plainly();
    let from = From::Network("10.0.0.7".parse().unwrap());
    let presented =
        Presented { from, transport: Transport::Plain, ceiling: Right::Administer, headers: &[], certificate: None };
    let refused = access.log_in_with_password(&presented, "operator1", "secret1", at(0)).unwrap_err();
    assert_eq!((refused.status(), refused.reason), (401, Reason::Plain));
    let presented = Presented { transport: Transport::Tls, ..presented };
    let logged_in = access.log_in_with_password(&presented, "operator1", "secret1", at(0)).unwrap();
    let cookie = logged_in.set_cookies[0].split(';').next().unwrap().to_owned();
    let headers = [("cookie", cookie.as_bytes())];
    let identity = access.identify(&Presented { headers: &headers, ..presented }, at(1)).unwrap();
    assert_eq!(identity.who.to_string(), "ldap:operator1");
}
