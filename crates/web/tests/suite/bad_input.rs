//! Bad values of every parameter of every URL that gives data: each is refused with its status, a code and words that help.

use crate::served;

use served::{Archive, Connection};

const FROM: &str = "2026-01-01T00:00:00Z";
const TO: &str = "2026-01-01T00:01:00Z";

/// What is no time.
const TIMES: &[&str] = &[
    "tomorrow",
    "2026-13-01T00:00:00Z",
    "2026-02-30",
    "2026-01-01T00:00:00X",
    "2026-01-01T25:00:00Z",
    "99999-01-01T00:00:00Z",
    "-1",
    "NaN",
    "1e999",
    "1767225600000",
    "20260101",
    "%ff%fe",
    "%00",
    "%zz",
    "2026-01-01T00:00:00Z;DROP",
];

/// What is no number of things.
const COUNTS: &[&str] = &["-1", "NaN", "inf", "1.5", "ten", "0x10", "99999999999999999999999", "%ff", "1e3", "1_000"];

/// What is no length of time.
const SECONDS: &[&str] = &["-1", "0", "NaN", "inf", "-inf", "1e300", "ten", "%ff", "1e-30"];

/// What is none of a few words.
const WORDS: &[&str] = &["perhaps", "%ff", "0", "x,y", "json%00"];

/// A URL whose last parameter takes each of some values, and what is said to each.
struct Row {
    url: String,
    values: &'static [&'static str],
    status: u16,
    code: &'static str,
}

fn row(url: impl Into<String>, values: &'static [&'static str], status: u16, code: &'static str) -> Row {
    Row { url: url.into(), values, status, code }
}

