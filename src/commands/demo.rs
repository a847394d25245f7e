//! The demo: a real EPICS Base IOC with a hundred lively PVs, archived by an ordinary pvark.

use std::{
    fs, io,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use archive::{AddRequest, PvName, Wishes};

use super::{http::encoded, print::print_line};
use crate::{
    cli::{Demo, Run},
    config::Config,
    failure::Failure,
    host::process,
};

/// The records of the IOC.
const RECORDS: &str = include_str!("../../demo/demo.db");

/// The PVs to archive, one a line, `#` begins a comment.
const PVS: &str = include_str!("../../demo/pvs.txt");

/// The PVs that the page shows at first.
const FIRST_VIEW: [&str; 3] = ["DEMO:BEAM:CURRENT", "DEMO:BPM1:X", "DEMO:MODE"];

/// Starts the IOC and archives all its PVs until told to stop.
pub(crate) fn run(
    command: &Demo,
    archive: impl FnOnce(Config, &[AddRequest]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let ports = Ports::free()?;
    fs::create_dir_all(&command.data)
        .map_err(|error| format!("cannot make the folder {}: {error}", command.data.display()))?;
    let _ioc = Ioc::start(&command.python, &command.data, &ports)?;
    let env = |key: &str| ports.variable(key).or_else(|| process::env(key));
    let options =
        Run { data: Some(command.data.join("archive")), listen: Some(command.listen.clone()), ..Run::default() };
    let config = Config::load(&options, env)?;
    let wanted = wanted()?;
    print_line(&format!(
        "\n  {} PVs of a real EPICS IOC are being archived in {}",
        wanted.len(),
        command.data.display()
    ))?;
    print_line(&format!("  Open  http://{}/?{}\n", command.listen, first_view()))?;
    print_line("  Ctrl-C stops the IOC and the archiver; the data stays for the next demo.\n")?;
    archive(config, &wanted)
}

fn wanted() -> Result<Vec<AddRequest>, Failure> {
    let lines = PVS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let request = |line| {
        let (protocol, name) = PvName::parse(line)?;
        let wishes = Wishes { protocol, ..Wishes::default() };
        Ok(AddRequest { wishes, ..AddRequest::new(name) })
    };
    lines.map(request).collect()
}

fn first_view() -> String {
    FIRST_VIEW.map(|name| format!("pv={}&", encoded(name))).concat() + "live=300"
}

/// Ports of its own, so that the demo neither sees nor disturbs a control system.
struct Ports {
    ca: u16,
    repeater: u16,
    pva: u16,
    pva_search: u16,
}

impl Ports {
    /// Ports that are free now. All are held until the last is known, so they differ.
    fn free() -> io::Result<Ports> {
        let held: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let port = |index: usize| held[index].local_addr().map(|address| address.port());
        Ok(Ports { ca: port(0)?, repeater: port(1)?, pva: port(2)?, pva_search: port(3)? })
    }

    /// The EPICS variables for both the IOC and the archiver: loopback and these ports only.
    fn variable(&self, key: &str) -> Option<String> {
        self.variables().into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let port = |port: u16| port.to_string();
        let (loopback, no) = (|| "127.0.0.1".to_owned(), || "NO".to_owned());
        vec![
            ("EPICS_CA_ADDR_LIST", loopback()),
            ("EPICS_CA_AUTO_ADDR_LIST", no()),
            ("EPICS_CA_SERVER_PORT", port(self.ca)),
            ("EPICS_CA_REPEATER_PORT", port(self.repeater)),
            ("EPICS_CAS_INTF_ADDR_LIST", loopback()),
            ("EPICS_CAS_BEACON_ADDR_LIST", loopback()),
            ("EPICS_CAS_AUTO_BEACON_ADDR_LIST", no()),
            ("EPICS_PVA_ADDR_LIST", loopback()),
            ("EPICS_PVA_AUTO_ADDR_LIST", no()),
            ("EPICS_PVA_SERVER_PORT", port(self.pva)),
            ("EPICS_PVA_BROADCAST_PORT", port(self.pva_search)),
            ("EPICS_PVAS_SERVER_PORT", port(self.pva)),
            ("EPICS_PVAS_BROADCAST_PORT", port(self.pva_search)),
            ("EPICS_PVAS_INTF_ADDR_LIST", loopback()),
            ("EPICS_PVAS_BEACON_ADDR_LIST", loopback()),
            ("EPICS_PVAS_AUTO_BEACON_ADDR_LIST", no()),
        ]
    }
}

/// The IOC's process; it ends with the demo.
struct Ioc(Child);

impl Ioc {
    fn start(python: &Path, folder: &Path, ports: &Ports) -> Result<Ioc, Failure> {
        let records = folder.join("demo.db");
        fs::write(&records, RECORDS).map_err(|error| format!("cannot write {}: {error}", records.display()))?;
        let log = fs::File::create(folder.join("ioc.log"))?;
        let child = Command::new(python)
            .args(["-m", "pvxslibs.ioc", "-d"])
            .arg(&records)
            .envs(ports.variables())
            .stdin(Stdio::piped()) // the IOC's shell ends when its input does
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| {
                format!(
                    "cannot start {}: {error}; say --python PATH of one that has epicscorelibs and pvxslibs",
                    python.display()
                )
            })?;
        let mut ioc = Ioc(child);
        ioc.wait_until_it_serves(ports.ca, folder)?;
        Ok(ioc)
    }

    fn wait_until_it_serves(&mut self, port: u16, folder: &Path) -> Result<(), Failure> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait()? {
                let said = fs::read_to_string(folder.join("ioc.log")).unwrap_or_default();
                return Err(format!("the IOC ended at once ({status}): {}", said.trim()).into());
            }
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("the IOC does not serve after 30 s; see {}", folder.join("ioc.log").display()).into())
    }
}

impl Drop for Ioc {
    fn drop(&mut self) {
        // An IOC that has ended already cannot be ended again, and nothing is left to do about it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
