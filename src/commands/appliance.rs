//! An archiver that speaks the Archiver Appliance's URLs, as its client sees it: which PVs it has, what it knows of them, their samples.

use std::{
    io::{self, Read},
    time::Duration,
};

use sample::{TimeRange, Timestamp};
use serde_json::Value;

use super::{
    http::{ANSWER_BYTES_MAX, agent_of, encoded},
    table::list,
};
use crate::failure::Failure;

/// A stream that gives nothing for so long has failed.
const SILENT_MAX: Duration = Duration::from_secs(120);
/// Aliases and type infos of a whole site are lists of some hundred MB at most.
const LIST_BYTES_MAX: u64 = 4 * ANSWER_BYTES_MAX;

/// Where an archiver answers.
#[derive(Clone, Debug)]
pub(crate) struct Appliance {
    /// As it was given, without a slash at its end.
    pub(crate) url: String,
    /// `…/retrieval`, which is another port where its four parts have four.
    retrieval: String,
    agent: ureq::Agent,
}

/// Bytes of an answer as they come.
pub(crate) type Incoming = Box<dyn Read + Send>;

impl Appliance {
    /// Looks for its retrieval: below the URL, else where the archiver itself says.
    pub(crate) fn at(url: &str, retrieval: Option<&str>) -> Result<Appliance, Failure> {
        let url = url.trim_end_matches('/').to_owned();
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_per_read(Some(SILENT_MAX));
        let mut appliance = Appliance { retrieval: format!("{url}/retrieval"), url, agent: agent_of(config) };
        if let Some(retrieval) = retrieval {
            retrieval.trim_end_matches('/').clone_into(&mut appliance.retrieval);
            return Ok(appliance);
        }
        let below = appliance.status(&format!("{}/bpl/getVersion", appliance.retrieval))?;
        if below != 200 {
            let own = appliance
                .manage("getApplianceInfo")?
                .and_then(|said| said["dataRetrievalURL"].as_str().map(str::to_owned));
            let own = own.ok_or_else(|| {
                format!("{} has no {} [HTTP {below}]; name it with --retrieval", appliance.url, appliance.retrieval)
            })?;
            own.trim_end_matches('/').clone_into(&mut appliance.retrieval);
        }
        Ok(appliance)
    }

    fn status(&self, url: &str) -> Result<u16, Failure> {
        let answer = self.agent.get(url).call().map_err(|error| self.silent(url, &error))?;
        Ok(answer.status().as_u16())
    }

    fn silent(&self, url: &str, error: &ureq::Error) -> String {
        format!("no archiver answers at {url} ({error})")
    }

    /// An answer of its management; none where it knows nothing of what was asked for.
    pub(crate) fn manage(&self, action: &str) -> Result<Option<Value>, Failure> {
        self.json(&format!("{}/mgmt/bpl/{action}", self.url))
    }

    /// JSON from a URL. The Appliance writes ISO-8859-1 where there is anything but ASCII, so bytes that are no UTF-8 are read as that.
    fn json(&self, url: &str) -> Result<Option<Value>, Failure> {
        let mut answer = self.agent.get(url).call().map_err(|error| self.silent(url, &error))?;
        let status = answer.status().as_u16();
        if status == 404 {
            return Ok(None);
        }
        let bytes = answer.body_mut().with_config().limit(LIST_BYTES_MAX).read_to_vec();
        let bytes = bytes.map_err(|error| format!("the answer of {url} broke off: {error}"))?;
        if status != 200 {
            let text = String::from_utf8_lossy(&bytes);
            return Err(format!("{url}: HTTP {status}, {}", text.lines().next().unwrap_or("no text")).into());
        }
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect());
        serde_json::from_str(&text).map(Some).map_err(|error| format!("{url} answers what is not JSON: {error}").into())
    }

    /// The names that a pattern fits, or all; aliases are among them.
    pub(crate) fn names(&self, glob: Option<&str>) -> Result<Vec<String>, Failure> {
        let glob = glob.map(|glob| format!("pv={}&", encoded(glob))).unwrap_or_default();
        let names = self.manage(&format!("getAllPVs?{glob}limit=-1"))?;
        let names = names.ok_or_else(|| format!("{}/mgmt has no list of PVs; name them", self.url))?;
        Ok(list(&names).iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }

    /// All aliases, each with the PV that it stands for.
    pub(crate) fn aliases(&self) -> Result<Vec<(String, String)>, Failure> {
        let rows = self.manage("getAllAliases")?.unwrap_or_default();
        let pair = |row: &Value| Some((row["aliasName"].as_str()?.to_owned(), row["srcPVName"].as_str()?.to_owned()));
        Ok(list(&rows).iter().filter_map(pair).collect())
    }

    /// What its configuration says of a PV.
    pub(crate) fn type_info(&self, pv: &str) -> Result<Option<Value>, Failure> {
        self.manage(&format!("getPVTypeInfo?pv={}", encoded(pv)))
    }

    /// What it calls itself.
    pub(crate) fn version(&self) -> String {
        let said = self.json(&format!("{}/bpl/getVersion", self.retrieval)).ok().flatten().unwrap_or_default();
        said["version"].as_str().unwrap_or("of a version that it does not tell").to_owned()
    }

    /// The URL of a PV's samples in a range, in one of its formats.
    pub(crate) fn samples_url(&self, pv: &str, range: TimeRange, format: &str) -> String {
        // Its `to` is included.
        let last = Timestamp::from_nanos(range.t1.nanos().saturating_sub(1).max(range.t0.nanos()));
        format!("{}/data/getData.{format}?pv={}&from={}&to={last}", self.retrieval, encoded(pv), range.t0)
    }

    /// The samples of a PV in a range as lines, and the last one before it; none if it does not know the PV.
    pub(crate) fn samples(&self, pv: &str, range: TimeRange) -> io::Result<Option<Incoming>> {
        let url = self.samples_url(pv, range, "raw");
        let answer = self.agent.get(&url).call().map_err(|error| io::Error::other(self.silent(&url, &error)))?;
        match answer.status().as_u16() {
            200 => Ok(Some(Box::new(answer.into_body().into_reader()))),
            404 => Ok(None),
            status => Err(io::Error::other(format!("HTTP {status}"))),
        }
    }
}
