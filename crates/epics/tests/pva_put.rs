//! Writing by pvAccess against a small server, byte for byte. Empty without the feature `put`.
#![cfg(feature = "put")]

use std::time::Duration;

use epics::{
    Event, Key,
    pva::{
        Client, Config, Data, Monitor, Scalar, Tree, Type,
        put::{MARKER, PutError, PutValue, put, put_init, rpc, rpc_init},
        wire::{HEADER_BYTES, Header, Order, Writer},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::mpsc::unbounded_channel,
    time::timeout,
};

fn bytes(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new(Order::Little);
    write(&mut writer);
    writer.into_bytes()
}

/// What stands after the header, the channel and the request.
fn body(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    bytes(write).split_off(HEADER_BYTES + 8)
}

fn scalar(scalar: Scalar) -> Type {
    Type::structure(
        "epics:nt/NTScalar:1.0",
        [("descriptor", Type::Scalar(Scalar::String)), ("value", Type::Scalar(scalar))],
    )
    .expect("two fields")
}

#[test]
fn a_put_asks_for_the_value_and_then_writes_it_by_its_field_number() {
    let init = bytes(|w| put_init(w, 0x101, 0x202));
    assert_eq!(init[..HEADER_BYTES], [0xca, 2, 0, 11, 30, 0, 0, 0]);
    assert_eq!(init[HEADER_BYTES..][..12], [1, 1, 0, 0, 2, 2, 0, 0, 8, 0x80, 0, 1]);
    let value = PutValue::Double(-2.0);
    let written = body(|w| put(w, 1, 2, &scalar(Scalar::I16), &value).expect("a number"));
    assert_eq!(written, [0x10, 1, 0b100, 0xfe, 0xff]);
    let text = body(|w| put(w, 1, 2, &scalar(Scalar::String), &value).expect("a text"));
    assert_eq!(text, [0x10, 1, 0b100, 2, b'-', b'2']);
}

#[test]
fn a_put_to_an_enum_writes_its_index() {
    let value = Type::structure("enum_t", [("index", Type::Scalar(Scalar::I32))]).expect("one field");
    let ty = Type::structure("epics:nt/NTEnum:1.0", [("value", value)]).expect("one field");
    let written = body(|w| put(w, 1, 2, &ty, &PutValue::Long(3)).expect("an index"));
    assert_eq!(written, [0x10, 1, 0b100, 3, 0, 0, 0]);
}

#[test]
fn what_cannot_be_converted_is_refused_with_the_mark_of_writers() {
    let word = PutValue::String("fast".to_owned());
    let error = put(&mut Writer::new(Order::Little), 1, 2, &scalar(Scalar::F64), &word).expect_err("no number");
    assert!(error.to_string().starts_with(MARKER), "{error}");
    assert_eq!(MARKER, "pvark-pva-put-encoder");
}

#[test]
fn a_call_brings_its_argument_with_its_type() {
    assert_eq!(body(|w| rpc_init(w, 1, 2)), [8, 0x80, 0, 0]);
    let argument = Data { ty: Type::Scalar(Scalar::U8), value: Tree::U8(7) };
    assert_eq!(body(|w| rpc(w, 1, 2, &argument).expect("a byte")), [0x10, 0x24, 7]);
}

/// Reads whole messages of the client.
async fn next(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; HEADER_BYTES];
    stream.read_exact(&mut head).await.expect("a message");
    let header = Header::decode(&head).expect("a header");
    let mut payload = vec![0; header.payload_bytes()];
    stream.read_exact(&mut payload).await.expect("its payload");
    (header.command, payload)
}

async fn answer(stream: &mut TcpStream, command: u8, payload: &[u8]) {
    let message = bytes(|w| w.message(command, |w| w.put(payload)));
    stream.write_all(&message).await.expect("the client reads");
}

/// Serves one PV, a short, to one client: takes the first write and refuses the second.
async fn serve(listener: TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().await.expect("a client");
    let stream = &mut stream;
    answer(stream, 1, &[0, 0, 1, 0, 0xff, 0x7f, 0]).await;
    assert_eq!(next(stream).await.0, 1);
    answer(stream, 9, &[0xff]).await;
    assert_eq!(next(stream).await.0, 7);
    answer(stream, 7, &[0, 0, 0, 0, 5, 0, 0, 0, 0xff]).await;
    assert_eq!(next(stream).await.0, 13);
    let ty = [0x80, 0, 1, 5, b'v', b'a', b'l', b'u', b'e', 0x21];
    answer(stream, 13, &[&[0, 0, 0, 0, 8, 0xff][..], &ty].concat()).await;
    assert_eq!(next(stream).await.0, 13);
    let mut written = Vec::new();
    for refusal in [&[0xff][..], &[2, 2, b'n', b'o', 0]] {
        let (command, init) = next(stream).await;
        assert_eq!((command, init[8]), (11, 8));
        let ioid = &init[4..8];
        answer(stream, 11, &[ioid, &[8, 0xff], &ty].concat()).await;
        let (command, put) = next(stream).await;
        assert_eq!((command, put[8]), (11, 0x10));
        written.extend_from_slice(&put[9..]);
        answer(stream, 11, &[ioid, &[0x10], refusal].concat()).await;
    }
    written
}

#[tokio::test]
async fn a_client_writes_and_is_told_whether_the_server_did() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let searched = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let config = Config {
        addresses: vec![searched.local_addr().expect("an address")],
        auto_addresses: false,
        ..Config::default()
    };
    let (sender, mut events) = unbounded_channel();
    let client = Client::start(config, move |_, event| drop(sender.send(event))).expect("a client");
    let unknown = client.put(Key(1), PutValue::Long(1)).await;
    assert_eq!(unknown, Err(PutError::NotConnected));
    client.subscribe(Key(1), "X", Monitor::default());
    let mut search = [0; 1500];
    let (_, asker) = searched.recv_from(&mut search).await.expect("a search");
    let reply = bytes(|w| {
        w.message(4, |w| {
            w.put(&[7; 12]);
            w.u32(1);
            w.put(&[0; 16]);
            w.u16(port);
            w.string("tcp");
            w.put(&[1, 1, 0, 0, 0, 0, 0]);
        });
    });
    searched.send_to(&reply, asker).await.expect("the client listens");
    let server = tokio::spawn(serve(listener));
    let connected = timeout(Duration::from_secs(20), events.recv()).await.expect("in time");
    assert!(matches!(connected, Some(Event::Connected { .. })), "{connected:?}");
    assert_eq!(client.put(Key(1), PutValue::Long(-2)).await, Ok(()));
    let refused = client.put(Key(1), PutValue::String("7".to_owned())).await;
    assert_eq!(refused, Err(PutError::Refused { message: "no".to_owned() }));
    assert_eq!(server.await.expect("the server ends well"), [1, 2, 0xfe, 0xff, 1, 2, 7, 0]);
}
