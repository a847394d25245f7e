//! The shared store on S3 against a server of S3: moto, from PyPI. Without it these tests say so and pass over.

mod server;

use std::{sync::Arc, time::Duration};

use s3::{Config, S3};
use server::{Fault, Moto, Relay};
use shared::{Created, Error, Seq, Shard, Shared, conformance, settle};

fn config(endpoint: String) -> Config {
    Config {
        endpoint: Some(endpoint),
        region: "us-east-1".into(),
        bucket: server::BUCKET.into(),
        folder: "cluster".into(),
        access_key: "test".into(),
        secret_key: "test".into(),
        timeout: Duration::from_secs(20),
    }
}

#[test]
fn s3_keeps_every_promise_of_the_seam() {
    let Some(moto) = Moto::start() else { return };
    let shared: Arc<dyn Shared> = S3::open(config(moto.url())).expect("moto keeps to conditions");
    conformance::all(&shared, "conformance/0");
    conformance::all(&shared, "conformance/1");
}

/// Any other server, as `PVARK_S3="http://127.0.0.1:15200 bucket access-key secret-key"`: what a site does before it trusts its own.
#[test]
fn the_server_that_is_named_keeps_every_promise_of_the_seam() {
    let named = std::env::var("PVARK_S3").unwrap_or_default();
    let words: Vec<String> = named.split_whitespace().map(str::to_owned).collect();
    let Ok([endpoint, bucket, access_key, secret_key]) = <[String; 4]>::try_from(words) else {
        return eprintln!("skipped: PVARK_S3 does not name a server, a bucket, an access key and a secret key");
    };
    let run = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let folder = format!("pvark-conformance-{run:x}");
    let shared: Arc<dyn Shared> = S3::open(Config { bucket, access_key, secret_key, folder, ..config(endpoint) })
        .expect("it keeps to conditions");
    conformance::all(&shared, "conformance/0");
}

#[test]
fn a_server_that_does_not_heed_a_condition_is_refused_by_the_name_of_the_header() {
    let Some(moto) = Moto::start() else { return };
    for header in ["If-None-Match", "If-Match"] {
        let relay = Relay::start(&moto, Fault::Strips(header));
        let error = S3::open(config(relay.url())).expect_err("it must not be used");
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("the header {header} (")) && text.contains("is needed"), "{text}");
    }
}

#[test]
fn a_row_whose_answer_is_lost_is_known_again() {
    let Some(moto) = Moto::start() else { return };
    let relay = Relay::start(&moto, Fault::Swallows("/journal/"));
    let lossy = S3::open(config(relay.url())).expect("the trial is answered");
    let error = lossy.create("j", Seq(0), b"mine").expect_err("no answer comes");
    assert!(error.is_unknown(), "{error}");
    let sure = S3::open(config(moto.url())).expect("moto keeps to conditions");
    assert_eq!(sure.row("j", Seq(0)).expect("a read"), Some(b"mine".to_vec()), "it happened");
    assert_eq!(settle::append(&*lossy, "j", Seq(0), b"mine").expect("an append"), Created::Done);
    assert_eq!(settle::append(&*lossy, "j", Seq(0), b"other").expect("an append"), Created::Taken(b"mine".to_vec()));
    assert_eq!(settle::append(&*lossy, "j", Seq(1), b"next").expect("an append"), Created::Done);
}

#[test]
fn a_server_that_is_not_there_leaves_the_outcome_unknown_and_one_without_the_bucket_refuses() {
    let Some(moto) = Moto::start() else { return };
    let nowhere = Config { timeout: Duration::from_secs(1), ..config(server::NOBODY.into()) };
    assert!(S3::open(nowhere).expect_err("nobody answers").is_unknown());
    let error = S3::open(Config { bucket: "absent".into(), ..config(moto.url()) }).expect_err("no such bucket");
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
}

#[test]
fn a_shard_on_s3_is_taken_written_and_taken_over() {
    let Some(moto) = Moto::start() else { return };
    let shared: Arc<dyn Shared> = S3::open(config(moto.url())).expect("moto keeps to conditions");
    conformance::ownership(&shared, &Shard::new(4, 'a').expect("a shard"));
}
