//! The archiver under test: `pvark run` with a folder and a config of its own.

use std::{
    fs::{self, File},
    io::Write,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{farm_process, store_bench::Outcome};

const START_PATIENCE: Duration = Duration::from_secs(30);

/// An archiver that runs.
pub(crate) struct Archiver {
    program: PathBuf,
    process: Child,
    url: String,
    log: PathBuf,
    /// Its archive.
    pub(crate) data: PathBuf,
}

impl Archiver {
    pub(crate) fn start(
        program: &Path,
        cores: Option<&str>,
        folder: &Path,
        servers: &[SocketAddr],
        config_lines: &[String],
    ) -> Outcome<Archiver> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (data, log, config) = (folder.join("data"), folder.join("log"), folder.join("pvark.toml"));
        let servers = servers.iter().map(|server| format!("\"{server}\"")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "listen = \"127.0.0.1:{port}\"\ndata = {:?}\n{}\n[ca]\naddress_list = [{servers}]\nauto_address_list = false\n\
             [pva]\naddress_list = []\nauto_address_list = false\n",
            data.display().to_string(),
            config_lines.join("\n")
        );
        fs::write(&config, text)?;
        let mut command = farm_process::on_cores(cores, program);
        command.arg("run").arg("--config").arg(&config).stdin(Stdio::null());
        command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
        let process = command.spawn()?;
        let url = format!("http://127.0.0.1:{port}");
        let mut archiver = Archiver { program: program.to_owned(), process, url, log, data };
        archiver.wait_for("the archiver to answer", START_PATIENCE, |_| true)?;
        Ok(archiver)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn add(&self, names: impl Iterator<Item = String>) -> Outcome<()> {
        let mut command = Command::new(&self.program);
        command.args(["add", "-", "--server", &self.url]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut adding = command.spawn()?;
        if let Some(mut stdin) = adding.stdin.take() {
            stdin.write_all(names.collect::<Vec<_>>().join("\n").as_bytes())?;
        }
        if adding.wait()?.success() { Ok(()) } else { Err("the archiver did not take the PVs".into()) }
    }

    /// Until its status is as wanted.
    pub(crate) fn wait_for(&mut self, what: &str, patience: Duration, is_so: impl Fn(&Value) -> bool) -> Outcome<()> {
        let end = Instant::now() + patience;
        loop {
            if self.status().is_ok_and(|status| is_so(&status)) {
                return Ok(());
            }
            if let Some(code) = self.process.try_wait()? {
                return Err(format!("the archiver ended with {code}: {}", fs::read_to_string(&self.log)?).into());
            }
            if Instant::now() > end {
                return Err(format!("waited {} s in vain for {what}", patience.as_secs()).into());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Updates that are in its store.
    pub(crate) fn stored(&self) -> Outcome<u64> {
        Ok(self.status()?["samples"]["stored"].as_u64().ok_or("the status does not say what is stored")?)
    }

    /// Updates that it received and says it has not stored.
    pub(crate) fn dropped(&self) -> Outcome<u64> {
        let samples = &self.status()?["samples"];
        let of = |counter: &str| samples[counter].as_u64().ok_or_else(|| format!("the status has no {counter}"));
        Ok(of("dropped_queue")? + of("dropped_store")?)
    }

    pub(crate) fn status(&self) -> Outcome<Value> {
        Ok(ureq::get(format!("{}/api/v1/status", self.url)).call()?.body_mut().read_json()?)
    }

    /// Bytes that it received from IOCs.
    pub(crate) fn received_bytes(&self) -> Outcome<f64> {
        let text = ureq::get(format!("{}/metrics", self.url)).call()?.body_mut().read_to_string()?;
        let of_both = text.lines().filter(|line| line.starts_with("pvark_client_received_bytes_total"));
        Ok(of_both.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum())
    }

    /// Where it answers.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to end, and waits until all it has is safe.
    pub(crate) fn end(&mut self) -> Outcome<()> {
        Command::new("kill").args(["-TERM", &self.id().to_string()]).status()?;
        let code = self.process.wait()?;
        if code.success() {
            Ok(())
        } else {
            Err(format!("the archiver ended with {code}: {}", fs::read_to_string(&self.log)?).into())
        }
    }
}

impl Drop for Archiver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
