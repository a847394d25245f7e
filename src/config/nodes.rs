//! `[nodes]` and `[[copy]]`: where other pvark nodes read what this one recorded, and which ones record the same PVs.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use archive::{Fits, KeyedBy, Role};
use remote::{Key, ListenerConfig, RemoteConfig};
use serde::{Deserialize, Deserializer, de::Error as _};

checked_text!(Address(SocketAddr), "ADDR:PORT like \"192.168.1.5:17670\"", |text| text.parse().ok());
checked_text!(Node(String), "HOST:PORT like \"archiver2:17670\"", |text| {
    let (host, port) = text.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)).then(|| text.to_owned())
});
checked_text!(Pattern(Fits), "a pattern of names with * and ?, or ~ and a regular expression", |text| {
    Fits::parse(text).ok()
});

/// The listener for nodes as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodesFile {
    /// Where it listens: for nodes alone, which prove by the key that they belong together.
    listen: Address,
    /// The file with the key that all of them have, which nobody but their user may read.
    key: PathBuf,
}

/// Another recorder of the same PVs as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CopyFile {
    /// What it is called in messages; its address if nothing is said.
    name: Option<String>,
    /// Where its [nodes] listener is.
    address: Node,
    /// The file with the key that both have; that of [nodes] if nothing is said.
    key: Option<PathBuf>,
    /// The PVs that it is asked for; all if nothing is said.
    pvs: Option<Vec<Pattern>>,
}

/// Both, checked.
#[derive(Clone, Debug)]
pub(super) struct CheckedNodes {
    pub(super) listener: Option<ListenerConfig>,
    pub(super) copies: Vec<RemoteConfig>,
}

pub(super) fn checked(
    nodes: Option<NodesFile>,
    copies: Vec<CopyFile>,
    listeners: &[web::Listener],
) -> Result<CheckedNodes, String> {
    let run = remote::new_run().ok_or("this machine has no random numbers")?;
    let usual = nodes.as_ref().map(|nodes| nodes.key.clone());
    let read = |of: &str, file: &Path| Key::read(file).map_err(|error| format!("{of} is not right: {error}"));
    let listener = nodes
        .map(|nodes| {
            let address = nodes.listen.0;
            if listeners.iter().any(|listener| matches!(listener.at, web::At::Address(other) if other == address)) {
                return Err(format!(
                    "[nodes] listens at {address}, where clients are answered; give it a port of its own"
                ));
            }
            let program = env!("CARGO_PKG_VERSION").to_owned();
            Ok(ListenerConfig { address, key: read("[nodes]", &nodes.key)?, run, program })
        })
        .transpose()?;
    let copy = |copy: CopyFile| {
        let address = copy.address.0;
        let of = format!("the [[copy]] at {address}");
        let file = copy.key.as_ref().or(usual.as_ref());
        let file = file.ok_or_else(|| format!("{of} has no `key`, and there is no [nodes] that has one"))?;
        Ok(RemoteConfig {
            name: copy.name.unwrap_or_else(|| address.clone()),
            key: read(&of, file)?,
            address,
            own_run: run,
            keyed_by: KeyedBy::Name,
            role: Role::Copy,
            pvs: copy.pvs.map(|pvs| pvs.into_iter().map(|pattern| pattern.0).collect()),
        })
    };
    let copies = copies.into_iter().map(copy).collect::<Result<Vec<RemoteConfig>, String>>()?;
    let mut names: Vec<&str> = copies.iter().map(|copy| copy.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("there are two [[copy]] called {:?}; give each a `name` of its own", pair[0]));
    }
    Ok(CheckedNodes { listener, copies })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[derive(Deserialize)]
    struct Both {
        nodes: Option<NodesFile>,
        #[serde(default)]
        copy: Vec<CopyFile>,
    }

    fn read(text: &str) -> Result<CheckedNodes, String> {
        let both: Both = toml::from_str(text).map_err(|error| error.to_string())?;
        let clients = web::Listener::new(web::At::Address(SocketAddr::from(([127, 0, 0, 1], 17665))));
        checked(both.nodes, both.copy, &[clients])
    }

    #[test]
    fn nodes_and_copies_are_read_and_each_mistake_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        fs::write(&file, "0123456789abcdef0123456789abcdef").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner may");
        let key = format!("key = {file:?}\n");
        let nodes = format!("[nodes]\nlisten = \"127.0.0.1:17670\"\n{key}");
        let copy = "[[copy]]\naddress = \"archiver2:17670\"\n";
        let read_both = read(&format!("{nodes}{copy}pvs = [\"A:*\"]\n")).expect("it is right");
        assert_eq!(read_both.listener.expect("there is one").address.port(), 17670);
        assert_eq!((read_both.copies.len(), read_both.copies[0].name.as_str()), (1, "archiver2:17670"));
        assert_eq!(read(&format!("{copy}{key}")).expect("it needs no listener").copies.len(), 1);
        let cases = [
            (copy.to_owned(), "no `key`"),
            (format!("{nodes}{copy}{copy}"), "two [[copy]]"),
            (format!("{nodes}[[copy]]\naddress = \"archiver2\"\n"), "HOST:PORT"),
            (nodes.replace("17670", "17665"), "port of its own"),
            (nodes.replace("key\"", "none\""), "cannot be used"),
            (format!("{nodes}{copy}pvs = [\"~(\"]\n"), "pattern of names"),
        ];
        for (text, told) in cases {
            let error = read(&text).expect_err(told);
            assert!(error.contains(told), "{told:?} is missing in: {error}");
        }
    }
}
