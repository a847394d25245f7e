//! `pvark export`: many PVs for long ranges as one file. The archiver makes it, this fetches it, and goes on where a connection broke off,
//! or an earlier `pvark export --fetch` ended.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    bytes::bytes_text,
    diff::Named,
    http::{Method, agent_of, ask, checked, encoded},
    print::print_line,
    progress::Told,
    table::{aligned, list, text},
};
use crate::{
    cli::{ExportArgs, Server},
    failure::Failure,
    host::clock::now,
};

/// So often it is asked how far the archiver is.
const ASKED_EACH: Duration = Duration::from_millis(500);
/// So much is fetched at a time: what does not come within a while is asked for again from where it ended.
const PIECE_BYTES: u64 = 8 << 20;
const PIECE_WITHIN: Duration = Duration::from_secs(120);
/// So long nothing may come before it is given up; the part that is there stays.
const PATIENCE: Duration = Duration::from_secs(120);
const TRY_AFTER: Duration = Duration::from_secs(2);

pub(crate) fn run(command: &ExportArgs) -> Result<(), Failure> {
    let server = &command.server;
    if command.list {
        return listed(server);
    }
    if let Some(number) = command.remove {
        let job = ask(server, Method::Delete, &format!("exports/{number}"))?;
        return Ok(print_line(&format!("export {number} ({}) is removed", text(&job["file"])))?);
    }
    if let Some(output) = command.output.as_deref().filter(|output| is_named_a_folder(output) && !output.is_dir()) {
        return Err(format!("there is no folder {}: make it, or leave the / at its end out", output.display()).into());
    }
    if let Some(number) = command.fetch {
        return fetched(command, number);
    }
    let named = Named::of(&command.pvs)?;
    let path = format!("exports?{}", query(command, &named)?);
    if command.plan {
        return planned(&ask(server, Method::Post(json!(named.names)), &format!("{path}&plan=true"))?);
    }
    let job = ask(server, Method::Post(json!(named.names)), &path)?;
    let number = job["number"].as_u64().ok_or("the archiver does not say which number the export has")?;
    told_of(&job);
    eprintln!("export {number} is ordered; if this ends before it is here: pvark export --fetch {number}");
    fetched(command, number)
}

/// What is ordered, as parameters.
fn query(command: &ExportArgs, named: &Named) -> Result<String, Failure> {
    let (from, to) = command.range.ends(now())?;
    let format = match (&command.format, &command.output) {
        (Some(format), _) => format.clone(),
        (None, Some(output)) if !is_named_a_folder(output) && !output.is_dir() => {
            output.extension().map_or("csv".into(), |end| end.to_string_lossy().into_owned())
        }
        (None, _) => "csv".to_owned(),
    };
    let is_aligned = command.aligned || command.period.is_some() || command.times_of.is_some();
    let mut query = format!("from={from}&to={to}&format={}", encoded(&format));
    let mut put = |name: &str, value: String| query.push_str(&format!("&{name}={}", encoded(&value)));
    put("rows", if is_aligned { "aligned" } else { "raw" }.to_owned());
    if let Some(pattern) = &named.pattern {
        put("match", pattern.clone());
    }
    if is_aligned {
        put("method", command.method.clone());
        command.period.into_iter().for_each(|period| put("period", period.to_string()));
        command.times_of.iter().for_each(|pv| put("times_of", pv.clone()));
        command.tolerance.into_iter().for_each(|tolerance| put("tolerance", tolerance.to_string()));
        put("severity", command.severity.to_string());
    } else {
        put("before", command.before.to_string());
    }
    Ok(query)
}

