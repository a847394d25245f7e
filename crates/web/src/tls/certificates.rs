//! The certificate that a listener uses now: replaced when its files are, if they fit; else the one before stays, and it is said why.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{AcqRel, Acquire},
        },
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use rustls::ServerConfig;
use sample::Timestamp;

use super::pair::{CertificateFiles, ExpiryRule, Usable, usable};
use crate::listener::Tls;

/// So long before it expires a certificate is a problem.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// The certificate of a listener.
pub(crate) struct Certificates {
    tls: Tls,
    /// None while no pair was ever good for anything.
    used: ArcSwapOption<ServerConfig>,
    state: Mutex<State>,
    /// How many were to look at the files since nobody did. One of them looks for all, which takes long on a disk that does not answer.
    wanted: AtomicUsize,
}

/// What is known of the files.
#[derive(Default)]
struct State {
    /// As they were when they were looked at last.
    files: Option<CertificateFiles>,
    /// Until when what is used holds.
    not_after: Option<Timestamp>,
    lists_until: Option<Timestamp>,
    /// Why what lies there is not used.
    refused: Option<String>,
}

impl Certificates {
    /// Reads the files for the first time. Whatever is wrong with them is told by `problems`: the archiver records without them.
    pub(crate) fn new(tls: Tls, now: Timestamp) -> Certificates {
        let certificates =
            Certificates { tls, used: ArcSwapOption::empty(), state: Mutex::default(), wanted: AtomicUsize::new(0) };
        certificates.look(now);
        certificates
    }

    /// What a new connection is answered with; none if nothing can be used.
    pub(crate) fn used(&self) -> Option<Arc<ServerConfig>> {
        self.used.load_full()
    }

    /// Looks at the files, and uses what is new there if it fits. What is wrong is said in the log once. Whether that is done: whoever looks
    /// already looks once more then, as the files may have been replaced behind it.
    pub(crate) fn look(&self, now: Timestamp) -> bool {
        if self.wanted.fetch_add(1, AcqRel) > 0 {
            return false;
        }
        loop {
            let wanted = self.wanted.load(Acquire);
            let read = CertificateFiles::read(&self.tls);
            self.take(read, now);
            if self.wanted.compare_exchange(wanted, 0, AcqRel, Acquire).is_ok() {
                return true;
            }
        }
    }

    fn take(&self, read: Result<CertificateFiles, String>, now: Timestamp) {
        let mut state = self.state.lock().expect("no holder of this lock panics");
        let files = match read {
            Ok(files) if state.files.as_ref() == Some(&files) => return,
            Ok(files) => files,
            Err(wrong) => {
                state.files = None;
                return self.refuse(&mut state, wrong);
            }
        };
        // One that has expired is better than none: clients say what is wrong with it, and some take it.
        let expired = if state.not_after.is_none() { ExpiryRule::Taken } else { ExpiryRule::Refused };
        let usable = usable(&self.tls, &files, now, expired);
        state.files = Some(files);
        match usable {
            Ok(Usable { config, not_after, lists_until }) => {
                self.used.store(Some(config));
                tracing::info!(
                    "the certificate of {} is used, which holds until {not_after}",
                    self.tls.certificate.display()
                );
                *state = State { not_after: Some(not_after), lists_until, refused: None, files: state.files.take() };
            }
            Err(wrong) => self.refuse(&mut state, wrong),
        }
    }

    fn refuse(&self, state: &mut State, wrong: String) {
        if state.refused.as_ref() != Some(&wrong) {
            tracing::error!("{wrong}; {}", Certificates::instead(state));
        }
        state.refused = Some(wrong);
    }

    fn instead(state: &State) -> String {
        match state.not_after {
            Some(until) => format!("the certificate of before is used on, which holds until {until}"),
            None => "until that is mended nobody is answered there".to_owned(),
        }
    }

    /// What is wrong, in sentences for an operator.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<String> {
        let state = self.state.lock().expect("no holder of this lock panics");
        let path = self.tls.certificate.display();
        let mut problems = Vec::new();
        if let Some(wrong) = &state.refused {
            problems.push(format!("New files for TLS are not used: {wrong}; {}.", Certificates::instead(&state)));
        }
        let soon = Timestamp::from_nanos(now.nanos().saturating_add(SOON.as_nanos() as i64));
        match state.not_after {
            Some(until) if until <= now => problems.push(format!("The certificate {path} has expired at {until}.")),
            Some(until) if until <= soon => problems.push(format!("The certificate {path} expires at {until}.")),
            _ => {}
        }
        if let Some(until) = state.lists_until.filter(|until| *until <= now) {
            problems.push(format!("The list of revoked certificates of {path} should have been replaced at {until}."));
        }
        problems
    }

    /// Of which file it is, and until when what is used holds.
    pub(crate) fn holds_until(&self) -> (String, Option<Timestamp>) {
        let state = self.state.lock().expect("no holder of this lock panics");
        (self.tls.certificate.display().to_string(), state.not_after)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command, thread};

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// Both files of a certificate that holds until a year begins.
    fn pair(until: i32) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_after = date_time_ymd(until, 1, 1);
        (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
    }

    /// Another file in the place of one that somebody may be reading.
    fn put(path: &Path, text: &str) {
        let _ = fs::remove_file(path);
        fs::write(path, text).expect("there is room");
    }

    #[test]
    fn files_that_are_replaced_while_somebody_looks_are_looked_at_once_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let (certificate, key) = (folder.path().join("tls.pem"), folder.path().join("tls.key"));
        let (of_certificate, of_key) = pair(2090);
        put(&certificate, &of_certificate);
        put(&key, &of_key);
        let now = Timestamp::from_seconds(1_800_000_000, 0);
        let tls = Tls { certificate: certificate.clone(), key: key.clone(), clients: None };
        let certificates = Certificates::new(tls, now);
        let until = || certificates.holds_until().1.expect("one is used").to_string();
        assert!(until().starts_with("2090-"), "{}", until());
        // Whoever reads this waits until it has been written.
        fs::remove_file(&key).expect("it is there");
        assert!(Command::new("mkfifo").arg(&key).status().expect("mkfifo").success());
        thread::scope(|scope| {
            let first = scope.spawn(|| certificates.look(now));
            let written = fs::OpenOptions::new().write(true).open(&key).expect("somebody reads it");
            let (of_certificate, of_key) = pair(2091);
            put(&certificate, &of_certificate);
            put(&key, &of_key);
            assert!(!certificates.look(now), "it is left to the one who looks already");
            drop(written);
            assert!(first.join().expect("it does not panic"));
        });
        assert!(until().starts_with("2091-"), "{}", until());
        assert!(certificates.look(now), "nobody looks any more");
    }
}
