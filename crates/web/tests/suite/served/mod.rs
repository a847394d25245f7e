//! An archive with a known history behind a real listener, and the plainest HTTP client that can ask it.

#![allow(dead_code, unused_imports, reason = "each test file uses its part of it")]

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use access::Access;
use acquire::{Acquire, Control};
use archive::{Protocol, Source};
use query::Query;
use sample::Timestamp;
use service::{Behind, Service};
use store::{Store, Writer};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use web::{Config, HostName, Listener, Serve};

mod client;
mod history;

pub(crate) use client::{Answer, Connection};
pub(crate) use history::{PVS, Recorded, fill, time};

pub(crate) struct Archive {
    pub(crate) address: SocketAddr,
    pub(crate) started: Timestamp,
    pub(crate) store: Store,
    /// What the server answers from.
    pub(crate) service: Arc<Service>,
    /// Who asks it.
    pub(crate) access: Arc<Access>,
    serve: Option<Serve>,
    acquire: Option<Acquire<Writer>>,
    runtime: Runtime,
    // Dropped last: the store lies in it.
    folder: TempDir,
}

impl Archive {
    /// With the history of `history.rs`.
    pub(crate) fn with_history() -> Archive {
        Archive::start(|store| fill(store, PVS), |config| config)
    }

    /// With whatever `fill` puts into the store, and a config that `change` makes of the usual one.
    pub(crate) fn start(fill: impl FnOnce(&Store), change: impl FnOnce(Config) -> Config) -> Archive {
        Archive::start_with_old(fill, change, Vec::new())
    }

    /// The same with old archives beside the store.
    pub(crate) fn start_with_old(
        fill: impl FnOnce(&Store),
        change: impl FnOnce(Config) -> Config,
        old: Vec<Arc<dyn Source>>,
    ) -> Archive {
        Archive::start_with(fill, change, old, |_| Access::open())
    }

    /// The same with what looks at who asks.
    pub(crate) fn start_with(
        fill: impl FnOnce(&Store),
        change: impl FnOnce(Config) -> Config,
        old: Vec<Arc<dyn Source>>,
        access: impl FnOnce(Writer) -> Access,
    ) -> Archive {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let started = clock();
        let store = Store::open(store::Config::new(folder.path()), started).expect("the store opens");
        fill(&store);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime can be had");
        let entered = runtime.enter();
        // Nobody is searched for: every list of addresses is empty.
        let acquire = acquire::Config {
            default_protocol: Protocol::Ca,
            resolve_aliases: false,
            queue_bytes_max: 1 << 20,
            policies: archive::Policies::default(),
            groups: Vec::new(),
            ca: epics::ca::Config { auto_addresses: false, ..epics::ca::Config::default() },
            pva: epics::pva::Config { auto_addresses: false, ..epics::pva::Config::default() },
        };
        let acquire = Acquire::start(acquire, store.writer(), started).expect("acquisition starts");
        let usual = Config::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let listeners = usual
            .listeners
            .iter()
            .map(|listener| Listener { hosts: HostName::new(client::HOST).into_iter().collect(), ..listener.clone() });
        let config = change(Config { listeners: listeners.collect(), ..usual.clone() });
        let query = Query::over(store.reader()).with(old);
        let service = service_of(&config, query, acquire.control(), &store);
        let access = Arc::new(access(store.writer()));
        let serve = Serve::start(config, Arc::clone(&service), Arc::clone(&access)).expect("the server starts");
        drop(entered);
        let address = serve.address();
        Archive {
            address,
            started,
            store,
            service,
            access,
            serve: Some(serve),
            acquire: Some(acquire),
            runtime,
            folder,
        }
    }

    /// A second server for the same archive.
    pub(crate) fn start_another(&self, listen: SocketAddr) -> Result<Serve, web::Error> {
        let _entered = self.runtime.enter();
        let control = self.acquire.as_ref().expect("acquisition runs until the archive is dropped").control();
        let config = Config::new(listen);
        let service = service_of(&config, Query::over(self.store.reader()), control, &self.store);
        Serve::start(config, service, Arc::clone(&self.access))
    }

    /// Where it listens.
    pub(crate) fn urls(&self) -> &[String] {
        self.serve.as_ref().map_or(&[], Serve::urls)
    }

    /// Lets it look at the files of its certificates, and waits until it has.
    pub(crate) fn look_at_certificates(&self) {
        let looks = || {
            let looking = self.serve.as_ref().expect("it serves").look_at_certificates();
            self.runtime.block_on(looking).expect("it looks")
        };
        while !looks() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Where the store lies.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// A request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Answer {
        Connection::to(self.address).ask(method, target, &[], b"")
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.ask("GET", target)
    }

    pub(crate) fn post(&self, target: &str, content_type: &str, body: &[u8]) -> Answer {
        Connection::to(self.address).ask("POST", target, &[("content-type", content_type)], body)
    }

    /// Ends the server as the program does.
    pub(crate) fn finish_serving(&mut self) {
        if let Some(serve) = self.serve.take() {
            self.runtime.block_on(serve.finish());
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.finish_serving();
        if let Some(acquire) = self.acquire.take() {
            acquire.finish();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test must know what is later than its start")]
pub(crate) fn clock() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970");
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).expect("it is before 2262"))
}

fn service_of(config: &Config, query: Query, control: Control<Writer>, store: &Store) -> Arc<Service> {
    let behind = Behind::new(query, store.reader(), store.writer(), control);
    Service::new(behind, config.policies.clone(), config.appliance.identity.clone())
}
