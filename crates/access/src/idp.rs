//! An OpenID provider for tests: it has keys, signs whatever it is asked to, and counts what is fetched.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A key that signs.
pub(crate) enum Pair {
    Rsa(rsa::KeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Pair {
    pub(crate) fn rsa() -> Pair {
        Pair::Rsa(rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap())
    }

    pub(crate) fn p256() -> Pair {
        Pair::P256(EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn ed25519() -> Pair {
        Pair::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    /// The public key as the provider shows it.
    pub(crate) fn shown(&self, kid: &str, usage: &str) -> Value {
        match self {
            Pair::Rsa(pair) => {
                let key = pair.public_key();
                let n = base64(key.modulus().big_endian_without_leading_zero());
                json!({"kty": "RSA", "kid": kid, "use": usage, "n": n, "e": base64(key.exponent().big_endian_without_leading_zero())})
            }
            Pair::P256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (base64(&point[1..33]), base64(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": usage, "alg": "ES256", "x": x, "y": y})
            }
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "use": usage, "x": base64(pair.public_key())})
            }
        }
    }

    /// Signs a header and claims, RSA in the way that the header names.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match self {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding: &dyn signature::RsaEncoding =
                    if header["alg"] == "PS256" { &signature::RSA_PSS_SHA256 } else { &signature::RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::P256(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", base64(signature))
    }
}

/// What it answers to a form at its token endpoint.
type Answer = Box<dyn Fn(&HashMap<String, String>) -> (u16, Value) + Send + Sync>;

struct Shared {
    keys: Mutex<Vec<Value>>,
    discovery: Mutex<Value>,
    userinfo: Mutex<Value>,
    tokens: Mutex<Option<Answer>>,
    fetches: AtomicUsize,
    is_away: AtomicBool,
}

/// The provider. It ends with the test's process.
pub(crate) struct Idp {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Idp {
    pub(crate) fn start() -> Idp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let discovery = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/jwks"),
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "userinfo_endpoint": format!("{url}/userinfo"),
            "authorization_response_iss_parameter_supported": true,
        });
        let shared = Arc::new(Shared {
            keys: Mutex::default(),
            discovery: Mutex::new(discovery),
            userinfo: Mutex::new(json!({})),
            tokens: Mutex::default(),
            fetches: AtomicUsize::new(0),
            is_away: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || listener.incoming().for_each(|stream| serving.serve(stream.unwrap())));
        Idp { url, shared }
    }

    pub(crate) fn set_keys(&self, keys: Vec<Value>) {
        *self.shared.keys.lock().unwrap() = keys;
    }

    pub(crate) fn set_discovery(&self, key: &str, value: Value) {
        self.shared.discovery.lock().unwrap()[key] = value;
    }

    pub(crate) fn set_userinfo(&self, value: Value) {
        *self.shared.userinfo.lock().unwrap() = value;
    }

    /// Says what it gives for a code.
    pub(crate) fn on_token(&self, answer: impl Fn(&HashMap<String, String>) -> (u16, Value) + Send + Sync + 'static) {
        *self.shared.tokens.lock().unwrap() = Some(Box::new(answer));
    }

    /// From now on it breaks every connection off, or answers again.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.shared.is_away.store(is_away, SeqCst);
    }

    /// How often its keys were fetched.
    pub(crate) fn fetches(&self) -> usize {
        self.shared.fetches.load(SeqCst)
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first).unwrap();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            length = line.strip_prefix("content-length: ").map_or(length, |text| text.parse().unwrap());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        if self.is_away.load(SeqCst) {
            return;
        }
        let (status, value) = self.answer(first.split(' ').nth(1).unwrap_or_default(), &body);
        let text = value.to_string();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
        let _ = stream.write_all((head + &text).as_bytes()); // who asked may be gone
    }

    fn answer(&self, path: &str, body: &[u8]) -> (u16, Value) {
        match path {
            "/.well-known/openid-configuration" => (200, self.discovery.lock().unwrap().clone()),
            "/jwks" => {
                self.fetches.fetch_add(1, SeqCst);
                (200, json!({"keys": *self.keys.lock().unwrap()}))
            }
            "/userinfo" => (200, self.userinfo.lock().unwrap().clone()),
            "/token" => {
                let form = String::from_utf8(body.to_vec()).unwrap();
                let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
                let plain = |text: &str| {
                    let text = text.replace('+', " ");
                    percent_encoding::percent_decode_str(&text).decode_utf8().unwrap().into_owned()
                };
                let form = pairs.map(|(name, value)| (plain(name), plain(value))).collect();
                self.tokens.lock().unwrap().as_ref().unwrap()(&form)
            }
            _ => (404, json!({})),
        }
    }
}
