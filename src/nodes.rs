//! Other nodes: those that are read as copies, and the listener at which they read what this one recorded.

use std::{io, sync::Arc};

use archive::Source;
use remote::{Listener, ListenerConfig, Offered, Remote, RemoteConfig};
use store::Reader;
use tokio::runtime::Runtime;

/// The copies of the config. Nobody waits for them: one that is away is asked as soon as it comes.
pub(crate) fn copies(configs: Vec<RemoteConfig>) -> io::Result<Vec<Arc<dyn Source>>> {
    configs.into_iter().map(|config| Ok(Arc::new(Remote::new(config)?) as Arc<dyn Source>)).collect()
}

/// Answers other nodes, if the config says where, on the threads of answers.
pub(crate) fn listen(config: Option<ListenerConfig>, own: Reader, answers: &Runtime) -> io::Result<Option<Listener>> {
    let Some(config) = config else { return Ok(None) };
    let _tasks_run_here = answers.enter();
    let listener =
        Listener::start(config, Offered { source: Arc::new(own.clone()), directory: Arc::new(own), cluster: None })?;
    tracing::info!("other nodes are answered at {}", listener.address());
    Ok(Some(listener))
}