fn is_named_a_folder(output: &Path) -> bool {
    output.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn listed(server: &Server) -> Result<(), Failure> {
    let answer = ask(server, Method::Get, "exports")?;
    let mut rows = vec![["number", "state", "done", "bytes", "expires", "file"].map(str::to_owned).to_vec()];
    for job in list(&answer["exports"]) {
        let done = format!("{:.0} %", job["progress"].as_f64().unwrap_or(0.0) * 100.0);
        let rest = ["bytes", "expires", "file"].map(|column| text(&job[column]));
        rows.push([vec![text(&job["number"]), text(&job["state"]), done], rest.to_vec()].concat());
    }
    Ok(aligned(&rows).iter().try_for_each(|line| print_line(line))?)
}

/// What it will be.
fn planned(plan: &Value) -> Result<(), Failure> {
    for (title, column) in
        [("file", "file"), ("PVs", "pvs"), ("samples, about", "samples"), ("rows, about", "rows_count")]
    {
        print_line(&format!("{title:<16}{}", text(&plan[column])))?;
    }
    print_line(&format!("{:<16}{}", "bytes, about", text(&plan["bytes"])))?;
    print_line(&format!("{:<16}{}", "bytes left", text(&plan["bytes_free"])))?;
    list(&plan["notes"]).iter().try_for_each(|note| print_line(&format!("note: {}", text(note))))?;
    match plan["refused"]["message"].as_str() {
        None => Ok(()),
        Some(message) => {
            let hint = plan["refused"]["hint"].as_str().map(|hint| format!(" ({hint})")).unwrap_or_default();
            Err(format!("it would be refused: {message}{hint}").into())
        }
    }
}

/// What is to be known of an export.
fn told_of(job: &Value) {
    list(&job["notes"]).iter().for_each(|note| eprintln!("note: {}", text(note)));
}

/// Waits until it is made, and fetches it.
fn fetched(command: &ExportArgs, number: u64) -> Result<(), Failure> {
    let job = made(&command.server, number)?;
    let name = text(&job["file"]);
    let path = match &command.output {
        None => PathBuf::from(&name),
        Some(output) if output.is_dir() => output.join(&name),
        Some(output) => output.clone(),
    };
    let bytes = job["bytes"].as_u64().ok_or("the archiver does not say how long the file is")?;
    let etag = job["etag"].as_str().ok_or("the archiver does not say which file it is")?;
    let part = part_of(&path, etag);
    let url = format!("{}/api/v1/exports/{number}/file", command.server.url);
    let file = fetch(&command.server, &url, etag, bytes, &part)?;
    put_in_place(&file, &part, &path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    told_of(&job);
    if job["without_count"].as_u64().unwrap_or(0) > 0 {
        let names: Vec<String> = list(&job["without"]).iter().map(text).collect();
        eprintln!("{} PVs have no samples in the range: {}", job["without_count"], names.join(" "));
    }
    list(&job["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    let line = format!("{}  {bytes} bytes, {} samples or rows, {} gaps", path.display(), job["samples"], job["gaps"]);
    Ok(print_line(&line)?)
}

/// What has come so far of one file: another one with the same name has another part.
fn part_of(path: &Path, etag: &str) -> PathBuf {
    let mark: String = etag.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{name}.{mark}.part"))
}

/// Waits until the archiver has made it.
fn made(server: &Server, number: u64) -> Result<Value, Failure> {
    let (mut told, mut heard) = (Told::new(), Instant::now());
    loop {
        let job = match ask(server, Method::Get, &format!("exports/{number}")) {
            Ok(job) => job,
            Err(failure) if heard.elapsed() < PATIENCE && is_away(&failure) => {
                eprintln!("{failure}; trying again");
                sleep(TRY_AFTER);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        heard = Instant::now();
        match job["state"].as_str() {
            Some("done") => return Ok(job),
            Some("failed") => {
                let hint = job["error"]["hint"].as_str().map(|hint| format!(" ({hint})")).unwrap_or_default();
                return Err(format!("export {number} has failed: {}{hint}", text(&job["error"]["message"])).into());
            }
            _ => {}
        }
        told.say(|| {
            let done = job["progress"].as_f64().unwrap_or(0.0) * 100.0;
            format!("{}: {done:.0} %, {} samples or rows, {} bytes", text(&job["state"]), job["samples"], job["bytes"])
        });
        sleep(ASKED_EACH);
    }
}

/// Whether nobody has answered, so that it may be asked again: an answer that is a refusal says its status.
fn is_away(failure: &Failure) -> bool {
    !failure.to_string().contains("[HTTP ")
}

/// Gives the part its name, unless another program that fetched the same has done so.
fn put_in_place(file: &File, part: &Path, path: &Path) -> io::Result<()> {
    let own = file.metadata()?;
    let is_ours = |path: &Path| fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino()));
    // The part first: what is not there any more may have got its name meanwhile.
    if !is_ours(part) {
        if is_ours(path) {
            return Ok(());
        }
        return Err(io::Error::other(format!("another program has taken {} away", part.display())));
    }
    #[expect(clippy::disallowed_methods, reason = "a file of whoever runs the command, and not of the archive")]
    let renamed = fs::rename(part, path);
    renamed.or_else(|error| if is_ours(path) { Ok(()) } else { Err(error) })
}

/// Fetches what is not there yet, piece by piece. Each byte is written at its place, so that nothing comes twice where two fetch the same.
fn fetch(server: &Server, url: &str, etag: &str, bytes: u64, part: &Path) -> Result<File, Failure> {
    let cannot = |error: io::Error| format!("cannot write {}: {error}", part.display());
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(part).map_err(cannot)?;
    let mut here = file.metadata().map_err(cannot)?.len();
    if here > bytes {
        file.set_len(0).map_err(cannot)?;
        here = 0;
    }
    let (mut told, mut heard) = (Told::new(), Instant::now());
    while here < bytes {
        match piece(server, url, etag, &mut here, bytes, &file) {
            Ok(()) => heard = Instant::now(),
            Err(failure) if !is_away(&failure) || heard.elapsed() >= PATIENCE => return Err(failure),
            Err(failure) => {
                eprintln!("{failure}; going on");
                sleep(TRY_AFTER);
            }
        }
        told.say(|| format!("fetched {} of {}", bytes_text(here), bytes_text(bytes)));
    }
    file.sync_all().map_err(cannot)?;
    let len = file.metadata().map_err(cannot)?.len();
    if len != bytes {
        let message = format!("{} has {len} bytes and not {bytes}: another program writes it too", part.display());
        return Err(format!("{message}; remove it and fetch again").into());
    }
    Ok(file)
}

/// One piece, or as much of it as comes.
fn piece(server: &Server, url: &str, etag: &str, here: &mut u64, bytes: u64, file: &File) -> Result<(), Failure> {
    let end = (*here + PIECE_BYTES).min(bytes);
    let last = end - 1;
    let within = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(5)))
        .timeout_recv_response(Some(PIECE_WITHIN))
        .timeout_recv_body(Some(PIECE_WITHIN));
    let sent =
        agent_of(within).get(url).header("range", format!("bytes={here}-{last}")).header("if-range", etag).call();
    let mut answer = checked(sent, &server.url)?;
    if answer.status().as_u16() != 206 {
        return Err("the archiver has another file under this number now [HTTP 200]".into());
    }
    let (mut body, mut chunk) = (answer.body_mut().as_reader().take(end - *here), vec![0; 64 << 10]);
    loop {
        match body.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(size) => {
                file.write_all_at(&chunk[..size], *here)?;
                *here += size as u64;
            }
            Err(error) => return Err(format!("the connection broke off: {error}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_fetch_the_same_the_second_finds_the_file_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (part, path) = (folder.path().join("x.csv.1-a.part"), folder.path().join("x.csv"));
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(&part).unwrap();
        let (first, second) = (open(), open());
        put_in_place(&first, &part, &path).unwrap();
        put_in_place(&second, &part, &path).unwrap();
        // What somebody else has begun anew is not taken for what was fetched.
        let (third, own) = (open(), File::create(folder.path().join("own")).unwrap());
        assert!(put_in_place(&own, &part, &path).is_err());
        drop(third);
        assert!(part.exists() && path.exists());
    }

    #[test]
    fn a_part_is_of_one_file_alone() {
        let part = |etag| part_of(Path::new("/tmp/a/x.csv"), etag);
        assert_eq!(part("\"12-187a\""), Path::new("/tmp/a/x.csv.12-187a.part"));
        assert_ne!(part("\"12-187a\""), part("\"12-187b\""));
        assert_eq!(part("\"../../x\""), Path::new("/tmp/a/x.csv.x.part"));
    }
}
