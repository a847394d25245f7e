//! `[cluster]`: which nodes record together, through which store they share what they have, and which PVs belong to which shard.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use archive::Fits;
use cluster::{Placement, Rule};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{Megabytes, Span};

/// More shards than this would have no numbers for their PVs, or nodes too many archives to hold open.
const SHARDS_MAX: u32 = 1024;
/// The longest address of a page.
const PAGE_BYTES_MAX: usize = 500;
/// What two nodes recorded is not put together more often than this.
const MERGE_EACH_MIN: Duration = Duration::from_secs(10);
/// So many shards a cluster has if nothing is said.
const SHARDS: u32 = 32;

checked_text!(Pattern(Fits), "a pattern of names with * and ?, or ~ and a regular expression", |text| {
    Fits::parse(text).ok()
});
checked_text!(Page(String), "an address as https://archiver1.example.org/, without ? and #", |text| {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let allowed = |char: char| char.is_ascii_graphic() && !matches!(char, '?' | '#' | '"' | '<' | '>' | '\\' | '@');
    let fits = rest.len() <= PAGE_BYTES_MAX && !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(allowed);
    fits.then(|| format!("{}/", text.trim_end_matches('/')))
});
checked_text!(Name(String), "a name of letters, digits, - and _, at most 40 of them", |text| {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    ((1..=40).contains(&text.len()) && text.bytes().all(allowed)).then(|| text.to_owned())
});

/// A cluster as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterFile {
    /// What the cluster is called: two of them in one store are told apart by it.
    name: Name,
    /// What this node is called; no other one of the cluster has that name.
    node: Name,
    /// Where the others reach the listener of [nodes]; its own address if nothing is said.
    address: Option<String>,
    /// Where people open the page of this node. While the one is away whose page they have open, it points them to this one.
    page: Option<Page>,
    /// In how many shards the PVs are divided, which never changes: 32 if nothing is said.
    #[serde(default = "usual_shards")]
    shards: u32,
    /// What two nodes recorded of a time of this length is put into one archive when it is over: a day if nothing is said.
    merge_each: Option<Span>,
    /// Megabytes of the own disk for what was read of segments in the store that all share; ten gigabytes if nothing is said.
    #[serde(default = "usual_cache")]
    cache_megabytes_max: Megabytes,
    /// The store that all nodes share.
    shared: SharedFile,
    /// Which PVs belong to which shard; the first that fits decides, and the device of all others.
    #[serde(default)]
    rule: Vec<RuleFile>,
}

fn usual_shards() -> u32 {
    SHARDS
}

fn usual_cache() -> Megabytes {
    Megabytes(10 << 10)
}

/// Which PVs belong to a shard, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    /// Their names.
    #[serde(rename = "match")]
    fits: Vec<Pattern>,
    /// The shard.
    shard: u32,
}

/// The shared store as it is written: one of these.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SharedFile {
    S3(S3File),
    Cql(CqlFile),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct S3File {
    /// The server, as `https://s3.example.org`; that of AWS in the region if nothing is said.
    endpoint: Option<String>,
    /// The region; servers of one's own take any word.
    #[serde(default = "usual_region")]
    region: String,
    /// The bucket, which is there already.
    bucket: String,
    /// The folder within it; the name of the cluster if nothing is said.
    folder: Option<Name>,
    /// Who asks.
    access_key: String,
    /// A file with the secret, which nobody but its user may read.
    secret_key_file: PathBuf,
}

