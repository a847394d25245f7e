//! Plays the cases of a golden file: what is recorded in `testdata` against what comes out now.
//!
//! A case is a sentence, then steps, then `----` and what the user is told. Cases are separated by blank lines.
//! Bytes are hexadecimal, `"text"`, or `00*7` for seven zeros, up to a `#`; they go on in lines that begin with the same sign,
//! after `=` with a blank. `UPDATE_GOLDEN=1` writes what comes out below the `----` lines.

use std::{env, fs, path::PathBuf};

/// What is done, and with what. Bytes are one step, however many lines they take.
pub(crate) struct Step<'a> {
    pub(crate) verb: &'a str,
    pub(crate) rest: String,
}

/// Plays every case of the file in `testdata`; `play` takes its sentence and its steps, and returns what the user is told.
pub(crate) fn check(file: &str, play: impl Fn(&str, &[Step]) -> Vec<String>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(file);
    let recorded = fs::read_to_string(&path).expect("the golden file is there");
    let cases: Vec<String> = recorded.trim_end().split("\n\n").map(|case| play_case(case, &play)).collect();
    let played = cases.join("\n\n") + "\n";
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &played).expect("the golden file can be written");
        return;
    }
    for (recorded, played) in recorded.trim_end().split("\n\n").zip(&cases) {
        assert!(recorded.trim_end() == played, "{file} records\n\n{recorded}\n\nbut now it is\n\n{played}\n");
    }
}

/// Returns the case with what came out of it.
fn play_case(case: &str, play: impl Fn(&str, &[Step]) -> Vec<String>) -> String {
    let lines: Vec<&str> = case.lines().take_while(|line| *line != "----").collect();
    let (sentence, steps) = lines.split_first().expect("a case begins with a sentence");
    let told = play(sentence, &read_steps(steps));
    let told = if told.is_empty() { "nothing".to_owned() } else { told.join("\n") };
    format!("{}\n----\n{told}", lines.join("\n"))
}

fn read_steps<'a>(lines: &[&'a str]) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut rest = rest.to_owned();
        if [">", "<", "="].contains(&verb) {
            let goes_on = if verb == "=" { " " } else { verb };
            rest = without_comment(&rest).to_owned();
            while let Some(more) = lines.next_if(|next| next.starts_with(goes_on)) {
                rest = rest + " " + without_comment(&more[1..]);
            }
        }
        steps.push(Step { verb, rest });
    }
    steps
}

fn without_comment(bytes: &str) -> &str {
    bytes.split('#').next().unwrap_or_default().trim()
}

pub(crate) fn parse_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some((text, after)) = rest.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
            bytes.extend_from_slice(text.as_bytes());
            rest = after.trim_start();
            continue;
        }
        let (token, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let (byte, times) = token.split_once('*').unwrap_or((token, "1"));
        let byte = u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("no byte: {token}"));
        bytes.extend(std::iter::repeat_n(byte, times.parse().expect("a number of repeats")));
        rest = after.trim_start();
    }
    bytes
}

/// Nothing less and nothing more than the expected bytes was sent.
pub(crate) fn assert_sent(sentence: &str, sent: &[u8], expected: &[u8]) {
    let (sent, expected) = (hexadecimal(sent), hexadecimal(expected));
    assert!(sent == expected, "{sentence}\nsent:\n{sent}expected:\n{expected}");
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.chunks(8).map(|row| row.iter().map(|byte| format!("{byte:02x} ")).collect::<String>() + "\n").collect()
}
