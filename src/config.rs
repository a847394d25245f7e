//! The config file: TOML in, a checked `Config` out. Every key has a default, and a mistake is told with its line.

use std::{
    fmt, fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use archive::{Group, Policies, Protocol};
use epics::addr::{self, AddrError};
use sample::{ZoneName, parse_span};
use serde::{Deserialize, Deserializer, de::Error as _};

use self::{
    listeners::{ListenerTables, Wrong},
    policies::{GroupTables, Mistake, PolicyTables},
};
use crate::cli::{LogFormat, Run};

/// Reads a text and checks it, so that a mistake is reported with the line of its key.
macro_rules! checked_text {
    ($name:ident($inner:ty), $expected:literal, $parse:expr) => {
        #[derive(Clone, Debug)]
        struct $name($inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                let parse: fn(&str) -> Option<$inner> = $parse;
                parse(&text)
                    .map($name)
                    .ok_or_else(|| D::Error::custom(format!("found {text:?}, expected {}", $expected)))
            }
        }
    };
}

mod cluster;
mod listeners;
mod nodes;
mod policies;

pub(crate) use cluster::{ClusterConfig, SharedConfig};

/// Where the archiver listens if nothing is said.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 17665);

/// All that the program needs to run.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) web: web::Config,
    pub(crate) log_format: LogFormat,
    pub(crate) store: store::Config,
    pub(crate) acquire: acquire::Config,
    pub(crate) old_archives: Vec<OldArchive>,
    /// Other recorders of the same PVs, whose samples are read together with those of this one.
    pub(crate) copies: Vec<remote::RemoteConfig>,
    /// Where other nodes are answered.
    pub(crate) nodes: Option<remote::ListenerConfig>,
    /// With which nodes this one records together; none: it is an archive of its own.
    pub(crate) cluster: Option<ClusterConfig>,
    /// Who may do what; without it everybody may do everything.
    pub(crate) access: Option<access::Config>,
    /// Where that was read, to be read anew.
    pub(crate) file: Option<PathBuf>,
}