fn usual_region() -> String {
    "us-east-1".to_owned()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CqlFile {
    /// Some nodes of the database, each `HOST:PORT`.
    nodes: Vec<String>,
    /// The keyspace, which is made if it is not there.
    keyspace: String,
    /// On how many nodes of the database everything lies, if the keyspace is to be made.
    #[serde(default = "usual_replication")]
    replication: u32,
    /// Whether the site accepts that nodes of the database acknowledge what is not on their disks yet.
    #[serde(default)]
    accept_unsynced: bool,
    /// Who asks; nobody in particular if nothing is said.
    user: Option<String>,
    /// A file with the password, which nobody but its user may read.
    password_file: Option<PathBuf>,
    /// TLS; without it everything is sent as it is.
    tls: Option<CqlTlsFile>,
}

/// TLS to the database as it is written: files in PEM.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CqlTlsFile {
    /// The authorities that have signed the certificates of its nodes.
    authority: PathBuf,
    /// The name that these certificates are for; the address of each node if nothing is said.
    name: Option<String>,
    /// The certificate that this node shows, and behind it those that lead to its authority.
    certificate: Option<PathBuf>,
    /// The key of that, which nobody but its user may read.
    key: Option<PathBuf>,
}

fn usual_replication() -> u32 {
    3
}

/// The cluster, checked.
#[derive(Clone, Debug)]
pub(crate) struct ClusterConfig {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) address: String,
    pub(crate) page: Option<String>,
    pub(crate) shards: u32,
    pub(crate) placement: Placement,
    pub(crate) merge_each: Duration,
    pub(crate) cache_bytes_max: u64,
    pub(crate) shared: SharedConfig,
}

/// The shared store, checked.
#[cfg_attr(
    not(all(feature = "s3", feature = "cql")),
    expect(dead_code, reason = "a store that the program was built without does not read what it is told")
)]
#[derive(Clone)]
pub(crate) enum SharedConfig {
    S3 {
        endpoint: Option<String>,
        region: String,
        bucket: String,
        folder: String,
        access_key: String,
        secret_key: String,
    },
    Cql {
        nodes: Vec<String>,
        keyspace: String,
        replication: u32,
        accepts_unsynced: bool,
        user: Option<(String, String)>,
        tls: Option<CqlTls>,
    },
}

/// TLS to a CQL database, checked: whom to believe, by which name, and the certificate and key to show.
#[cfg_attr(not(feature = "cql"), expect(dead_code, reason = "the program was built without CQL"))]
#[derive(Clone, Debug)]
pub(crate) struct CqlTls {
    pub(crate) authorities: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

/// Without secrets.
impl std::fmt::Debug for SharedConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SharedConfig::S3 { bucket, folder, .. } => write!(f, "folder {folder} of bucket {bucket}"),
            SharedConfig::Cql { nodes, keyspace, .. } => write!(f, "keyspace {keyspace} at {}", nodes.join(", ")),
        }
    }
}

/// What else the file says that matters to a cluster.
pub(super) struct Besides<'a> {
    pub(super) nodes: Option<&'a remote::ListenerConfig>,
    pub(super) has_places: bool,
    pub(super) has_old_archives: bool,
    pub(super) has_copies: bool,
    pub(super) is_durable: bool,
}

pub(super) fn checked(cluster: Option<ClusterFile>, besides: &Besides<'_>) -> Result<Option<ClusterConfig>, String> {
    let Some(cluster) = cluster else { return Ok(None) };
    let ClusterFile { name, node, address, page, shards, merge_each, cache_megabytes_max, shared, rule } = cluster;
    let refused = |what: &str, why: &str| Err(format!("[cluster] and {what} do not go together: {why}"));
    let Some(listener) = besides.nodes else {
        return Err(
            "[cluster] needs [nodes], where the other nodes reach this one: say `listen` and `key` there".to_owned()
        );
    };
    if besides.has_places {
        return refused("[[storage]]", "segments lie in the shared store, and go to no other place");
    }
    if besides.has_old_archives {
        return refused("[[old_archive]]", "read old archives by a pvark of their own");
    }
    if besides.has_copies {
        return refused("[[copy]]", "the nodes of a cluster read each other without it");
    }
    if !besides.is_durable {
        return refused("durable = \"off\"", "what is shipped to the shared store must be safe here first");
    }
    if !(1..=SHARDS_MAX).contains(&shards) {
        return Err(format!(
            "[cluster] has {shards} shards; between 1 and {SHARDS_MAX} are possible, and 32 are usual"
        ));
    }
    let merge_each = merge_each.map_or(Duration::from_secs(86_400), |span| span.0);
    if merge_each < MERGE_EACH_MIN {
        return Err(format!("[cluster] has merge_each = {merge_each:?}; 10s and more are possible, and 1d is usual"));
    }
    let rules = rule
        .into_iter()
        .flat_map(|RuleFile { fits, shard }| fits.into_iter().map(move |pattern| Rule { fits: pattern.0, shard }));
    let placement =
        Placement::new(shards, rules.collect()).map_err(|wrong| format!("[cluster] is not right: {wrong}"))?;
    if address.is_none() && listener.address.ip().is_unspecified() {
        return Err(format!(
            "[nodes] listens at {}, which tells other nodes nothing: say in [cluster] where they reach it, as address = \"archiver1:17670\"",
            listener.address
        ));
    }
    Ok(Some(ClusterConfig {
        address: address.unwrap_or_else(|| listener.address.to_string()),
        page: page.map(|page| page.0),
        shared: store(shared, &name.0)?,
        name: name.0,
        node: node.0,
        shards,
        placement,
        merge_each,
        cache_bytes_max: cache_megabytes_max.bytes() as u64,
    }))
}

