//! Writes a number or a text to a PV: `put ca://NAME VALUE` or `put pva://NAME VALUE`, with the network set by `EPICS_*`.
//!
//! It is also what `tests/cannot_actuate.rs` holds against the program: a binary that can write, and shows it.

use std::{error::Error, time::Duration};

use epics::{Event, Key, ca, pva};
use tokio::{sync::mpsc, time::timeout};

const PV: Key = Key(0);
const CONNECT_MAX: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, value] = arguments.as_slice() else {
        return Err("usage: put ca://NAME VALUE, or put pva://NAME VALUE".into());
    };
    let env = |key: &str| std::env::var(key).ok();
    let (sender, mut events) = mpsc::unbounded_channel();
    let handler = move |_, event| drop(sender.send(event));
    if let Some(name) = address.strip_prefix("ca://") {
        let client = ca::Client::start(ca::Config::from_env(env)?, handler)?;
        client.subscribe(PV, name, ca::Monitor::default());
        connected(&mut events).await?;
        let number = value.parse().map(ca::put::PutValue::Double);
        client.put(PV, number.unwrap_or_else(|_| ca::put::PutValue::String(value.clone()))).await?;
    } else if let Some(name) = address.strip_prefix("pva://") {
        let client = pva::Client::start(pva::Config::from_env(env)?, handler)?;
        client.subscribe(PV, name, pva::Monitor::default());
        connected(&mut events).await?;
        let number = value.parse().map(pva::put::PutValue::Double);
        client.put(PV, number.unwrap_or_else(|_| pva::put::PutValue::String(value.clone()))).await?;
    } else {
        return Err(format!("{address} begins neither with ca:// nor with pva://").into());
    }
    Ok(())
}

/// Waits until the PV has sent a value: then it can be written to.
async fn connected(events: &mut mpsc::UnboundedReceiver<Event>) -> Result<(), Box<dyn Error>> {
    let first_value = async {
        while let Some(event) = events.recv().await {
            if matches!(event, Event::Updated(_)) {
                return Ok(());
            }
        }
        Err("the client ended".into())
    };
    timeout(CONNECT_MAX, first_value).await.map_err(|_| "no server has this PV")?
}
