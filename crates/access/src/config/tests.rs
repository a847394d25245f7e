//! Tests of `[access]`: what the file may say, and what is said of mistakes.

use super::*;
use crate::who::Who;

#[derive(Deserialize)]
struct File {
    access: Config,
}

fn load(text: &str) -> Result<Config, String> {
    toml::from_str::<File>(text).map(|file| file.access).map_err(|error| error.to_string())
}

const WHOLE: &str = r#"
[access]
anonymous = "read"
socket = "/run/pvark/admin.sock"
limits = { requests_per_second = 50, burst = 200, long_answers = 16 }
[[access.grant]]
to = ["group:operators", "user:operator1", "token:ingest", "certificate:tools"]
right = "operate"
pvs = ["SR*", "~LAB:[A-Z]+"]
[access.proxy]
from = ["127.0.0.1/32"]
user = "X-Forwarded-User"
groups = "X-Forwarded-Groups"
[access.oidc]
issuer = "https://idp.lab.example/realms/lab"
client = "pvark"
audience = ["pvark"]
groups_claim = "groups"
algorithms = ["RS256", "ES256", "PS256", "EdDSA"]
[access.ldap]
url = "ldaps://ldap.lab.example"
user_dn = "uid={user},ou=people,dc=lab,dc=example"
groups = { base = "ou=groups,dc=lab,dc=example", filter = "(member={dn})", name = "cn" }
"#;

#[test]
fn everything_can_be_said_and_nothing_need_be() {
    let config = load(WHOLE).unwrap();
    assert_eq!(config.anonymous, Anonymous(Some(Right::Read)));
    assert_eq!(
        config.limits.unwrap(),
        Limits { requests_per_second: 50.0, burst: 200, long_answers: 16, answers_megabytes: None }
    );
    assert_eq!(config.grants[0].to[1], Subject::User("operator1".into()));
    assert_eq!(config.grants[0].to[3], Subject::Who(Who::parse("certificate:tools").unwrap()));
    assert_eq!(
        config.grants[0].to_string(),
        "to = [\"group:operators\", \"user:operator1\", \"token:ingest\", \"certificate:tools\"], \
         right = \"operate\", pvs = [\"SR*\", \"~LAB:[A-Z]+\"]"
    );
    assert_eq!(config.oidc.unwrap().user_claim, "sub");
    let nothing = load("[access]\n").unwrap();
    assert_eq!((nothing.anonymous, nothing.grants.len(), nothing.limits), (Anonymous(None), 0, None));
    let short = load("[[access.grant]]\nto = \"user:a\"\nright = \"read\"\n").unwrap();
    assert!(short.grants[0].scope.is_for_all());
}

