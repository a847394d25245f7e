//! The seam over S3: each call is one or two requests, and waits for their answers.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use object_store::{
    Error as Failure, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    UpdateVersion, aws::AmazonS3, path::Path,
};
use shared::{Created, Error, Result, Seq, Shared, Swapped, is_key};
use tokio::runtime::{Builder, Runtime};

use crate::{config::Config, failure::failed, probe};

/// The store fetches at most this many rows or beats at a time.
const IN_FLIGHT: usize = 32;

/// A folder of a bucket, as a shared store. Its calls block, and must not be made by a task of tokio.
pub struct S3 {
    pub(crate) config: Config,
    pub(crate) client: AmazonS3,
    pub(crate) runtime: Runtime,
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

impl S3 {
    /// Reaches the bucket, and tries whether its server keeps to conditions; one that does not is refused.
    pub fn open(config: Config) -> Result<Arc<S3>> {
        let doing = || format!("open {config:?}");
        if !is_key(&config.folder) {
            let reason = format!("{:?} cannot be the name of a folder", config.folder);
            return Err(Error::Refused { doing: doing(), reason });
        }
        let client =
            config.client().map_err(|failure| Error::Refused { doing: doing(), reason: failure.to_string() })?;
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("s3").enable_all().build();
        let runtime = runtime.map_err(|source| Error::Local { doing: "start threads for S3".into(), source })?;
        let s3 = S3 { config, client, runtime };
        probe::conditions(&s3)?;
        Ok(Arc::new(s3))
    }

    /// Where something lies in the bucket.
    pub(crate) fn path(&self, doing: &str, kind: &str, key: &str) -> Result<Path> {
        let refused = |reason: String| Error::Refused { doing: format!("{doing} {key}"), reason };
        if !is_key(key) {
            return Err(refused("no key has such characters".into()));
        }
        let path = Path::parse(format!("{}/{kind}/{key}", self.config.folder));
        path.map_err(|error| refused(error.to_string()))
    }

    fn row_path(&self, journal: &str, seq: Seq) -> Result<Path> {
        self.path("read journal", "journal", &format!("{journal}/{:016x}", seq.0))
    }

    /// Puts bytes under a condition.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8], mode: PutMode) -> object_store::Result<Option<String>> {
        let payload = PutPayload::from(Bytes::copy_from_slice(bytes));
        let options = PutOptions { mode, ..PutOptions::default() };
        self.runtime.block_on(self.client.put_opts(path, payload, options)).map(|put| put.e_tag)
    }

    /// Deletes what lies there; no error if nothing does.
    fn delete(&self, path: &Path) -> Result<()> {
        match self.runtime.block_on(self.client.delete(path)) {
            Ok(()) | Err(Failure::NotFound { .. }) => Ok(()),
            Err(failure) => Err(failed(&format!("remove {path}"), failure)),
        }
    }

    /// All bytes of what lies there, and its ETag.
    fn read(&self, doing: &str, path: &Path) -> Result<Option<(Vec<u8>, Option<String>)>> {
        self.runtime.block_on(read(&self.client, path)).map_err(|failure| failed(&format!("{doing} {path}"), failure))
    }
}

