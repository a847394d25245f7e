//! Our client against our own server: every type, changes, queues, pipelines, restarts.

use crate::peers;
use crate::samples;

use std::time::Duration;

use epics::{
    Array, Event, Key, Reading, Value,
    pva::{
        Client, Config, Extent, MESSAGE_BYTES_MAX, Monitor, Scalar, Tree, Type, TypeRegistry, decode_structure,
        message::Message,
        server::{Hub, Listen, Place, Server, ServerPv, Settings, nt},
        wire::{BitSet, HEADER_BYTES, Header, Order},
    },
};
use peers::{User, soon};
use tokio::net::UdpSocket;

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
fn add(hub: &mut Hub, name: &str, ty: &Type) -> ServerPv {
    hub.add(name, ty, Tree::default_of(ty)).expect("the default has the shape of its type")
}

/// Changes fields by their names.
fn set(hub: &mut Hub, pv: ServerPv, fields: Vec<(&str, Tree)>) {
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

/// A counter that has reached that number.
fn count_to(hub: &mut Hub, pv: ServerPv, number: i32) {
    set(hub, pv, vec![("value", Tree::I32(number))]);
}

fn number(reading: &Reading) -> i32 {
    if let Value::I32(number) = reading.value { number } else { panic!("{reading:?}") }
}

/// Bounds and fixed sizes, which PVXS does not know.
fn bounded() -> Type {
    let fields = [
        ("text", Type::BoundedString(20)),
        ("few", Type::Array(Scalar::I16, Extent::Bounded(5))),
        ("four", Type::Array(Scalar::F32, Extent::Fixed(4))),
        ("number", Type::Scalar(Scalar::I32)),
    ];
    Type::structure("bounded", fields).expect("four fields")
}

/// What a client makes of a value of that type.
fn whole(reading: &Reading, ty: &Type) -> Tree {
    match &reading.value {
        Value::Structure(bytes) => {
            let data = decode_structure(bytes).expect("what the client made is whole");
            assert_eq!(data.ty, *ty);
            data.value
        }
        value => panic!("{ty} became {value:?}"),
    }
}

/// The field `value` of a tree of that type, as the client tells values that are not structures.
fn plain(tree: &Tree) -> Value {
    let Tree::Structure(fields) = tree else { panic!("{tree:?}") };
    match &fields[0] {
        Tree::Bool(v) => Value::Bool(*v),
        Tree::I8(v) => Value::I8(*v),
        Tree::I16(v) => Value::I16(*v),
        Tree::I32(v) => Value::I32(*v),
        Tree::I64(v) => Value::I64(*v),
        Tree::U8(v) => Value::U8(*v),
        Tree::U16(v) => Value::U16(*v),
        Tree::U32(v) => Value::U32(*v),
        Tree::U64(v) => Value::U64(*v),
        Tree::F32(v) => Value::F32(*v),
        Tree::F64(v) => Value::F64(*v),
        Tree::String(v) => Value::String(v.clone()),
        Tree::Array(v) => Value::Array(v.clone()),
        Tree::Structure(index) => Value::Enum(index[0].as_i64().expect("an index") as i32),
        other => panic!("{other:?}"),
    }
}

fn is_plain(ty: &Type) -> bool {
    let Type::Structure(s) = ty else { return false };
    ["epics:nt/NTScalar", "epics:nt/NTEnum"].iter().any(|id| s.id().starts_with(id))
}

/// Changes one leaf after the other, with everything else as it was, and compares each value with the server's.
async fn follow(server: &Server, name: &str, ty: &Type, seed: &mut u8) {
    let value = samples::sample(ty, seed);
    let pv = server.with(|hub| hub.add(name, ty, value)).expect("the sample has the shape of its type");
    let mut user = start(server.client_config());
    user.client.subscribe(Key(1), name, Monitor::default());
    let mut found = reading(&mut user, 1).await;
    for round in 0..3 {
        let expected = server.with(|hub| hub.value(pv).cloned()).expect("the PV is there");
        if is_plain(ty) {
            assert_eq!(found.value, plain(&expected), "{name} in round {round}");
        } else {
            assert_eq!(whole(&found, ty), expected, "{name} in round {round}");
        }
        let fresh = samples::sample(ty, seed);
        // every other leaf in turn, so that updates are parts; the first round has the first leaf in it
        let numbers = leaves(ty, 0).into_iter().skip(round).step_by(2);
        let changed: BitSet = numbers.collect();
        server.with(|hub| hub.post(pv, &changed, |tree| graft(tree, &fresh, ty, &changed, 0)));
        found = reading(&mut user, 1).await;
    }
}

fn leaves(ty: &Type, number: usize) -> Vec<usize> {
    let Type::Structure(s) = ty else { return vec![number] };
    let mut at = number + 1;
    let mut found = Vec::new();
    for field in s.fields() {
        found.extend(leaves(&field.ty, at));
        at += field.ty.field_numbers();
    }
    found
}

/// Takes the leaves with these numbers from another tree.
fn graft(tree: &mut Tree, fresh: &Tree, ty: &Type, changed: &BitSet, number: usize) {
    match (tree, fresh, ty) {
        (Tree::Structure(trees), Tree::Structure(fresh), Type::Structure(s)) => {
            let mut at = number + 1;
            for ((tree, fresh), field) in trees.iter_mut().zip(fresh).zip(s.fields()) {
                graft(tree, fresh, &field.ty, changed, at);
                at += field.ty.field_numbers();
            }
        }
        (tree, fresh, _) if changed.contains(number) => *tree = fresh.clone(),
        _ => {}
    }
}

#[tokio::test]
async fn every_type_arrives_whole_and_in_parts_as_it_is_in_the_server() {
    for settings in each_way() {
        let server = serve(settings).await;
        let mut seed = 0;
        for (name, ty) in samples::types().into_iter().chain([("T:BOUNDED".to_owned(), bounded())]) {
            follow(&server, &name, &ty, &mut seed).await;
        }
    }
}

#[tokio::test]
async fn an_image_of_many_megabytes_arrives_in_segments() {
    for segment_bytes in [0, 100_000] {
        let server = serve(Settings { segment_bytes, room_bytes: 1 << 16, ..Settings::default() }).await;
        let ty = nt::scalar_array(Scalar::U16);
        let pv = server.with(|hub| add(hub, "IMAGE", &ty));
        let mut user = start(server.client_config());
        user.client.subscribe(Key(1), "IMAGE", Monitor::default());
        reading(&mut user, 1).await;
        let pixels: Vec<u16> = (0..8_000_000_u32).map(|at| (at / 7) as u16).collect();
        assert!(2 * pixels.len() < MESSAGE_BYTES_MAX);
        server.with(|hub| set(hub, pv, vec![("value", Tree::Array(Array::U16(pixels.clone())))]));
        assert!(reading(&mut user, 1).await.value == Value::Array(Array::U16(pixels)), "the image is another one");
    }
}

#[tokio::test]
async fn what_finds_no_place_in_the_queue_is_merged_marked_and_counted() {
    let server = serve(Settings { room_bytes: 1, ..Settings::default() }).await;
    let pv = server.with(|hub| add(hub, "COUNT", &nt::scalar(Scalar::I32)));
    let mut user = start(server.client_config());
    user.client.subscribe(Key(1), "COUNT", Monitor { queue_size: 10, ..Monitor::default() });
    reading(&mut user, 1).await;
    // the circuit takes one, the queue ten, and nothing is sent before all are posted
    server.with(|hub| (1..=100).for_each(|number| count_to(hub, pv, number)));
    let mut found = Vec::new();
    while found.last().is_none_or(|(number, _)| *number != 100) {
        let reading = reading(&mut user, 1).await;
        found.push((number(&reading), reading.overrun));
    }
    let expected: Vec<(i32, bool)> = (1..=10).map(|number| (number, false)).chain([(100, true)]).collect();
    assert_eq!(found, expected);
    assert_eq!(server.with(|hub| (hub.squashed(pv), hub.counts().squashed)), (89, 89));
    assert_eq!(user.client.counters().overruns, 1);
}

#[tokio::test]
async fn fields_that_were_not_overwritten_are_not_marked() {
    let server = serve(Settings { room_bytes: 1, ..Settings::default() }).await;
    let pv = server.with(|hub| add(hub, "COUNT", &nt::scalar(Scalar::I32)));
    let mut user = start(server.client_config());
    user.client.subscribe(Key(1), "COUNT", Monitor { queue_size: 1, ..Monitor::default() });
    reading(&mut user, 1).await;
    server.with(|hub| {
        count_to(hub, pv, 1);
        count_to(hub, pv, 2);
        set(hub, pv, vec![("alarm.severity", Tree::I32(1))]);
    });
    let found = [reading(&mut user, 1).await, reading(&mut user, 1).await];
    let found = found.map(|reading| (number(&reading), reading.severity, reading.overrun));
    assert_eq!(found, [(1, 0, false), (2, 1, false)]);
    assert_eq!(server.with(|hub| hub.squashed(pv)), 1, "two updates came as one");
}

#[tokio::test]
async fn a_pv_that_is_taken_away_and_put_back_is_found_again() {
    let server = serve(Settings::default()).await;
    let ty = nt::scalar(Scalar::I32);
    let pv = server.with(|hub| add(hub, "X", &ty));
    let mut user = start(server.client_config());
    user.client.subscribe(Key(1), "X", Monitor::default());
    reading(&mut user, 1).await;
    server.with(|hub| hub.remove(pv));
    user.expect_disconnected(1).await;
    let pv = server.with(|hub| add(hub, "X", &ty));
    server.with(|hub| count_to(hub, pv, 5));
    assert_eq!(number(&reading(&mut user, 1).await), 5);
    assert_eq!(server.with(|hub| hub.listeners(pv)), 1);
    user.client.unsubscribe(Key(1));
    soon("the monitor ends", async {
        while server.with(|hub| hub.listeners(pv)) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_restarts_elsewhere_is_found_again() {
    let mut server = serve(Settings::default()).await;
    let mut user = start(server.client_config());
    let searches = server.searches();
    user.client.subscribe(Key(1), "X", Monitor::default());
    let mut circuits = Vec::new();
    for run in 1..4 {
        let pv = server.with(|hub| add(hub, "X", &nt::scalar(Scalar::I32)));
        server.with(|hub| count_to(hub, pv, run));
        assert_eq!(number(&reading(&mut user, 1).await), run);
        circuits.push(server.circuits());
        drop(server);
        user.expect_disconnected(1).await;
        let listen = Listen { searches, ..Listen::default() };
        server = soon("the port of the searches", async {
            loop {
                match Server::start(listen.clone(), Settings { seed: run as u64, ..Settings::default() }).await {
                    Ok(server) => break server,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        })
        .await;
    }
    circuits.dedup();
    assert_eq!(circuits.len(), 3, "each time the circuits were elsewhere");
}

#[tokio::test]
async fn a_name_server_answers_on_its_circuit() {
    let server = serve(Settings::default()).await;
    server.with(|hub| add(hub, "X", &nt::scalar(Scalar::I32)));
    let config = Config { name_servers: vec![server.circuits()], auto_addresses: false, ..Config::default() };
    let mut user = start(config);
    user.client.subscribe(Key(1), "X", Monitor::default());
    reading(&mut user, 1).await;
}

#[tokio::test]
async fn beacons_say_who_and_where_and_that_there_are_new_pvs() {
    let listener = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let beacons = vec![listener.local_addr().expect("an address")];
    let listen = Listen { beacons, beacon_period: Duration::from_millis(1), ..Listen::default() };
    let server = Server::start(listen, Settings::default()).await.expect("ports on loopback");
    let mut changes = Vec::new();
    let mut buffer = [0; 1000];
    while changes.len() < 2 {
        let (count, _) = soon("a beacon", listener.recv_from(&mut buffer)).await.expect("loopback works");
        let header = Header::decode(&buffer[..HEADER_BYTES]).expect("a header");
        match Message::decode(header, &buffer[HEADER_BYTES..count], &mut TypeRegistry::default()) {
            Ok(Message::Beacon(beacon)) => {
                assert_eq!(beacon.server, server.circuits());
                changes.push(beacon.changes);
                changes.dedup();
            }
            other => panic!("{other:?}"),
        }
        if changes.len() == 1 {
            server.with(|hub| add(hub, "X", &nt::scalar(Scalar::I32)));
        }
    }
}

/// Posts numbers as fast as every monitor has room for one of its own, until the last.
async fn post_all(server: &Server, pv: ServerPv, last: i32) {
    let mut next = 1;
    soon("room for all", async {
        while next <= last {
            server.with(|hub| {
                while next <= last && hub.has_room(pv) {
                    count_to(hub, pv, next);
                    next += 1;
                }
            });
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn with_a_pipeline_and_a_source_that_waits_nothing_is_lost() {
    let server = serve(Settings { room_bytes: 1 << 20, ..Settings::default() }).await;
    let pv = server.with(|hub| add(hub, "COUNT", &nt::scalar(Scalar::I32)));
    let mut user = start(server.client_config());
    user.client.subscribe(Key(1), "COUNT", Monitor { queue_size: 4, pipeline: true, ..Monitor::default() });
    reading(&mut user, 1).await;
    let last = 10_000;
    post_all(&server, pv, last).await;
    for expected in 1..=last {
        let reading = reading(&mut user, 1).await;
        assert_eq!((number(&reading), reading.overrun), (expected, false));
    }
    assert_eq!(server.with(|hub| hub.squashed(pv)), 0);
}

#[tokio::test]
async fn of_two_servers_with_one_name_the_first_is_taken_and_the_other_counted() {
    let servers = [serve(Settings::default()).await, serve(Settings { seed: 2, ..Settings::default() }).await];
    let pvs = servers.each_ref().map(|server| server.with(|hub| add(hub, "TWICE", &nt::scalar(Scalar::I32))));
    let addresses = servers.iter().map(Server::searches).collect();
    let mut user = start(Config { addresses, auto_addresses: false, ..Config::default() });
    user.client.subscribe(Key(1), "TWICE", Monitor::default());
    reading(&mut user, 1).await;
    soon("the answer of the second", async {
        while user.client.counters().duplicates == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(user.client.counters().duplicates, 1);
    let listeners: usize = servers.iter().zip(pvs).map(|(server, pv)| server.with(|hub| hub.listeners(pv))).sum();
    assert_eq!(listeners, 1);
}