/// Each mistake with what its text must say: where, which key, and what to write.
#[test]
fn a_mistake_names_its_line_its_key_and_what_to_write() {
    let grant = |lines: &str| format!("[access]\n[[access.grant]]\n{lines}");
    let oidc = |line: &str| {
        let (key, usual) =
            (line.split(' ').next().unwrap(), "issuer = \"https://i\"\nclient = \"c\"\naudience = \"a\"\n");
        let rest: Vec<&str> = usual.lines().filter(|other| !other.starts_with(key)).collect();
        format!("[access.oidc]\n{line}\n{}\n", rest.join("\n"))
    };
    let ldap = |lines: &str| format!("[access.ldap]\n{lines}\n");
    let proxy = |lines: &str| format!("[access.proxy]\n{lines}\n");
    let cases: Vec<(String, [&str; 3])> = vec![
        ("[access]\nanonymus = \"read\"\n".into(), ["line 2", "anonymus", "anonymous"]),
        ("[access]\nanonymous = \"all\"\n".into(), ["line 2", "anonymous = ", "\"none\""]),
        ("[access]\nanonymous = true\n".into(), ["line 2", "anonymous = ", "string"]),
        (
            "[access]\nlimits = { requests_per_second = 0, burst = 1, long_answers = 1 }\n".into(),
            ["line 2", "requests_per_second", "0.001"],
        ),
        (
            "[access]\nlimits = { requests_per_second = 1, burst = 0, long_answers = 1 }\n".into(),
            ["line 2", "burst", "from 1"],
        ),
        (grant("to = \"grup:x\"\nright = \"read\"\n"), ["line 2", "to = \"grup:x\"", "\"group:NAME\""]),
        (grant("to = []\nright = \"read\"\n"), ["line 2", "to is empty", "group:operators"]),
        (grant("to = \"user:\"\nright = \"read\"\n"), ["line 2", "to = \"user:\"", "\"user:NAME\""]),
        (grant("to = \"user:a\"\n"), ["line 2", "missing field", "right"]),
        (grant("to = \"user:a\"\nright = \"write\"\n"), ["line 4", "right = ", "\"operate\""]),
        (grant("to = \"user:a\"\nright = \"read\"\npv = \"A\"\n"), ["line 5", "pv", "pvs"]),
        (grant("to = \"user:a\"\nright = \"read\"\npvs = []\n"), ["line 2", "pvs is empty", "\"*\""]),
        (grant("to = \"user:a\"\nright = \"read\"\npvs = \"~(\"\n"), ["line 2", "pvs", "unclosed group"]),
        (
            grant("to = \"user:a\"\nright = \"read\"\npvs = \"SR*.HIHI\"\n"),
            ["line 2", "pvs = \"SR*.HIHI\"", "write \"SR*\""],
        ),
        (proxy("from = []\nuser = \"X-User\""), ["line 1", "from is empty", "127.0.0.1/32"]),
        (proxy("from = [\"localhost\"]\nuser = \"X-User\""), ["line 2", "localhost", "127.0.0.1/32"]),
        (proxy("from = [\"127.0.0.1\"]\nuser = \"Cookie\""), ["line 1", "user = \"Cookie\"", "X-Forwarded-User"]),
        (proxy("from = [\"127.0.0.1\"]\nuser = \"X-A\"\ngroups = \"x-a\""), ["line 1", "groups", "two"]),
        (oidc("issuer = \"http://idp.lab.example\""), ["line 1", "issuer = ", "https://"]),
        (oidc("issuer = \"https://me@idp.lab.example\""), ["line 1", "issuer = ", "https://"]),
        (oidc("audience = []"), ["line 1", "audience is empty", "[\"pvark\"]"]),
        (oidc("algorithms = [\"HS256\"]"), ["line 2", "algorithms", "ES256"]),
        (oidc("algorithms = [\"none\"]"), ["line 2", "algorithms", "ES256"]),
        (oidc("algorithms = []"), ["line 1", "algorithms is empty", "ES256"]),
        (ldap("url = \"ldap://ldap.lab.example\"\nuser_dn = \"uid={user}\""), ["line 1", "url = ", "ldaps://"]),
        (ldap("url = \"ldaps://l\"\nuser_dn = \"uid=x\""), ["line 1", "user_dn = ", "{user}"]),
        (ldap("url = \"ldaps://l\"\nstarttls = true\nuser_dn = \"uid={user}\""), ["line 1", "starttls", "leave"]),
        (
            ldap("url = \"ldaps://l\"\nuser_dn = \"uid={user}\"\ngroups = { base = \"b\", filter = \"(a=b)\" }"),
            ["line 1", "groups.filter", "(member={dn})"],
        ),
    ];
    for (text, parts) in cases {
        let error = load(&text).expect_err(&text);
        for part in parts {
            assert!(error.contains(part), "{part:?} is missing for\n{text}in: {error}");
        }
    }
}

#[test]
fn what_leads_to_this_machine_may_be_plain() {
    for url in ["ldap://127.0.0.1:46389", "ldap://[::1]:389", "ldap://localhost", "ldaps://ldap.lab.example:636"] {
        load(&format!("[access.ldap]\nurl = {url:?}\nuser_dn = \"uid={{user}}\"\n")).unwrap();
    }
    load("[access.ldap]\nurl = \"ldap://l\"\nstarttls = true\nuser_dn = \"uid={user}\"\n").unwrap();
    for url in ["ldap://localhost.evil.example", "ldap://127.0.0.1@evil.example", "ldap://127.0.0.1.evil.example"] {
        load(&format!("[access.ldap]\nurl = {url:?}\nuser_dn = \"uid={{user}}\"\n")).unwrap_err();
    }
}