/// Why there is no config.
#[derive(Debug)]
pub(crate) enum ConfigError {
    Unreadable { file: PathBuf, source: io::Error },
    Broken { file: PathBuf, source: Box<toml::de::Error> },
    Table { file: PathBuf, line: usize, wrong: String },
    Address(AddrError),
    Listen { text: String },
    Open { address: SocketAddr },
    TwoWays,
    Storage { name: String, wrong: &'static str },
    Retention { wrong: String },
    Nodes { wrong: String },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Unreadable { file, source } => {
                write!(f, "cannot read the config file {}: {source}", file.display())
            }
            ConfigError::Broken { file, source } => {
                write!(f, "the config file {} is not right: {source}", file.display())
            }
            ConfigError::Table { file, line, wrong } => {
                write!(f, "the config file {} is not right at line {line}: {wrong}", file.display())
            }
            ConfigError::Address(error) => write!(f, "{error}"),
            ConfigError::Storage { name, wrong } => {
                write!(f, "the place {name:?} of [[storage]] is not right: {wrong}")
            }
            ConfigError::Retention { wrong } => write!(f, "[retention] is not right: {wrong}"),
            ConfigError::Nodes { wrong } => f.write_str(wrong),
            ConfigError::Open { address } => write!(
                f,
                "whoever reaches {address} could do everything, as nothing says what clients may do; put [access] and below it \
                 anonymous = \"read\" (or \"operate\", or \"administer\" for everything) into the config file, or listen on 127.0.0.1"
            ),
            ConfigError::TwoWays => f.write_str(
                "there is `listen` and there is [[listener]]; put the address of `listen` into one of these",
            ),
            ConfigError::Listen { text } => write!(f, "listen is {text:?}, expected ADDR:PORT like 127.0.0.1:17665"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<AddrError> for ConfigError {
    fn from(error: AddrError) -> ConfigError {
        ConfigError::Address(error)
    }
}

/// The file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// Where to listen for clients, "127.0.0.1:17665" if nothing is said; `listener` says more.
    listen: Option<Listen>,
    /// Where to listen, at several places or by TLS, and who may do what there at most.
    listener: ListenerTables,
    /// What may be done by whom.
    access: Option<access::Config>,
    /// By which names clients come, besides addresses, `localhost` and the names of this machine; others are refused.
    hosts: Vec<Host>,
    /// The zone in which people of the site read times, by its name in the IANA database; it is offered beside UTC.
    zone: Option<Zone>,
    /// The signs at which names are split for the tree of names, one to eight, such as ":-".
    name_separators: SignsOfNames,
    /// Folder of the archive.
    data: PathBuf,
    /// How long samples may be in memory only: a time, or "off" to leave it to the operating system.
    durable: Durable,
    /// Protocol of PVs added without `ca://` or `pva://`.
    default_protocol: ProtocolName,
    /// Whether PVs that are added are asked for the name of their record, so that aliases of IOCs are not recorded twice.
    resolve_aliases: bool,
    /// Lines for people ("text") or one JSON object a line ("json").
    log_format: LogFormatName,
    /// Megabytes of samples that may wait for the disk before any is dropped, and counted.
    queue_megabytes_max: Megabytes,
    /// Megabytes of recent samples in memory before they are packed into blocks.
    head_megabytes_max: Megabytes,
    /// Megabytes that large messages of all IOCs may take while they arrive, and the last values of pvAccess, of which only changes come;
    /// for each of the two protocols.
    messages_megabytes_max: Megabytes,
    /// Megabytes that requests and answers of all clients together may take.
    answers_megabytes_max: Megabytes,
    /// Megabytes of disk kept back, so that recording goes on for a while when the disk is full.
    reserve_megabytes: Megabytes,
    /// The longest time until recent samples are packed into blocks.
    flush_after: Span,
    /// How fast segments are read in the background to find damage: "20 MB/s", a time for all of them like "30d", or "off".
    scrub: Scrub,
    /// Where sealed segments go later, in this order.
    storage: Vec<StoragePlace>,
    /// How long what was recorded is kept.
    retention: RetentionRule,
    /// Files of many PVs that are made while nobody waits.
    exports: ExportsRule,
    /// What clients of the Archiver Appliance are told of this archiver.
    appliance: Appliance,
    /// Archives of other archivers, which are read where they lie.
    old_archive: Vec<OldArchive>,
    /// Where other nodes that have the same key read what this one recorded.
    nodes: Option<nodes::NodesFile>,
    /// Nodes that record together, each some of the PVs, and share all of it.
    cluster: Option<cluster::ClusterFile>,
    /// Other archivers that record the same PVs: what is read of a PV is what both have.
    copy: Vec<nodes::CopyFile>,
    /// How PVs are archived by their names; the first that fits decides.
    policy: PolicyTables,
    /// PVs that are recorded only while others say so.
    group: GroupTables,
    /// Channel Access: how PVs are searched. Replaces the EPICS_CA_* variables.
    ca: Ca,
    /// pvAccess: how PVs are searched. Replaces the EPICS_PVA_* variables.
    pva: Pva,
}

impl Default for File {
    fn default() -> File {
        File {
            listen: None,
            listener: Vec::new(),
            access: None,
            hosts: Vec::new(),
            zone: None,
            name_separators: SignsOfNames(service::Separators::default()),
            data: PathBuf::from("pvark-data"),
            durable: Durable(store::Durable::Every(Duration::from_secs(1))),
            default_protocol: ProtocolName(Protocol::Ca),
            resolve_aliases: true,
            log_format: LogFormatName(LogFormat::Text),
            queue_megabytes_max: Megabytes(256),
            head_megabytes_max: Megabytes(256),
            messages_megabytes_max: Megabytes(512),
            answers_megabytes_max: Megabytes(256),
            reserve_megabytes: Megabytes(256),
            flush_after: Span(Duration::from_secs(3600)),
            scrub: Scrub(store::Scrub::Pass(Duration::from_secs(30 * 86_400))),
            storage: Vec::new(),
            retention: RetentionRule::default(),
            exports: ExportsRule::default(),
            appliance: Appliance::default(),
            old_archive: Vec::new(),
            nodes: None,
            cluster: None,
            copy: Vec::new(),
            policy: Vec::new(),
            group: Vec::new(),
            ca: Ca::default(),
            pva: Pva::default(),
        }
    }
}

/// A place besides the folder of the archive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoragePlace {
    /// The name by which the archive knows it. Must stay the same; the folder may change.
    name: PlaceName,
    /// Where it is.
    folder: PathBuf,
    /// How long after the end of its week (or day) a segment comes here.
    after: Span,
    /// At most so much is copied there each second.
    megabytes_per_second: Option<u32>,
    /// Whoever reads there waits for an answer so long and no longer, 10 s if nothing is said.
    answers_within: Option<Span>,
}

/// Exports lie in the folder `exports` within that of the archive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ExportsRule {
    /// Megabytes that all of them together may take on the disk; one principal has at most half of that.
    megabytes_max: Megabytes,
    /// Megabytes of the disk that they leave free for recording, whatever else they may take; a tenth of the disk if nothing is said.
    free_megabytes_min: Option<Megabytes>,
    /// How long a file can be fetched after it was made.
    keep: Span,
    /// How many may be under way, and how many of one principal.
    jobs_max: usize,
    jobs_each_max: usize,
}