#[expect(clippy::too_many_lines, reason = "it is a table, a row for each kind of mistake")]
fn rows() -> Vec<Row> {
    let range = format!("from={FROM}&to={TO}");
    let data = format!("/retrieval/data/getData.json?{range}");
    let own = "/api/v1/pvs/T:DOUBLE";
    let mut rows = vec![
        row("/retrieval/data/getData.json?pv=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/retrieval/data/getData.raw?pv=T:DOUBLE&to=", TIMES, 400, "bad_time"),
        row("/retrieval/data/getDataForPVs.json?pv=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/retrieval/data/getDataAtTime?pv=T:DOUBLE&at=", &[FROM], 400, "bad_request"),
        row(
            "/retrieval/data/getData.json?pv=T:DOUBLE&timeranges=",
            &["x,y", "2026-01-01T00:00:00Z,x", ",", "%ff"],
            400,
            "bad_time",
        ),
        row(
            "/retrieval/data/getData.json?pv=T:DOUBLE&timeranges=",
            &[
                "2026-01-01T00:00:00Z",
                "2026-01-02T00:00:00Z,2026-01-01T00:00:00Z",
                "2026-01-01T00:00:00Z,2026-01-03T00:00:00Z,2026-01-02T00:00:00Z,2026-01-04T00:00:00Z",
            ],
            400,
            "bad_range",
        ),
        row(format!("/retrieval/data/getData.json?pv=T:DOUBLE&from={TO}&to="), &[FROM], 400, "bad_range"),
        row(format!("{data}&pv="), &["NOBODY", "%ff%fe", "%00", "mean_60(NOBODY)", "mean_60()"], 404, "unknown_pv"),
        row(format!("{data}&pv="), &["", "&pv="], 400, "bad_request"),
        row(format!("{data}&pv="), &["meen_60(T:DOUBLE)", "_60(T:DOUBLE)", "%ff(T:DOUBLE)"], 400, "unknown_operator"),
        row(
            format!("{data}&pv="),
            &["mean_0(T:DOUBLE)", "mean_-5(T:DOUBLE)", "median_99999999(T:DOUBLE)"],
            400,
            "bad_request",
        ),
        row(format!("{data}&pv="), &["mean_60(("], 400, "bad_request"),
        // The Appliance has 404 for these.
        row(
            format!("{data}&pv="),
            &[
                "mean_NaN(T:DOUBLE)",
                "mean_inf(T:DOUBLE)",
                "mean_1e999(T:DOUBLE)",
                "mean_x(T:DOUBLE)",
                "mean_(T:DOUBLE)",
                "mean(T:DOUBLE,x)",
            ],
            404,
            "bad_request",
        ),
        row(format!("{data}&pv=T:DOUBLE&pp="), &["nothing", "%ff"], 400, "unknown_operator"),
        row(
            "/retrieval/data/getData.json?from=1700-01-01T00:00:00Z&to=2200-01-01T00:00:00Z&pv=",
            &["mean_1(T:DOUBLE)", "firstFill_1(T:DOUBLE)", "linear_2(T:DOUBLE)"],
            400,
            "bad_request",
        ),
        row(format!("/retrieval/data/getData.txt.gz?{range}&x="), &["1"], 400, "bad_request"),
        row(format!("{own}/samples?to={TO}&from="), TIMES, 400, "bad_time"),
        row(format!("{own}/samples?from={TO}&to="), &[FROM], 400, "bad_range"),
        row(format!("{own}/samples?{range}&format="), WORDS, 400, "unknown_format"),
        row(format!("{own}/samples?{range}&limit="), COUNTS, 400, "bad_request"),
        row(format!("{own}/samples?{range}&before="), WORDS, 400, "bad_request"),
        row(format!("{own}/samples?{range}&field="), &["x", "%ff", "value.x", "."], 404, "unknown_pv"),
        row(format!("{own}/bins?{range}&bins="), COUNTS, 400, "bad_request"),
        row(format!("{own}/bins?{range}&bins="), &["0", "100001"], 400, "bad_request"),
        row(format!("{own}/bins?{range}&format="), WORDS, 400, "unknown_format"),
        row(format!("{own}/gaps?from="), TIMES, 400, "bad_time"),
        row(format!("{own}/metadata?to="), TIMES, 400, "bad_time"),
        row(format!("/api/v1/samples?{range}&pv="), &["NOBODY", "%ff", "T:DOUBLE&pv=NOBODY"], 404, "unknown_pv"),
        row(format!("/api/v1/samples?{range}&columns="), &["all"], 400, "bad_request"),
        row(format!("/api/v1/samples?pv=T:DOUBLE&{range}&colums="), &["all"], 400, "bad_request"),
        row(format!("/api/v1/samples?pv=T:DOUBLE&{range}&columns="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/samples?pv=T:DOUBLE&{range}&limit="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/samples?pv=T:DOUBLE&{range}&format="), WORDS, 400, "unknown_format"),
        row(format!("/api/v1/samples?{range}&match="), &["~[", "~(", "~*"], 400, "bad_request"),
        row("/api/v1/at?pv=T:DOUBLE&time=", TIMES, 400, "bad_time"),
        row("/api/v1/at?pv=T:DOUBLE&format=", WORDS, 400, "unknown_format"),
        row("/api/v1/at?time=", &[FROM], 400, "bad_request"),
        row(
            format!("/api/v1/when?{range}&expression="),
            &["", "A%20%3E", "(", "T:DOUBLE", "T:ARRAY%3E1", "%ff"],
            400,
            "bad_request",
        ),
        row(format!("/api/v1/when?{range}&expression="), &["NOBODY%3E1", "T:DOUBLE%3ENOBODY"], 404, "unknown_pv"),
        row("/api/v1/when?expression=T:DOUBLE%3E1&from=", TIMES, 400, "bad_time"),
        row(format!("/api/v1/when?expression=T:DOUBLE%3E1&{range}&limit="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/when?expression=T:DOUBLE%3E1&{range}&units="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/when?expression=T:DOUBLE%3E1&{range}&format="), WORDS, 400, "unknown_format"),
        row(
            "/api/v1/when?expression=T:DOUBLE%3E1&from=2026-01-02T00:00:00Z&to=",
            &["2026-01-01T00:00:00Z"],
            400,
            "bad_range",
        ),
        row("/api/v1/formula?expression=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/api/v1/formula?expression=T:DOUBLE&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&bins="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&bins="), &["0", "100001"], 400, "bad_request"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&limit="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&extremes="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&units="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/formula?expression=T:DOUBLE&{range}&format="), WORDS, 400, "unknown_format"),
        row("/api/v1/stats?expression=T:DOUBLE&to=", TIMES, 400, "bad_time"),
        row("/api/v1/stats?expression=T:DOUBLE&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(format!("/api/v1/stats?expression=T:DOUBLE&{range}&histogram="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/stats?expression=T:DOUBLE&{range}&histogram="), &["10001"], 400, "bad_request"),
        row(
            format!("/api/v1/stats?expression=T:DOUBLE&{range}&percentiles="),
            &["x", "5,,95", "-1", "101", "NaN", "inf", "%ff"],
            400,
            "bad_request",
        ),
        row(format!("/api/v1/stats?expression=T:DOUBLE&{range}&above="), &["x", "NaN", "%ff"], 400, "bad_request"),
        row(format!("/api/v1/stats?expression=T:DOUBLE&{range}&format="), WORDS, 400, "unknown_format"),
        row("/api/v1/xy?x=T:DOUBLE&y=T:LONG&from=", TIMES, 400, "bad_time"),
        row("/api/v1/xy?x=T:DOUBLE&y=T:LONG&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(
            format!("/api/v1/xy?{range}&x=T:DOUBLE&y="),
            &["", "T:DOUBLE+", "T:ARRAY", "T:STRING", "%ff"],
            400,
            "bad_request",
        ),
        row(format!("/api/v1/xy?{range}&y=T:DOUBLE&x="), &["NOBODY", "T:DOUBLE+NOBODY"], 404, "unknown_pv"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by="), &["grid", "mean"], 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by=grid&step="), SECONDS, 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by=pulse&tolerance="), SECONDS, 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&step="), &["1"], 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by=mean&step="), &["1e9"], 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by=grid&step="), &["1e-9"], 413, "too_large"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&by=mean&step="), &["1e-9"], 413, "too_large"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&limit="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&limit="), &["1000001"], 413, "too_large"),
        row(format!("/api/v1/xy?x=T:DOUBLE&y=T:LONG&{range}&format="), WORDS, 400, "unknown_format"),
        row("/api/v1/histogram?expression=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/api/v1/histogram?expression=T:DOUBLE&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(format!("/api/v1/histogram?{range}&expression="), &["", "(", "T:ARRAY", "%ff"], 400, "bad_request"),
        row(format!("/api/v1/histogram?expression=T:DOUBLE&{range}&bins="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/histogram?expression=T:DOUBLE&{range}&bins="), &["0", "10001"], 400, "bad_request"),
        row(
            format!("/api/v1/histogram?expression=T:DOUBLE&{range}&low="),
            &["x", "NaN", "inf", "1&high=1"],
            400,
            "bad_request",
        ),
        row(
            format!("/api/v1/histogram?expression=T:DOUBLE&{range}&edges="),
            &["1", "1,0", "0,0", "0,NaN", "0,inf", "0,,1", "x", "0,1&bins=3", "%ff"],
            400,
            "bad_request",
        ),
        row(format!("/api/v1/histogram?expression=T:DOUBLE&{range}&weight="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/histogram?expression=T:DOUBLE&{range}&format="), WORDS, 400, "unknown_format"),
        row("/api/v1/fft?expression=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/api/v1/fft?expression=T:DOUBLE&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(format!("/api/v1/fft?{range}&expression="), &["", "(", "T:ARRAY", "%ff"], 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&step="), SECONDS, 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&step="), &["1e-9"], 413, "too_large"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&step="), &["1e9"], 409, "conflict"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&resample="), &["mean"], 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&step=1&resample="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&step=1&tolerance="), &["0.1"], 400, "bad_request"),
        row(
            format!("/api/v1/fft?expression=T:LONG&{range}&tolerance="),
            &["0", "-1", "0.6", "NaN", "x"],
            400,
            "bad_request",
        ),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&window="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&output="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&detrend="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/fft?expression=T:LONG&{range}&format="), WORDS, 400, "unknown_format"),
        row("/api/v1/diff?pv=T:DOUBLE&before=", TIMES, 400, "bad_time"),
        row("/api/v1/diff?pv=T:DOUBLE&before=2026-01-01&after=", TIMES, 400, "bad_time"),
        row("/api/v1/diff?pv=T:DOUBLE&before=2026-01-02&after=", &["2026-01-01"], 400, "bad_range"),
        row("/api/v1/diff?pv=T:DOUBLE&after=", &["2026-01-01"], 400, "bad_request"),
        row(
            "/api/v1/diff?pv=T:DOUBLE&before=2026-01-01&usual=",
            &["-1", "NaN", "inf", "1e300", "x"],
            400,
            "bad_request",
        ),
        row("/api/v1/diff?pv=T:DOUBLE&before=2026-01-01&unchanged=", WORDS, 400, "bad_request"),
        row("/api/v1/diff?pv=T:DOUBLE&before=2026-01-01&format=", WORDS, 400, "unknown_format"),
        row("/api/v1/view?pv=T:DOUBLE&from=", TIMES, 400, "bad_time"),
        row("/api/v1/view?pv=T:DOUBLE&from=2026-01-02&to=", &["2026-01-01"], 400, "bad_range"),
        row(format!("/api/v1/view?{range}&pv="), &["NOBODY", "T:DOUBLE&pv=NOBODY"], 404, "unknown_pv"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&bins="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&bins="), &["0"], 400, "bad_request"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&elements="), COUNTS, 400, "bad_request"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&elements="), &["0", "65537"], 400, "bad_request"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&bins="), &["1000000000"], 413, "too_large"),
        row(format!("/api/v1/view?pv=T:DOUBLE&{range}&format="), WORDS, 400, "unknown_format"),
        row(format!("/api/v1/aligned?{range}&pv="), &["NOBODY", "T:DOUBLE&pv=NOBODY"], 404, "unknown_pv"),
        row(format!("/api/v1/aligned?{range}&pv="), &["T:ARRAY", "T:STRUCTURE"], 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&period="), SECONDS, 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&tolerance="), SECONDS, 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&method="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&severity="), WORDS, 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&times_of="), &["NOBODY", "%ff"], 404, "unknown_pv"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&period=1&times_of="), &["T:DOUBLE"], 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:DOUBLE&{range}&method="), &["pulse"], 400, "bad_request"),
        row(format!("/api/v1/aligned?pv=T:STRING&{range}&method="), &["linear"], 400, "bad_request"),
        row(
            "/api/v1/aligned?pv=T:DOUBLE&from=1700-01-01T00:00:00Z&to=2200-01-01T00:00:00Z&period=",
            &["1", "0.001"],
            413,
            "too_large",
        ),
        row("/api/v1/pvs?match=", &["~[", "~(", "~*"], 400, "bad_request"),
        row("/api/v1/pvs?limit=", COUNTS, 400, "bad_request"),
    ];
    for format in ["csv", "raw", "qw", "txt", "jplot", "svg", "mat", "flx"] {
        rows.push(row(format!("/retrieval/data/getData.{format}?pv=T:DOUBLE&from="), &["x"], 400, "bad_time"));
        rows.push(row(format!("/retrieval/data/getData.{format}?{range}&pv="), &["NOBODY"], 404, "unknown_pv"));
        rows.push(row(
            format!("/retrieval/data/getData.{format}?{range}&pv="),
            &["x_1(T:DOUBLE)"],
            400,
            "unknown_operator",
        ));
    }
    for call in ["%ff", "getData.%ff"] {
        rows.push(row(format!("/retrieval/data/{call}?{range}&pv="), &["T:DOUBLE"], 400, "bad_request"));
    }
    for format in ["", ".", ".JSON", ".xlsx", ".json%00"] {
        rows.push(row(format!("/retrieval/data/getData{format}?{range}&pv="), &["T:DOUBLE"], 400, "unknown_format"));
        rows.push(row(
            format!("/retrieval/data/getDataForPVs{format}?{range}&pv="),
            &["T:DOUBLE"],
            400,
            "unknown_format",
        ));
    }
    rows.push(row("/api/v1/pvs/%ff/", &["samples"], 400, "bad_request"));
    for nobody in ["NOBODY", "%00", "T:DOUBLE%2f", "T:DOUBLE.NOFIELD"] {
        let of = &["samples", "bins", "gaps", "metadata", "ledger", "explain"];
        rows.push(row(format!("/api/v1/pvs/{nobody}/"), of, 404, "unknown_pv"));
    }
    rows
}

