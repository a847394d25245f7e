//! Writing by pvAccess against a small server, byte for byte. Empty without the feature `put`.
#![cfg(feature = "put")]

use crate::peers;
use crate::pva_server;

use epics::{
    Key,
    pva::{
        Data, Monitor, Scalar, Tree, Type,
        put::{MARKER, PutError, PutValue, put, put_init, rpc, rpc_init},
        wire::{HEADER_BYTES, Order, Writer},
    },
};
use pva_server::{Server, TYPE, start};

const PUT: u8 = 11;

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

/// Serves one PV, a short, to one client: takes the first write and refuses the second.
async fn serve(server: Server) -> Vec<u8> {
    let mut session = server.accept().await;
    session.create().await;
    let mut written = Vec::new();
    for refusal in [&[0xff][..], &[2, 2, b'n', b'o', 0]] {
        let init = session.expect(PUT).await;
        assert_eq!(init[8], 8);
        let ioid = &init[4..8];
        session.send(PUT, |w| w.put(&[ioid, &[8, 0xff], &TYPE].concat())).await;
        let put = session.expect(PUT).await;
        assert_eq!(put[8], 0x10);
        written.extend_from_slice(&put[9..]);
        session.send(PUT, |w| w.put(&[ioid, &[0x10], refusal].concat())).await;
    }
    written
}

#[tokio::test]
async fn a_client_writes_and_is_told_whether_the_server_did() {
    let server = Server::start().await;
    let mut user = start(server.config());
    let unknown = user.client.put(Key(1), PutValue::Long(1)).await;
    assert_eq!(unknown, Err(PutError::NotConnected));
    user.client.subscribe(Key(1), "X", Monitor::default());
    let server = tokio::spawn(serve(server));
    user.expect_connected(1).await;
    assert_eq!(user.client.put(Key(1), PutValue::Long(-2)).await, Ok(()));
    let refused = user.client.put(Key(1), PutValue::String("7".to_owned())).await;
    assert_eq!(refused, Err(PutError::Refused { message: "no".to_owned() }));
    assert_eq!(server.await.expect("the server ends well"), [1, 2, 0xfe, 0xff, 1, 2, 7, 0]);
}