impl Default for ExportsRule {
    fn default() -> ExportsRule {
        let usual = web::ExportsConfig::default();
        ExportsRule {
            megabytes_max: Megabytes((usual.bytes_max >> 20) as usize),
            free_megabytes_min: None,
            keep: Span(usual.keep),
            jobs_max: usual.jobs_max,
            jobs_each_max: usual.jobs_each_max,
        }
    }
}

impl ExportsRule {
    fn within(self, folder: &Path) -> web::ExportsConfig {
        web::ExportsConfig {
            folder: Some(folder.join("exports")),
            bytes_max: self.megabytes_max.bytes() as u64,
            free_min: self.free_megabytes_min.map(|free| free.bytes() as u64),
            keep: self.keep.0,
            jobs_max: self.jobs_max,
            jobs_each_max: self.jobs_each_max,
            ..web::ExportsConfig::default()
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RetentionRule {
    /// Of all PVs that no rule names.
    keep: Keep,
    /// The first that fits a PV decides.
    rules: Vec<KeepRule>,
    /// How long what somebody deleted can come back before it is purged; without it until somebody purges it.
    purge_after: Option<Span>,
}

impl Default for RetentionRule {
    fn default() -> RetentionRule {
        RetentionRule { keep: Keep(None), rules: Vec::new(), purge_after: None }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepRule {
    /// Names of PVs, or of fields of structures behind a point, with `*` and `?`.
    pvs: String,
    /// How long they are kept.
    keep: Keep,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Appliance {
    /// Under which name it stands where the Appliance names its members: "appliance0" if nothing is said.
    identity: Option<String>,
    /// Where clients find it, as "http://HOST:PORT"; without it where they came.
    url: Option<String>,
    /// What is said of the port of a cluster, where the Appliance's members find each other; without it host and port of `url`.
    cluster_inetport: Option<String>,
    /// The version that is said, for clients that look for one of the Appliance.
    version: Option<String>,
    /// "one", or "four": it listens on the three ports behind that of `listen` too, as where the Appliance's parts are servers of
    /// their own.
    ports: Ports,
}

/// On how many ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ports {
    #[default]
    One,
    Four,
}

impl Appliance {
    fn told(self) -> web::Appliance {
        let usual = web::Appliance::default();
        web::Appliance {
            identity: self.identity.unwrap_or(usual.identity),
            url: self.url.map(|url| url.trim_end_matches('/').to_owned()),
            cluster_inetport: self.cluster_inetport,
            version: self.version.unwrap_or(usual.version),
            ports: match self.ports {
                Ports::One => web::Ports::One,
                Ports::Four => web::Ports::Four,
            },
        }
    }
}

/// An archive of another archiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OldArchive {
    /// What wrote it: "plainpb" stands for a store of the Archiver Appliance.
    pub(crate) kind: OldKind,
    /// Its root folder: one of the Appliance's stores (short, medium or long term), each as an entry of its own.
    pub(crate) path: PathBuf,
    /// JSON of PVTypeInfos, as the Appliance's `exportConfig` gives it, for units and limits that its files do not hold.
    pub(crate) type_info: Option<PathBuf>,
    /// JSON of other names of its PVs, as the Appliance's `getAllAliases` gives it.
    pub(crate) aliases: Option<PathBuf>,
}

/// What wrote an old archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OldKind {
    PlainPb,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Ca {
    /// Hosts to ask, each `HOST` or `HOST:PORT` (EPICS_CA_ADDR_LIST).
    address_list: Option<Vec<Address>>,
    /// Whether to ask on every interface by broadcast as well (EPICS_CA_AUTO_ADDR_LIST).
    auto_address_list: Option<bool>,
    /// UDP port of servers that are listed without one (EPICS_CA_SERVER_PORT).
    server_port: Option<u16>,
    /// UDP port of the CA repeater (EPICS_CA_REPEATER_PORT).
    repeater_port: Option<u16>,
    /// Servers that answer searches by TCP (EPICS_CA_NAME_SERVERS).
    name_servers: Option<Vec<Address>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Pva {
    /// Hosts to ask, each `HOST` or `HOST:PORT` (EPICS_PVA_ADDR_LIST).
    address_list: Option<Vec<Address>>,
    /// Whether to ask on every interface by broadcast as well (EPICS_PVA_AUTO_ADDR_LIST).
    auto_address_list: Option<bool>,
    /// UDP port of servers that are listed without one (EPICS_PVA_BROADCAST_PORT).
    broadcast_port: Option<u16>,
    /// TCP port of name servers that are listed without one (EPICS_PVA_SERVER_PORT).
    server_port: Option<u16>,
    /// Servers that answer searches by TCP (EPICS_PVA_NAME_SERVERS).
    name_servers: Option<Vec<Address>>,
}

impl Config {
    /// Reads the file, if there is one, and lets the command line have the last word. `env` looks up a variable.
    /// What a file says of who may do what.
    pub(crate) fn access_of(path: &Path) -> Result<Option<access::Config>, ConfigError> {
        Ok(Read::from(path)?.file.access)
    }

    pub(crate) fn load(options: &Run, env: impl Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
        let Read { file, policies, groups, listeners } = match &options.config {
            None => Read::default(),
            Some(path) => Read::from(path)?,
        };
        let listeners = match &options.listen {
            None => {
                let listen = file.listen.as_ref().map(|listen| listen.0);
                listeners::listeners(listen, file.hosts, listeners, file.access.as_ref())
            }
            Some(text) => {
                let address = text.parse().map_err(|_| ConfigError::Listen { text: text.clone() })?;
                listeners::listeners(Some(address), file.hosts, Vec::new(), file.access.as_ref())
            }
        };
        let listeners = listeners.map_err(|wrong| match wrong {
            Wrong::Open(address) => ConfigError::Open { address },
            Wrong::Both => ConfigError::TwoWays,
        })?;
        let folder = options.data.clone().unwrap_or_else(|| file.data.clone());
        let places = places(&folder, &file.storage)?;
        let nodes = nodes::checked(file.nodes, file.copy, &listeners).map_err(|wrong| ConfigError::Nodes { wrong })?;
        let besides = cluster::Besides {
            nodes: nodes.listener.as_ref(),
            has_places: !places.is_empty(),
            has_old_archives: !file.old_archive.is_empty(),
            has_copies: !nodes.copies.is_empty(),
            is_durable: file.durable.0 != store::Durable::Off,
        };
        let cluster = cluster::checked(file.cluster, &besides).map_err(|wrong| ConfigError::Nodes { wrong })?;
        if cluster.is_none() {
            policies::of_one_machine(&policies).map_err(|wrong| ConfigError::Nodes { wrong })?;
        }
        let messages_bytes_max = file.messages_megabytes_max.bytes();
        Ok(Config {
            web: web::Config {
                policies: policies_of(options.config.clone()),
                appliance: file.appliance.told(),
                answers_bytes_max: file.answers_megabytes_max.bytes(),
                listeners,
                exports: file.exports.within(&folder),
                ..at_site(file.zone, file.name_separators)
            },
            log_format: options.log_format.unwrap_or(file.log_format.0),
            store: store::Config {
                durable: file.durable.0,
                head_bytes_max: file.head_megabytes_max.bytes(),
                reserve_bytes: file.reserve_megabytes.bytes() as u64,
                flush_after: file.flush_after.0,
                scrub: file.scrub.0,
                places,
                purge_after: file.retention.purge_after.as_ref().map(|span| span.0),
                retention: file.retention.checked()?,
                ..store::Config::new(folder)
            },
            acquire: acquire::Config {
                default_protocol: file.default_protocol.0,
                resolve_aliases: file.resolve_aliases,
                queue_bytes_max: file.queue_megabytes_max.bytes(),
                policies,
                groups,
                ca: epics::ca::Config { messages_bytes_max, ..file.ca.over(epics::ca::Config::from_env(&env)?)? },
                pva: epics::pva::Config { messages_bytes_max, ..file.pva.over(epics::pva::Config::from_env(&env)?)? },
            },
            old_archives: file.old_archive,
            copies: nodes.copies,
            nodes: nodes.listener,
            cluster,
            access: file.access,
            file: options.config.clone(),
        })
    }
}

/// What was read of a file.
#[derive(Default)]
struct Read {
    file: File,
    policies: Policies,
    groups: Vec<Group>,
    listeners: Vec<web::Listener>,
}

impl Read {
    /// The file with what its tables of policies, groups and listeners say.
    fn from(path: &Path) -> Result<Read, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { file: path.to_owned(), source })?;
        let mut file: File = toml::from_str(&text)
            .map_err(|source| ConfigError::Broken { file: path.to_owned(), source: Box::new(source) })?;
        let mistake = |Mistake { offset, wrong }| {
            let line = text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
            ConfigError::Table { file: path.to_owned(), line, wrong }
        };
        let policies = policies::policies(&file.policy).map_err(mistake)?;
        let groups = policies::groups(&file.group).map_err(mistake)?;
        let listeners = listeners::all(std::mem::take(&mut file.listener)).map_err(mistake)?;
        Ok(Read { file, policies, groups, listeners })
    }
}

/// Reads the policies and groups of the file as they are when they are asked for.
fn policies_of(path: Option<PathBuf>) -> web::PolicySource {
    let read = |path: &Path| {
        let Read { file, policies, groups, .. } = Read::from(path).map_err(|error| error.to_string())?;
        if file.cluster.is_none() {
            policies::of_one_machine(&policies)?;
        }
        Ok(web::FileRules { policies, groups })
    };
    path.map_or_else(web::PolicySource::default, |path| web::PolicySource::new(move || read(&path)))
}

/// The places, if segments can go through them in that order.
fn places(data: &Path, storage: &[StoragePlace]) -> Result<Vec<store::Place>, ConfigError> {
    for (index, place) in storage.iter().enumerate() {
        let earlier = &storage[..index];
        let wrong = if place.folder == data {
            "this is the folder of the archive itself"
        } else if earlier.iter().any(|other| other.name.0 == place.name.0) {
            "another place has this name"
        } else if earlier.iter().any(|other| other.folder == place.folder) {
            "another place has this folder"
        } else if earlier.iter().any(|other| other.after.0 >= place.after.0) {
            "segments would come here before they come to the place above; put places in the order of `after`"
        } else {
            continue;
        };
        return Err(ConfigError::Storage { name: place.name.0.clone(), wrong });
    }
    let place = |place: &StoragePlace| store::Place {
        name: place.name.0.clone(),
        folder: place.folder.clone(),
        after: place.after.0,
        megabytes_per_second: place.megabytes_per_second,
        answers_within: place.answers_within.as_ref().map_or(store::Place::ANSWERS_WITHIN, |span| span.0),
    };
    Ok(storage.iter().map(place).collect())
}

impl RetentionRule {
    fn checked(self) -> Result<store::Retention, ConfigError> {
        let rule = |rule: KeepRule| store::Rule { pvs: rule.pvs, keep: rule.keep.0 };
        let retention = store::Retention { keep: self.keep.0, rules: self.rules.into_iter().map(rule).collect() };
        match retention.mistake() {
            Some(wrong) => Err(ConfigError::Retention { wrong }),
            None => Ok(retention),
        }
    }
}

impl Ca {
    /// What the file says goes before what the environment says.
    fn over(self, mut config: epics::ca::Config) -> Result<epics::ca::Config, AddrError> {
        if let Some(port) = self.server_port {
            config.server_port = port;
        }
        if let Some(port) = self.repeater_port {
            config.repeater_port = port;
        }
        if let Some(list) = self.address_list {
            config.addresses = Address::list("ca.address_list", &list, config.server_port)?;
            config.auto_addresses = false;
        }
        if let Some(auto) = self.auto_address_list {
            config.auto_addresses = auto;
        }
        if let Some(list) = self.name_servers {
            config.name_servers = Address::list("ca.name_servers", &list, config.server_port)?;
        }
        Ok(config)
    }
}

impl Pva {
    /// What the file says goes before what the environment says.
    fn over(self, mut config: epics::pva::Config) -> Result<epics::pva::Config, AddrError> {
        if let Some(port) = self.broadcast_port {
            config.broadcast_port = port;
        }
        if let Some(port) = self.server_port {
            config.server_port = port;
        }
        if let Some(list) = self.address_list {
            config.addresses = Address::list("pva.address_list", &list, config.broadcast_port)?;
            config.auto_addresses = false;
        }
        if let Some(auto) = self.auto_address_list {
            config.auto_addresses = auto;
        }
        if let Some(list) = self.name_servers {
            config.name_servers = Address::list("pva.name_servers", &list, config.server_port)?;
        }
        Ok(config)
    }
}

checked_text!(Listen(SocketAddr), "ADDR:PORT like \"127.0.0.1:17665\"", |text| text.parse().ok());
checked_text!(
    Host(web::HostName),
    "a name like \"archiver.lab.example\", without http:// and without a port",
    web::HostName::new
);
/// The defaults where people read times in that zone, and names are split so.
fn at_site(zone: Option<Zone>, separators: SignsOfNames) -> web::Config {
    web::Config { zone: zone.map(|zone| zone.0), separators: separators.0, ..web::Config::new(LISTEN) }
}

checked_text!(
    SignsOfNames(service::Separators),
    "one to eight signs like \":\" or \":-\", no letters, digits or blanks",
    service::Separators::new
);
checked_text!(Zone(ZoneName), "a zone of the IANA database like \"Europe/Stockholm\"", ZoneName::new);
checked_text!(Span(Duration), "a time like \"10min\", \"90s\" or \"1h\"", parse_span);
checked_text!(Keep(Option<Duration>), "a time like \"90d\" or \"10y\", or \"forever\"", |text| match text {
    "forever" => Some(None),
    _ => parse_span(text).map(Some),
});
checked_text!(PlaceName(String), "a name of letters, digits, - and _", |text| {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!text.is_empty() && text.chars().all(fits)).then(|| text.to_owned())
});
checked_text!(Durable(store::Durable), "a time like \"20ms\" or \"1s\", or \"off\"", |text| match text {
    "off" => Some(store::Durable::Off),
    _ => parse_span(text).map(store::Durable::Every),
});
checked_text!(Scrub(store::Scrub), "a rate like \"20 MB/s\", a time like \"30d\", or \"off\"", |text| match text {
    "off" => Some(store::Scrub::Off),
    _ => match text.strip_suffix("MB/s") {
        Some(rate) => {
            let rate = rate.trim().parse::<u64>().ok().filter(|rate| (1..=100_000).contains(rate))?;
            Some(store::Scrub::Rate(rate * 1_000_000))
        }
        None => parse_span(text).map(store::Scrub::Pass),
    },
});
checked_text!(ProtocolName(Protocol), "\"ca\" or \"pva\"", Protocol::from_name);
checked_text!(LogFormatName(LogFormat), "\"text\" or \"json\"", |text| match text {
    "text" => Some(LogFormat::Text),
    "json" => Some(LogFormat::Json),
    _ => None,
});

checked_text!(Address(String), "HOST or HOST:PORT", |text| {
    addr::parse_list("", text, 1).is_ok_and(|list| list.len() == 1).then(|| text.to_owned())
});

impl Address {
    fn list(key: &str, addresses: &[Address], port: u16) -> Result<Vec<SocketAddr>, AddrError> {
        let parsed: Result<Vec<_>, _> =
            addresses.iter().map(|address| addr::parse_list(key, &address.0, port)).collect();
        Ok(parsed?.concat())
    }
}

/// From 1 to a million.
#[derive(Clone, Debug)]
struct Megabytes(usize);

impl Megabytes {
    fn bytes(&self) -> usize {
        self.0 << 20
    }
}

impl<'de> Deserialize<'de> for Megabytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Megabytes, D::Error> {
        let number = i64::deserialize(deserializer)?;
        let fits = usize::try_from(number).ok().filter(|n| (1..=1_000_000).contains(n));
        fits.map(Megabytes).ok_or_else(|| {
            D::Error::custom(format!("found {number}, expected a number of megabytes from 1 to 1000000"))
        })
    }
}

#[cfg(test)]
mod tests {
    use archive::Right;

