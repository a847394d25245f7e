//! Where the bucket is, and how it is reached.

use std::{fmt, time::Duration};

use object_store::{
    ClientOptions, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, S3ConditionalPut},
};

/// Where the bucket is, and how it is reached.
#[derive(Clone)]
pub struct Config {
    /// The server, as `https://s3.example.org`; none for that of AWS in the region. Plain `http` is taken if it is said here.
    pub endpoint: Option<String>,
    /// The region; any word for servers that have none.
    pub region: String,
    /// The bucket, which is there already.
    pub bucket: String,
    /// The folder within it that belongs to the cluster.
    pub folder: String,
    /// Who asks.
    pub access_key: String,
    /// And proves it so.
    pub secret_key: String,
    /// How long an answer is waited for. Then the outcome of the call is unknown.
    pub timeout: Duration,
}

/// Without the secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "folder {} of bucket {} at {}", self.folder, self.bucket, self.server())
    }
}

impl Config {
    /// The server, as errors call it.
    pub(crate) fn server(&self) -> String {
        self.endpoint.clone().unwrap_or_else(|| format!("S3 of AWS in {}", self.region))
    }

    pub(crate) fn client(&self) -> object_store::Result<AmazonS3> {
        let plain = self.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let options = ClientOptions::new()
            .with_allow_http(plain)
            .with_timeout(self.timeout)
            .with_connect_timeout(self.timeout.min(Duration::from_secs(2)));
        // One try: what is done about one that failed is said in one place for all back ends, `shared::settle`.
        let once = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let builder = AmazonS3Builder::new()
            .with_region(&self.region)
            .with_bucket_name(&self.bucket)
            .with_access_key_id(&self.access_key)
            .with_secret_access_key(&self.secret_key)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_client_options(options)
            .with_retry(once);
        match &self.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint).build(),
            None => builder.build(),
        }
    }
}
