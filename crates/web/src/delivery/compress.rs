//! Answers in the coding that a client asks for, chunk by chunk: what is waiting is one chunk, as without it.
//!
//! Never the Archiver Appliance's raw answers, whose clients read undecoded bytes; nor what is live, or short, or small already.

use std::io::{self, Write};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderValue, Method, header},
    response::Response,
};
use flate2::{Compression, write::GzEncoder};
use futures_util::{StreamExt, stream};
use service::Lease;

use super::{Delivery, pool::Pool};

/// Shorter answers fit into one packet anyway.
const BYTES_MIN: u64 = 1400;
/// What is worth it. Samples in numpy's form are left as they are: whoever takes them wants them fast.
const CONTENT_TYPES: [&str; 4] = ["application/json", "text/csv", "text/plain", "application/vnd.apache.arrow.stream"];
/// The fastest levels: at the next ones a processor makes less than a fast network takes.
const GZIP_LEVEL: Compression = Compression::fast();
const ZSTD_LEVEL: i32 = 1;

/// Marks an answer whose bytes are counted by whoever takes it in parts.
#[derive(Clone, Copy)]
pub(crate) struct AsItIs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    /// The coding that a request likes best, of two that it likes equally zstd.
    pub(crate) fn asked(method: &Method, headers: &HeaderMap) -> Option<Coding> {
        if method == Method::HEAD {
            return None;
        }
        let accepted = headers.get_all(header::ACCEPT_ENCODING).into_iter();
        let accepted: Vec<(String, f32)> = accepted
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|one| {
                let mut parts = one.split(';').map(str::trim);
                let name = parts.next().unwrap_or("").to_ascii_lowercase();
                let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
                (name, weight.unwrap_or(1.0))
            })
            .collect();
        let weight = |coding: &str| accepted.iter().find(|(name, _)| name == coding).map_or(0.0, |(_, weight)| *weight);
        let (gzip, zstd) = (weight("gzip").max(weight("x-gzip")), weight("zstd"));
        match zstd >= gzip {
            true => (zstd > 0.0).then_some(Coding::Zstd),
            false => Some(Coding::Gzip),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Zstd => "zstd",
        }
    }
}

/// What an encoder takes: the text that it remembers, and tables over it.
const ENCODER_BYTES: usize = 1 << 20;

/// The answer in that coding, if it is one that gains by it and there is room for an encoder.
pub(crate) fn coded(coding: Option<Coding>, delivery: &Delivery, response: Response) -> Response {
    let headers = response.headers();
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let gains = content_type.is_some_and(|content_type| CONTENT_TYPES.contains(&content_type))
        && !headers.contains_key(header::CONTENT_ENCODING)
        && response.extensions().get::<AsItIs>().is_none()
        && response.body().size_hint().exact().is_none_or(|bytes| bytes >= BYTES_MIN);
    if !gains {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let by_coding = HeaderValue::from_static("accept-encoding");
    if !parts.headers.get_all(header::VARY).iter().any(|by| by == by_coding) {
        parts.headers.append(header::VARY, by_coding);
    }
    let Some(coding) = coding else { return Response::from_parts(parts, body) };
    let budget = &delivery.budget;
    // Half of the budget is for what cannot be had otherwise.
    let (lease, has_room) = (budget.lease(), budget.taken() < budget.bytes_max() / 2);
    let encoder = (has_room && lease.grow(ENCODER_BYTES).is_ok()).then(|| Encoder::new(coding).ok()).flatten();
    let Some(encoder) = encoder else { return Response::from_parts(parts, body) };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from_stream(encoded(body, encoder, lease, delivery.pool.clone())))
}

/// The pieces of a body as they are sent. What breaks off stays broken off.
fn encoded(
    body: Body,
    encoder: Encoder,
    lease: Lease,
    pool: Pool,
) -> impl stream::Stream<Item = Result<Bytes, String>> {
    stream::unfold((body.into_data_stream(), (lease, pool), Some(encoder)), |(mut pieces, lease, encoder)| async {
        let encoder = encoder?;
        let piece = match pieces.next().await {
            Some(Ok(piece)) => Some(piece),
            Some(Err(error)) => return Some((Err(error.to_string()), (pieces, lease, None))),
            None => None,
        };
        let made = lease.1.done(move || encoder.encode(piece.as_deref())).await;
        match made {
            Ok(Ok((bytes, encoder))) => Some((Ok(bytes), (pieces, lease, encoder))),
            Ok(Err(error)) => Some((Err(error.to_string()), (pieces, lease, None))),
            Err(error) => Some((Err(error.to_string()), (pieces, lease, None))),
        }
    })
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Encoder> {
        Ok(match coding {
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), GZIP_LEVEL)),
            Coding::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
        })
    }

    /// One piece, all of which can be read from what is returned; or the end, with which the encoder is gone.
    fn encode(mut self, piece: Option<&[u8]>) -> io::Result<(Bytes, Option<Encoder>)> {
        let Some(piece) = piece else {
            let rest = match self {
                Encoder::Gzip(encoder) => encoder.finish()?,
                Encoder::Zstd(encoder) => encoder.finish()?,
            };
            return Ok((rest.into(), None));
        };
        let made = match &mut self {
            Encoder::Gzip(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
            Encoder::Zstd(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                std::mem::take(encoder.get_mut())
            }
        };
        Ok((made.into(), Some(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &'static str) -> Option<Coding> {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accept))]);
        Coding::asked(&Method::GET, &headers)
    }

    #[test]
    fn the_coding_that_is_liked_best_is_taken() {
        assert_eq!(asked("gzip, deflate, br, zstd"), Some(Coding::Zstd));
        assert_eq!(asked("gzip, deflate"), Some(Coding::Gzip));
        assert_eq!(asked("zstd;q=0.5, gzip;q=0.8"), Some(Coding::Gzip));
        assert_eq!(asked("gzip;q=0, identity"), None);
        assert_eq!(asked("*"), None);
        assert_eq!(asked("GZIP; q=nonsense"), Some(Coding::Gzip));
    }

    #[test]
    fn every_piece_can_be_read_before_the_next_is_made() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let mut encoder = Encoder::new(coding).unwrap();
            let mut sent = Vec::new();
            for piece in [b"first,".as_slice(), b"second"] {
                let (bytes, left) = encoder.encode(Some(piece)).unwrap();
                assert!(!bytes.is_empty(), "{coding:?} keeps a piece to itself");
                sent.extend_from_slice(&bytes);
                encoder = left.unwrap();
            }
            let (rest, left) = encoder.encode(None).unwrap();
            sent.extend_from_slice(&rest);
            assert!(left.is_none());
            let mut read = String::new();
            match coding {
                Coding::Gzip => io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*sent), &mut read).unwrap(),
                Coding::Zstd => {
                    read = String::from_utf8(zstd::stream::decode_all(&*sent).unwrap()).unwrap();
                    read.len()
                }
            };
            assert_eq!(read, "first,second");
        }
    }
}