async fn read(client: &AmazonS3, path: &Path) -> object_store::Result<Option<(Vec<u8>, Option<String>)>> {
    let found = match client.get_opts(path, GetOptions::default()).await {
        Ok(found) => found,
        Err(Failure::NotFound { .. }) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let tag = found.meta.e_tag.clone();
    Ok(Some((found.bytes().await?.to_vec(), tag)))
}

impl Shared for S3 {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path("put", "object", key)?;
        let put = self.write(&path, bytes, PutMode::Overwrite);
        put.map(drop).map_err(|failure| failed(&format!("put {path}"), failure))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let path = self.path("get", "object", key)?;
        let doing = || format!("get {path}");
        if range.start < range.end {
            let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
            let read = async { self.client.get_opts(&path, options).await?.bytes().await };
            match self.runtime.block_on(read) {
                Ok(bytes) => return Ok(Some(bytes.to_vec())),
                Err(Failure::NotFound { .. }) => return Ok(None),
                // A range behind the end is an error as well.
                Err(failure) => match self.len(key)? {
                    Some(len) if len > range.start => return Err(failed(&doing(), failure)),
                    None | Some(_) => {}
                },
            }
        }
        Ok(self.len(key)?.map(|_| Vec::new()))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        let path = self.path("measure", "object", key)?;
        match self.runtime.block_on(self.client.head(&path)) {
            Ok(meta) => Ok(Some(meta.size)),
            Err(Failure::NotFound { .. }) => Ok(None),
            Err(failure) => Err(failed(&format!("measure {path}"), failure)),
        }
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.delete(&self.path("remove", "object", key)?)
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        let root = format!("{}/object/", self.config.folder);
        // This client lists folders; of the last one only what begins with the prefix is wanted.
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let within = Path::from(format!("{root}{folder}"));
        let listed = if after >= prefix && !after.is_empty() {
            self.client.list_with_offset(Some(&within), &Path::from(format!("{root}{after}")))
        } else {
            self.client.list(Some(&within))
        };
        let key = |path: Path| path.as_ref().strip_prefix(&root).map(str::to_owned);
        let keys = listed
            .try_filter_map(|meta| future::ready(Ok(key(meta.location))))
            .try_filter(|key| future::ready(key.starts_with(prefix) && key.as_str() > after))
            .take(max)
            .try_collect();
        self.runtime.block_on(keys).map_err(|failure| failed(&format!("list {root}{prefix}"), failure))
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        let path = self.row_path(journal, seq)?;
        match self.write(&path, row, PutMode::Create) {
            Ok(_) => return Ok(Created::Done),
            Err(Failure::AlreadyExists { .. }) => {}
            Err(failure) => return Err(failed(&format!("append {path}"), failure)),
        }
        let found = self.row(journal, seq)?.map(Created::Taken);
        // Where writers meet, a server may say so before any of them has the number (409).
        found.ok_or_else(|| Error::Unknown {
            doing: format!("append {path}"),
            reason: "others append it as well".into(),
        })
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        let path = self.row_path(journal, seq)?;
        Ok(self.read("read", &path)?.map(|(row, _)| row))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        let paths: Vec<Path> =
            (from.0..).take(max).map(|seq| self.row_path(journal, Seq(seq))).collect::<Result<_>>()?;
        let rows = stream::iter(&paths).map(|path| read(&self.client, path)).buffered(IN_FLIGHT);
        let rows =
            rows.try_take_while(|row| future::ready(Ok(row.is_some()))).map_ok(|row| row.expect("it is there").0);
        let rows = self.runtime.block_on(rows.try_collect());
        rows.map_err(|failure| failed(&format!("read journal {journal} from row {from} on"), failure))
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path("read", "name", name)?;
        Ok(self.read("read", &path)?.map(|(value, _)| value))
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        let path = self.path("swap", "name", name)?;
        let doing = || format!("swap {path}");
        let found = self.read("read", &path)?;
        if found.as_ref().map(|(value, _)| value.as_slice()) != old {
            return Ok(Swapped::Differs);
        }
        let mode = match found {
            None => PutMode::Create,
            Some((_, Some(tag))) => PutMode::Update(UpdateVersion { e_tag: Some(tag), version: None }),
            Some((_, None)) => return Err(Error::Refused { doing: doing(), reason: "it has no ETag".into() }),
        };
        match self.write(&path, new, mode) {
            Ok(_) => Ok(Swapped::Done),
            Err(Failure::Precondition { .. }) => Ok(Swapped::Differs),
            // Somebody else's value stands there, or is under way: who looks again finds out.
            Err(failure @ Failure::AlreadyExists { .. }) => {
                Err(Error::Unknown { doing: doing(), reason: failure.to_string() })
            }
            Err(failure) => Err(failed(&doing(), failure)),
        }
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        let path = self.path("beat as", "beat", node)?;
        let put = self.write(&path, beat, PutMode::Overwrite);
        put.map(drop).map_err(|failure| failed(&format!("put {path}"), failure))
    }

    fn forget(&self, node: &str) -> Result<()> {
        self.delete(&self.path("forget", "beat", node)?)
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = Path::from(format!("{}/beat", self.config.folder));
        let listed = self.client.list(Some(&folder));
        let beats = listed
            .map_ok(|meta| async move {
                // Who has just gone is not there.
                let beat = read(&self.client, &meta.location).await?.map(|(beat, _)| beat);
                Ok(meta.location.filename().map(str::to_owned).zip(beat))
            })
            .try_buffered(IN_FLIGHT)
            .try_filter_map(future::ok)
            .try_collect::<Vec<_>>();
        let beats = self.runtime.block_on(beats);
        let mut beats = beats.map_err(|failure| failed(&format!("read the beats in {folder}"), failure))?;
        beats.sort();
        Ok(beats)
    }
}