#[test]
fn every_bad_value_is_refused_with_its_reason() {
    let archive = Archive::with_history();
    let mut connection = Connection::to(archive.address);
    let mut wrong = Vec::new();
    for Row { url, values, status, code } in rows() {
        for value in values {
            let target = format!("{url}{value}");
            let answer = connection.ask("GET", &target, &[], b"");
            let is_json = answer.header("content-type") == Some("application/json");
            let said = if is_json {
                serde_json::from_slice(&answer.body).unwrap_or_default()
            } else {
                serde_json::Value::Null
            };
            let message = said["error"]["message"].as_str().unwrap_or_default();
            if (answer.status, &said["error"]["code"]) != (status, &code.into()) || message.is_empty() {
                let text: String = answer.text().chars().take(150).collect();
                wrong.push(format!("{target}\n  expected {status} {code}, got {} {text}", answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The first of several counts, as it does in Java's servlets; what is empty counts as absent.
#[test]
fn of_a_parameter_that_comes_twice_the_first_counts() {
    let archive = Archive::with_history();
    let once = archive.get(&format!("/retrieval/data/getData.csv?pv=T:DOUBLE&from={FROM}&to={TO}"));
    for again in ["&from=yesterday", "&to=x", "&pv=NOBODY", "&from=", "&pv", "&&&", "&=", "&%ff=%ff"] {
        let twice = archive.get(&format!("/retrieval/data/getData.csv?pv=T:DOUBLE&from={FROM}&to={TO}{again}"));
        assert_eq!((twice.status, twice.text()), (200, once.text()), "{again}");
    }
}
