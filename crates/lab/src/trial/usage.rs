//! What a process takes of the machine, as the system tells it.

use std::{fs, io, path::Path, time::Instant};

/// Of one process, from when it was first looked at.
pub(crate) struct Usage {
    process: u32,
    since: Instant,
    first: f64,
    passed: f64,
    cpu: f64,
    /// Of the thread that writes into the store.
    writer: (f64, f64),
    memory_kib: f64,
    /// To files, since it began.
    written: f64,
}

impl Usage {
    pub(crate) fn watch(process: u32) -> Usage {
        let first = cpu_seconds(process).unwrap_or(0.0);
        let writer = (writer_seconds(process).unwrap_or(0.0), 0.0);
        Usage { process, since: Instant::now(), first, passed: 0.0, cpu: 0.0, writer, memory_kib: 0.0, written: 0.0 }
    }

    pub(crate) fn look(&mut self) {
        if let Some(cpu) = cpu_seconds(self.process) {
            (self.cpu, self.passed) = (cpu - self.first, self.since.elapsed().as_secs_f64());
        }
        if let Some(writer) = writer_seconds(self.process) {
            self.writer.1 = writer - self.writer.0;
        }
        self.written = written_bytes(self.process).unwrap_or(self.written);
        self.memory_kib = self.memory_kib.max(memory_kib(self.process).unwrap_or(0.0));
    }

    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.cpu
    }

    /// Of one core.
    pub(crate) fn cpu_percent(&self) -> f64 {
        100.0 * self.cpu / self.passed.max(1e-9)
    }

    /// The same of the thread that writes into the store.
    pub(crate) fn writer_percent(&self) -> f64 {
        100.0 * self.writer.1 / self.passed.max(1e-9)
    }

    /// Bytes written to files since it began.
    pub(crate) fn written_bytes(&self) -> f64 {
        self.written
    }

    /// The most that was seen.
    pub(crate) fn memory_gb(&self) -> f64 {
        self.memory_kib * 1024.0 / 1e9
    }
}

/// User and system time, in Linux' clock ticks of 10 ms.
fn cpu_seconds(process: u32) -> Option<f64> {
    seconds_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn writer_seconds(process: u32) -> Option<f64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    seconds_in(&stats.into_iter().find(|stat| stat.contains("(writer)"))?)
}

fn seconds_in(stat: &str) -> Option<f64> {
    // The name of the program may hold blanks; what follows does not.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

fn written_bytes(process: u32) -> Option<f64> {
    let io = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

fn memory_kib(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The room that an archive keeps back for the day on which the disk is full.
const RESERVE: &str = "reserve";

/// The bytes of files as they lie on the disk.
#[derive(Clone, Copy, Default)]
pub(crate) struct DiskUsage {
    /// All of an archive but its reserve.
    pub(crate) all: u64,
    pub(crate) segments: u64,
}

pub(crate) fn files(folder: &Path) -> io::Result<DiskUsage> {
    use std::os::unix::fs::MetadataExt;
    let mut files = DiskUsage::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == RESERVE {
            continue;
        }
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            let below = self::files(&path)?;
            files.all += below.all;
            files.segments += below.segments;
            continue;
        }
        files.all += metadata.blocks() * 512;
        if path.extension().is_some_and(|extension| extension == "seg") {
            files.segments += metadata.blocks() * 512;
        }
    }
    Ok(files)
}