    use super::*;

    fn load(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pvark.toml");
        fs::write(&path, text).unwrap();
        Config::load(&Run { config: Some(path), ..Run::default() }, |_| None)
    }

    fn at(address: &str) -> web::Listener {
        web::Listener::new(web::At::Address(address.parse().unwrap()))
    }

    #[test]
    fn listeners_have_rights_names_sites_and_tls() {
        let text = "hosts = [\"archiver\"]\n[[listener]]\naddress = \"127.0.0.1:1\"\n\
                    tls = { certificate = \"/c\", key = \"/k\", client_ca = \"/a\", client_certificate = \"required\", client_name = \"SAN\", crl = \"/r\" }\n\
                    [[listener]]\naddress = \"127.0.0.1:2\"\nrights = \"read\"\nhosts = [\"office\"]\norigins = [\"https://viewer\"]\n\
                    [access]\nanonymous = \"read\"\nsocket = \"/run/pvark.sock\"\n";
        let name = |name| web::HostName::new(name).unwrap();
        let clients = web::ClientCertificates {
            authorities: "/a".into(),
            revoked: Some("/r".into()),
            certificate: web::ClientCertificate::Required,
            name: web::ClientName::Alternative,
        };
        let tls = web::Tls { certificate: "/c".into(), key: "/k".into(), clients: Some(clients) };
        let (hosts, sites) = (vec![name("office"), name("archiver")], vec![web::Site::new("https://viewer").unwrap()]);
        let expected = vec![
            web::Listener { hosts: vec![name("archiver")], tls: Some(tls), ..at("127.0.0.1:1") },
            web::Listener { rights: Right::Read, hosts, sites, ..at("127.0.0.1:2") },
            web::Listener::new(web::At::Socket("/run/pvark.sock".into())),
        ];
        assert_eq!(load(text).unwrap().web.listeners, expected);
    }

