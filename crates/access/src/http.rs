//! The HTTP client for OpenID providers. It runs on threads that may block, takes short answers only, waits a few seconds and follows no
//! redirects.

use std::{fs, io::Read, path::Path, sync::Arc, time::Duration};

use ureq::{
    Agent,
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
};

/// A provider that takes longer is away.
const PATIENCE: Duration = Duration::from_secs(5);
/// The keys of a provider take some kilobytes.
const BODY_BYTES_MAX: u64 = 1 << 20;

/// A client of one provider.
#[derive(Clone, Debug)]
pub(crate) struct Http(Agent);

/// An answer.
#[derive(Debug)]
pub(crate) struct Replied {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Http {
    /// With the certificates of a file in place of the usual ones, if there is one.
    pub(crate) fn new(ca: Option<&Path>) -> Result<Http, String> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent("pvark");
        if let Some(path) = ca {
            let wrong = |why: String| format!("ca = {:?} cannot be used: {why}", path.display().to_string());
            let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
            let items: Vec<PemItem> =
                parse_pem(&bytes).collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
            let certificate =
                |item| if let PemItem::Certificate(certificate) = item { Some(certificate) } else { None };
            let certificates: Vec<_> = items.into_iter().filter_map(certificate).collect();
            if certificates.is_empty() {
                return Err(wrong("it has no certificate in PEM".to_owned()));
            }
            let roots = RootCerts::Specific(Arc::new(certificates));
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Http(config.build().new_agent()))
    }

    /// Fetches a URL. Any status but 200 is an error.
    pub(crate) fn get(&self, url: &str, bearer: Option<&str>) -> Result<Vec<u8>, String> {
        let mut request = self.0.get(url).header("accept", "application/json");
        if let Some(token) = bearer {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let replied = read(request.call())?;
        if replied.status == 200 { Ok(replied.body) } else { Err(format!("it answers {}", replied.status)) }
    }

    /// What is answered to a form. `client` is the id and the secret of a client that has one.
    pub(crate) fn post(&self, url: &str, form: &[(&str, &str)], client: Option<String>) -> Result<Replied, String> {
        let mut request = self.0.post(url).header("accept", "application/json");
        if let Some(authorization) = client {
            request = request.header("authorization", authorization);
        }
        read(request.send_form(form.iter().copied()))
    }
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Replied, String> {
    let answer = answer.map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    let mut body = Vec::new();
    let mut reader = answer.into_body().into_reader().take(BODY_BYTES_MAX + 1);
    reader.read_to_end(&mut body).map_err(|error| error.to_string())?;
    if body.len() as u64 > BODY_BYTES_MAX {
        return Err(format!("its answer is longer than {BODY_BYTES_MAX} bytes"));
    }
    Ok(Replied { status, body })
}
