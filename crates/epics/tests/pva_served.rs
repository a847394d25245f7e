//! Our client against our own server: every type, changes, queues, pipelines, restarts.

#[expect(dead_code, reason = "these tests need a part of it")]
mod peers;

use epics::{
    Event, Key, Reading, Value,
    pva::{
        Client, Config, Monitor, Scalar, Tree, Type,
        server::{Hub, Listen, Place, PvId, Server, Settings, nt},
        wire::{BitSet, Order},
    },
};
use peers::User;

fn start(config: Config) -> User<Client> {
    User::with(|events| Client::start(config, move |key, event| drop(events.send((key, event)))).expect("sockets"))
}

async fn serve(settings: Settings) -> Server {
    Server::start(Listen::default(), settings).await.expect("ports on loopback")
}

/// The next reading of that PV; what else is told is passed over.
async fn reading(user: &mut User<Client>, key: u64) -> Reading {
    loop {
        match user.next().await {
            (found, Event::Updated(reading)) if found == key => return reading,
            (_, Event::Disconnected { reason }) => panic!("{reason}"),
            _ => {}
        }
    }
}

/// Adds a PV whose value is 0 and whose `value` is changed by [`set`].
fn add(hub: &mut Hub, name: &str, ty: &Type) -> PvId {
    hub.add(name, ty, Tree::default_of(ty)).expect("the default has the shape of its type")
}

/// Changes fields by their names.
fn set(hub: &mut Hub, pv: PvId, fields: Vec<(&str, Tree)>) {
    let places: Vec<(Place, Tree)> =
        fields.into_iter().map(|(name, tree)| (hub.place(pv, name).expect("a field"), tree)).collect();
    let changed: BitSet = places.iter().map(|(place, _)| place.number).collect();
    hub.post(pv, &changed, |tree| places.into_iter().for_each(|(place, value)| place.set(tree, value)));
}

fn each_way() -> Vec<Settings> {
    let usual = Settings::default();
    vec![
        usual.clone(),
        Settings { order: Order::Big, ..usual.clone() },
        Settings { segment_bytes: 64, ..usual.clone() },
        Settings { type_numbers: false, ..usual },
    ]
}

#[tokio::test]
async fn a_scalar_is_described_and_updated_however_the_server_writes() {
    for settings in each_way() {
        let server = serve(settings.clone()).await;
        let pv = server.with(|hub| add(hub, "A", &nt::scalar(Scalar::F64)));
        let mut user = start(server.client_config());
        user.client.subscribe(Key(1), "A", Monitor::default());
        assert_eq!(reading(&mut user, 1).await.value, Value::F64(0.0), "{settings:?}");
        server.with(|hub| {
            let seconds = ("timeStamp.secondsPastEpoch", Tree::I64(7));
            set(hub, pv, vec![("value", Tree::F64(1.5)), seconds, ("timeStamp.userTag", Tree::I32(9))]);
            set(hub, pv, vec![("alarm.severity", Tree::I32(2)), ("alarm.message", Tree::String("HIHI".to_owned()))]);
        });
        let first = reading(&mut user, 1).await;
        assert_eq!((&first.value, first.seconds, first.user_tag, first.severity), (&Value::F64(1.5), 7, 9, 0));
        let second = reading(&mut user, 1).await;
        assert_eq!((&second.value, second.severity, second.message.as_deref()), (&Value::F64(1.5), 2, Some("HIHI")));
    }
}