    #[test]
    fn nobody_listens_to_the_network_without_a_line_that_says_what_clients_may_do() {
        for text in [
            "listen = \"0.0.0.0:17665\"\n",
            "listen = \"[::]:17665\"\n",
            "[[listener]]\naddress = \"127.0.0.1:1\"\n[[listener]]\naddress = \"10.0.0.1:1\"\nrights = \"read\"\n",
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains("[access]") && error.contains("anonymous = \"read\""), "{error}");
            let config = load(&format!("{text}[access]\nanonymous = \"read\"\n")).unwrap();
            assert_eq!(config.access.unwrap().anonymous.0, Some(Right::Read));
        }
        let options = Run { listen: Some("0.0.0.0:1".to_owned()), ..Run::default() };
        assert!(matches!(Config::load(&options, |_| None), Err(ConfigError::Open { .. })));
    }

    #[test]
    fn without_a_file_everything_has_a_default() {
        let config = Config::load(&Run::default(), |_| None).unwrap();
        assert_eq!(
            (config.web.listeners, config.store.folder),
            (vec![at("127.0.0.1:17665")], PathBuf::from("pvark-data"))
        );
    }

    #[test]
    fn the_file_is_heard_and_the_command_line_has_the_last_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pvark.toml");
        fs::write(
            &path,
            "listen = \"127.0.0.1:1\"\ndata = \"/a\"\ndurable = \"20ms\"\n[ca]\naddress_list = [\"127.0.0.1:9\"]\n",
        )
        .unwrap();
        let options = Run { config: Some(path), data: Some("/b".into()), ..Run::default() };
        let env = |key: &str| (key == "EPICS_CA_ADDR_LIST").then(|| "127.0.0.1:8".to_owned());
        let config = Config::load(&options, env).unwrap();
        assert_eq!((config.web.listeners, config.store.folder), (vec![at("127.0.0.1:1")], PathBuf::from("/b")));
        assert_eq!(config.store.durable, store::Durable::Every(Duration::from_millis(20)));
        assert_eq!(config.acquire.ca.addresses, ["127.0.0.1:9".parse().unwrap()]);
    }

    #[test]
    fn places_and_times_to_keep_are_read() {
        let config = load(
            "[[storage]]\nname = \"long\"\nfolder = \"/mnt/lts\"\nafter = \"30d\"\nmegabytes_per_second = 50\nanswers_within = \"3s\"\n\
             [retention]\nkeep = \"10y\"\nrules = [{ pvs = \"A:*\", keep = \"forever\" }, { pvs = \"*\", keep = \"1w\" }]\n",
        );
        let store = config.unwrap().store;
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let (name, folder, after) = ("long".to_owned(), "/mnt/lts".into(), days(30));
        let answers_within = Duration::from_secs(3);
        assert_eq!(
            store.places,
            [store::Place { name, folder, after, megabytes_per_second: Some(50), answers_within }]
        );
        let rule = |pvs: &str, keep| store::Rule { pvs: pvs.to_owned(), keep };
        let rules = vec![rule("A:*", None), rule("*", Some(days(7)))];
        assert_eq!(store.retention, store::Retention { keep: Some(days(3660)), rules });
    }

    #[test]
    fn a_rule_for_a_field_that_could_never_decide_is_refused() {
        let rules = |rules: &str| load(&format!("[retention]\nrules = [{rules}]\n"));
        let field = "{ pvs = \"X.value.wave\", keep = \"1w\" }";
        let error = rules(&format!("{{ pvs = \"X\", keep = \"forever\" }}, {field}")).unwrap_err().to_string();
        assert!(error.contains("[retention]") && error.contains("\"X\" stands before it"), "{error}");
        let whole = rules(&format!("{field}, {{ pvs = \"X\", keep = \"forever\" }}")).unwrap().store.retention;
        assert_eq!(whole.rules[0].pvs, "X.value.wave");
    }

    #[test]
    fn places_that_cannot_be_gone_through_in_order_are_refused() {
        let place = |name: &str, folder: &str, after: &str| {
            format!("[[storage]]\nname = \"{name}\"\nfolder = \"{folder}\"\nafter = \"{after}\"\n")
        };
        for (second, part) in [
            (place("a", "/b", "9d"), "name"),
            (place("b", "/a", "9d"), "folder"),
            (place("b", "/b", "1d"), "order"),
            (place("b", "pvark-data", "9d"), "archive itself"),
            (place("b c", "/b", "9d"), "letters"),
        ] {
            let error = load(&(place("a", "/a", "7d") + &second)).unwrap_err().to_string();
            assert!(error.contains(part), "{part:?} is missing in: {error}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_key_its_line_and_what_is_allowed() {
        let cases = [
            ("listen = \"127.0.0.1:1\"\nspeed = 9\n", ["line 2", "speed", "default_protocol"]),
            ("name_separators = \"a\"\n", ["line 1", "name_separators", "\":-\""]),
            ("zone = \"Europe/Lund\"\n", ["line 1", "Europe/Lund", "\"Europe/Stockholm\""]),
            ("durable = \"soon\"\n", ["line 1", "durable", "\"off\""]),
            ("\n\ndefault_protocol = \"http\"\n", ["line 3", "default_protocol", "\"pva\""]),
            ("scrub = \"often\"\n", ["line 1", "scrub", "MB/s"]),
            ("head_megabytes_max = 0\n", ["line 1", "head_megabytes_max", "from 1 to"]),
            ("hosts = [\"archiver:17665\"]\n", ["line 1", "hosts", "without a port"]),
            ("\n[[listener]]\nrights = \"read\"\n", ["line 2", "[[listener]]", "missing field `address`"]),
            ("[[listener]]\naddress = \"127.0.0.1:1\"\nrights = \"all\"\n", ["line 3", "rights", "\"operate\""]),
            ("[[listener]]\naddress = \"127.0.0.1:1\"\norigins = [\"*\"]\n", ["line 3", "origins", "without a path"]),
            (
                "[[listener]]\naddress = \"127.0.0.1:1\"\ntls = { certificate = \"c\", key = \"k\", crl = \"r\" }\n",
                ["line 1", "crl", "client_ca"],
            ),
            (
                "listen = \"127.0.0.1:2\"\n[[listener]]\naddress = \"127.0.0.1:1\"\n",
                ["`listen`", "[[listener]]", "address"],
            ),
            ("[access]\nanonymous = \"write\"\n", ["line 2", "anonymous", "\"operate\""]),
            ("[ca]\nadress_list = []\n", ["line 2", "adress_list", "address_list"]),
            ("[ca]\naddress_list = [\"127.0.0.1\", \"127.0.0.1:c\"]\n", ["line 2", "127.0.0.1:c", "HOST:PORT"]),
        ];
        for (text, parts) in cases {
            let error = load(text).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{part:?} is missing in: {error}");
            }
        }
    }
}