fn store(shared: SharedFile, cluster: &str) -> Result<SharedConfig, String> {
    Ok(match shared {
        SharedFile::S3(S3File { endpoint, region, bucket, folder, access_key, secret_key_file }) => SharedConfig::S3 {
            folder: folder.map_or_else(|| cluster.to_owned(), |name| name.0),
            secret_key: secret(&secret_key_file)?,
            endpoint,
            region,
            bucket,
            access_key,
        },
        SharedFile::Cql(CqlFile { nodes, keyspace, replication, accept_unsynced, user, password_file, tls }) => {
            if nodes.is_empty() {
                return Err("[cluster.shared.cql] names no `nodes` of the database".to_owned());
            }
            let user = match (user, password_file) {
                (None, None) => None,
                (Some(user), Some(file)) => Some((user, secret(&file)?)),
                _ => {
                    return Err(
                        "[cluster.shared.cql] has one of `user` and `password_file`: say both, or none".to_owned()
                    );
                }
            };
            let tls = tls.map(CqlTlsFile::checked).transpose()?;
            SharedConfig::Cql { nodes, keyspace, replication, accepts_unsynced: accept_unsynced, user, tls }
        }
    })
}

impl CqlTlsFile {
    fn checked(self) -> Result<CqlTls, String> {
        let CqlTlsFile { authority, name, certificate, key } = self;
        let client = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                secret(&key)?;
                Some((certificate, key))
            }
            _ => {
                return Err(
                    "`tls` of [cluster.shared.cql] has one of `certificate` and `key`: say both, or none".to_owned()
                );
            }
        };
        Ok(CqlTls { authorities: authority, name, client })
    }
}

