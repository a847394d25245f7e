//! The client against a small server that misbehaves on command: lost, nonsensical and silent circuits, name servers, ends.

use crate::peers;
use crate::pva_server;

use std::time::{Duration, Instant};

use epics::{
    Event, Key,
    pva::{Config, Monitor},
};
use peers::{expect_end, soon};
use pva_server::{Server, Session, User, command, search_reply, start};
use tokio::io::AsyncWriteExt;

/// A user whose PV 1 the server has, the circuit, and the number of the PV's monitor there.
async fn connected(server: &Server, config: Config) -> (User, Session, u32) {
    let mut user = start(config);
    user.client.subscribe(Key(1), "X", Monitor::default());
    let mut session = server.accept().await;
    let (_, ioid) = session.create().await;
    user.expect_connected(1).await;
    (user, session, ioid)
}

#[tokio::test]
async fn a_lost_server_is_told_at_once_and_found_again() {
    let server = Server::start().await;
    let mut user = start(server.config());
    user.client.subscribe(Key(7), "LAB:TEMP", Monitor::default());
    for value in [1, 2] {
        let mut session = server.accept().await;
        let (name, ioid) = session.create().await;
        assert_eq!(name, "LAB:TEMP");
        session.update(ioid, value).await;
        user.expect_connected(7).await;
        user.expect_value(7, value).await;
        drop(session);
        let lost = Instant::now();
        user.expect_disconnected(7).await;
        assert!(lost.elapsed() < Duration::from_secs(1), "told after {:?}", lost.elapsed());
    }
}

#[tokio::test]
async fn nonsense_ends_the_circuit_and_the_client_comes_again() {
    let server = Server::start().await;
    let (mut user, mut session, _) = connected(&server, server.config()).await;
    session.stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").await.expect("the circuit lives");
    let reason = user.expect_disconnected(1).await;
    assert!(reason.ends_with("a message begins with 0x48 instead of 0xca"), "{reason}");
    server.accept().await.create().await;
    user.expect_connected(1).await;
}

#[tokio::test]
async fn the_user_is_told_of_a_server_that_is_found_but_not_reached() {
    let server = Server::start().await;
    let Server { search, circuits } = &server;
    let config = Config { addresses: vec![*search], auto_addresses: false, ..Config::default() };
    let address = circuits.local_addr().expect("an address");
    drop(server.circuits);
    let mut user = start(config);
    user.client.subscribe(Key(1), "X", Monitor::default());
    match user.next().await {
        (1, Event::Refused { message }) => {
            assert!(message.starts_with(&format!("circuit to {address}: ")), "{message}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_silent_server_is_asked_and_then_left() {
    let server = Server::start().await;
    let config = Config { silence_max: Duration::from_secs(1), ..server.config() };
    let (mut user, mut session, _) = connected(&server, config).await;
    session.expect(command::ECHO).await;
    session.send(command::ECHO, |_| {}).await;
    session.expect(command::ECHO).await;
    let answered = Instant::now();
    let reason = user.expect_disconnected(1).await;
    assert!(reason.ends_with("the server has been silent for too long"), "{reason}");
    assert!(answered.elapsed() < Duration::from_secs(2), "left after {:?}", answered.elapsed());
}

#[tokio::test]
async fn pvs_of_one_server_share_a_circuit_and_are_all_told_when_it_ends() {
    let server = Server::start().await;
    let mut user = start(server.config());
    for key in 0..3 {
        user.client.subscribe(Key(key), &format!("PV:{key}"), Monitor::default());
    }
    let mut session = server.accept().await;
    for _ in 0..3 {
        // the requests for channels are passed over while monitors are waited for, unless each is answered first
        let request = session.expect(command::CREATE_CHANNEL).await;
        let cid = &request[2..6];
        session.send(command::CREATE_CHANNEL, |w| w.put(&[cid, &[9, 0, 0, 0, 0xff]].concat())).await;
    }
    for _ in 0..3 {
        let init = session.expect(command::MONITOR).await;
        session.send(command::MONITOR, |w| w.put(&[&init[4..8], &[8, 0xff], &pva_server::TYPE].concat())).await;
    }
    let mut connected = vec![user.next().await.0, user.next().await.0, user.next().await.0];
    drop(session);
    let mut lost = Vec::new();
    for _ in 0..3 {
        let (key, event) = user.next().await;
        assert!(matches!(event, Event::Disconnected { .. }), "{event:?}");
        lost.push(key);
    }
    connected.sort();
    lost.sort();
    assert_eq!((connected, lost), (vec![0, 1, 2], vec![0, 1, 2]));
}

#[tokio::test]
async fn a_name_server_is_asked_by_its_circuit() {
    let names = Server::start().await;
    let server = Server::start().await;
    let listens = names.circuits.local_addr().expect("an address");
    let config = Config { name_servers: vec![listens], auto_addresses: false, ..Config::default() };
    let mut user = start(config);
    user.client.subscribe(Key(1), "X", Monitor::default());
    let mut session = names.accept().await;
    let search = session.expect(command::SEARCH).await;
    let port = server.circuits.local_addr().expect("an address").port();
    session.stream.write_all(&search_reply(&search, port)).await.expect("the circuit lives");
    let mut found = server.accept().await;
    let (name, ioid) = found.create().await;
    found.update(ioid, 5).await;
    assert_eq!(name, "X");
    user.expect_connected(1).await;
    user.expect_value(1, 5).await;
}

#[tokio::test]
async fn a_subscription_that_ends_is_ended_in_the_server_and_its_key_may_be_used_again() {
    let server = Server::start().await;
    let (mut user, mut session, _) = connected(&server, server.config()).await;
    user.client.subscribe(Key(1), "NEW", Monitor::default());
    session.expect(command::DESTROY_CHANNEL).await;
    let (name, ioid) = session.create().await;
    session.update(ioid, 3).await;
    assert_eq!(name, "NEW");
    user.expect_connected(1).await;
    user.expect_value(1, 3).await;
}

#[tokio::test]
async fn circuits_end_with_the_client() {
    let server = Server::start().await;
    let (user, mut session, _) = connected(&server, server.config()).await;
    assert_eq!(user.client.counters().circuits_open(), 1);
    drop(user.client);
    expect_end(&mut session.stream).await;
}

#[tokio::test]
async fn a_client_that_reads_is_never_held_up_by_a_server_that_does_not() {
    let server = Server::start().await;
    let (mut user, mut session, ioid) = connected(&server, server.config()).await;
    // far more requests than the kernel takes from a client whose server does not read
    for key in 2..401 {
        user.client.subscribe(Key(key), &"Y".repeat(50_000), Monitor::default());
    }
    for value in 0..1000 {
        session.update(ioid, value).await;
        soon("an update", user.expect_value(1, value)).await;
    }
}
