//! A farm in a process of its own: started, asked what it did, ended or killed.

use std::{
    io::{BufRead, BufReader, Lines},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use crate::store_bench::Outcome;

/// A farm that runs.
pub(crate) struct FarmProcess {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Where its servers are.
    pub(crate) ca: Vec<SocketAddr>,
    /// When update 0 of each PV was made, in nanoseconds since 1970.
    pub(crate) start: i64,
}

/// What a farm says at its end.
pub(crate) struct FarmReport(Vec<Value>);

impl FarmProcess {
    /// Starts this program as a farm and waits until it serves.
    pub(crate) fn start(arguments: &[String]) -> Outcome<FarmProcess> {
        FarmProcess::start_on(None, arguments)
    }

    /// The same on some cores only.
    pub(crate) fn start_on(cores: Option<&str>, arguments: &[String]) -> Outcome<FarmProcess> {
        let mut command = on_cores(cores, &std::env::current_exe()?);
        command.args(["ioc", "--json"]).args(arguments).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let stdout = process.stdout.take().ok_or("a farm without output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = lines.next().ok_or("the farm ended before it served")??;
        let serving: Value = serde_json::from_str(&line)?;
        let ca = serving["ca"].as_array().into_iter().flatten().filter_map(|address| address.as_str()?.parse().ok());
        Ok(FarmProcess { ca: ca.collect(), start: serving["start"].as_i64().unwrap_or(0), process, lines })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// As a power cut would.
    pub(crate) fn kill(&mut self) -> Outcome<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Sends it a signal by its name.
    pub(crate) fn signal(&self, name: &str) -> Outcome<()> {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status()?;
        if sent.success() { Ok(()) } else { Err(format!("the farm could not be sent {name}").into()) }
    }

    /// Asks it to end, as Ctrl-C would, and returns what it says.
    pub(crate) fn end(mut self) -> Outcome<FarmReport> {
        self.signal("TERM")?;
        let mut found = Vec::new();
        for line in self.lines.by_ref() {
            found.push(serde_json::from_str(&line?)?);
        }
        self.process.wait()?;
        Ok(FarmReport(found))
    }
}

/// A program that is to run on these cores, or on all that this one has.
pub(crate) fn on_cores(cores: Option<&str>, program: &Path) -> Command {
    let Some(cores) = cores else { return Command::new(program) };
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(program);
    command
}

impl Drop for FarmProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl FarmReport {
    /// A figure of it.
    pub(crate) fn value(&self, metric: &str) -> Outcome<f64> {
        let found = self.0.iter().find(|line| line["metric"] == metric).and_then(|line| line["value"].as_f64());
        found.ok_or_else(|| format!("the farm says nothing of {metric:?}").into())
    }

    /// The same, where it counts.
    pub(crate) fn count(&self, metric: &str) -> Outcome<u64> {
        Ok(self.value(metric)? as u64)
    }
}