/// What a file holds that nobody else may read.
fn secret(file: &Path) -> Result<String, String> {
    let wrong = |why: String| format!("the file {} of [cluster] cannot be used: {why}", file.display());
    let mode = fs::metadata(file).map_err(|error| wrong(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong("others may read it; run chmod 600 on it".to_owned()));
    }
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let text = text.trim().to_owned();
    if text.is_empty() { Err(wrong("it is empty".to_owned())) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct One {
        cluster: ClusterFile,
    }

    fn read(text: &str, besides: &Besides<'_>) -> Result<ClusterConfig, String> {
        let one: One = toml::from_str(text).map_err(|error| error.to_string())?;
        checked(Some(one.cluster), besides).map(|cluster| cluster.expect("there is one"))
    }

    #[test]
    fn a_cluster_is_read_and_each_mistake_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its owner may");
            path
        };
        let key = remote::Key::read(&file("key", "0123456789abcdef0123456789abcdef", 0o600)).expect("a key");
        let at = |address: &str| remote::ListenerConfig {
            address: address.parse().expect("an address"),
            key: key.clone(),
            run: 1,
            program: "0".to_owned(),
        };
        let listener = at("127.0.0.1:17670");
        let fine = || Besides {
            nodes: Some(&listener),
            has_places: false,
            has_old_archives: false,
            has_copies: false,
            is_durable: true,
        };
        let secret = file("secret", "s3cr3t\n", 0o600);
        let text = format!(
            "[cluster]\nname = \"ring\"\nnode = \"a\"\nshards = 4\n[[cluster.rule]]\nmatch = [\"SR*\"]\nshard = 3\n\
             [cluster.shared.s3]\nbucket = \"archive\"\naccess_key = \"k\"\nsecret_key_file = {secret:?}\n"
        );
        let ring = read(&text, &fine()).expect("it is right");
        assert_eq!((ring.address.as_str(), ring.placement.shard_of("SR:x")), ("127.0.0.1:17670", 3));
        assert_eq!(ring.merge_each, Duration::from_secs(86_400));
        assert!(
            matches!(&ring.shared, SharedConfig::S3 { folder, secret_key, .. } if folder == "ring" && secret_key == "s3cr3t")
        );
        assert!(!format!("{ring:?}").contains("s3cr3t"), "secrets are not printed");
        let shown = read(&text.replace("shards = 4", "shards = 4\npage = \"https://a.example.org\""), &fine());
        assert_eq!(shown.expect("it is right").page.as_deref(), Some("https://a.example.org/"));
        let open = file("open", "x", 0o644);
        let cases = [
            (text.replace("shards = 4", "shards = 3"), "shards 0 to 2"),
            (text.replace("shards = 4", "shards = 5000"), "between 1 and 1024"),
            (text.replace("node = \"a\"", "node = \"a b\""), "letters, digits"),
            (text.replace("shards = 4", "shards = 4\npage = \"javascript:alert(1)\""), "an address as https://"),
            (text.replace("shards = 4", "shards = 4\npage = \"https://a/?pv=x\""), "without ? and #"),
            (text.replace("secret\"", "nowhere\""), "cannot be used"),
            (text.replace(&format!("{secret:?}"), &format!("{open:?}")), "chmod 600"),
            (text.replace("shards = 4", "shards = 4\nmerge_each = \"3s\""), "10s and more"),
            (text.replace("shared.s3", "shared.tape"), "unknown variant"),
            (text.replace("bucket = ", "bukket = "), "bukket"),
        ];
        for (text, told) in cases {
            let error = read(&text, &fine()).expect_err(told);
            assert!(error.contains(told), "{told:?} is missing in: {error}");
        }
        let anywhere = at("0.0.0.0:17670");
        let cases = [
            (Besides { nodes: None, ..fine() }, "needs [nodes]"),
            (Besides { nodes: Some(&anywhere), ..fine() }, "say in [cluster] where they reach it"),
            (Besides { has_places: true, ..fine() }, "[[storage]]"),
            (Besides { has_old_archives: true, ..fine() }, "[[old_archive]]"),
            (Besides { has_copies: true, ..fine() }, "[[copy]]"),
            (Besides { is_durable: false, ..fine() }, "durable"),
        ];
        for (besides, told) in cases {
            let error = read(&text, &besides).expect_err(told);
            assert!(error.contains(told), "{told:?} is missing in: {error}");
        }
    }

    #[test]
    fn a_site_may_accept_that_its_database_syncs_later() {
        #[derive(Deserialize)]
        struct One {
            shared: SharedFile,
        }
        let on_cql = |more: &str| {
            let text = format!("[shared.cql]\nnodes = [\"db1:9042\"]\nkeyspace = \"pvark\"\n{more}");
            let One { shared } = toml::from_str(&text).expect("it can be read");
            store(shared, "ring").expect("it is right")
        };
        assert!(matches!(on_cql(""), SharedConfig::Cql { replication: 3, accepts_unsynced: false, .. }));
        assert!(matches!(on_cql("accept_unsynced = true\n"), SharedConfig::Cql { accepts_unsynced: true, .. }));
    }
}
