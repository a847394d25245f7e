//! Aligned rows from a real store against the plainest possible ones: for each row all samples are looked at.

mod history;

use std::time::Duration;

use history::History;
use query::{AlignRequest, AlignedColumn, Alignment, Query, Rows};
use sample::{Sample, Severity, TimeRange, Timestamp};

/// How many random histories are tried. Each prints its seed when it fails.
const SEEDS: u64 = 16;

/// What a row holds: a number and its severity.
type Cell = Option<(f64, Severity)>;

fn cell(sample: &Sample) -> Cell {
    Some((sample.value.as_f64()?, sample.alarm.severity))
}

fn apart(a: Timestamp, b: Timestamp) -> u64 {
    a.nanos().abs_diff(b.nanos())
}

fn expected(samples: &[Sample], time: Timestamp, alignment: Alignment, tolerance: Option<Duration>) -> Cell {
    let near = |nanos: u64| tolerance.is_none_or(|tolerance| u128::from(nanos) <= tolerance.as_nanos());
    let before = samples.iter().rfind(|sample| sample.time <= time);
    let after = samples.iter().find(|sample| sample.time > time);
    match alignment {
        Alignment::Previous => before.filter(|sample| near(apart(sample.time, time))).and_then(cell),
        Alignment::Nearest => {
            let candidates = [before, after].into_iter().flatten();
            let nearest = candidates.min_by_key(|sample| apart(sample.time, time));
            nearest.filter(|sample| near(apart(sample.time, time))).and_then(cell)
        }
        Alignment::Linear => {
            let (v0, s0) = cell(before?)?;
            if before?.time == time {
                return Some((v0, s0));
            }
            let ((v1, s1), length) = (cell(after?)?, apart(before?.time, after?.time));
            let share = apart(before?.time, time) as f64 / length as f64;
            near(length).then_some((v0 + (v1 - v0) * share, s0.max(s1)))
        }
        Alignment::Pulse => unreachable!("pulses are compared by themselves"),
    }
}

fn cells(column: &AlignedColumn) -> Vec<Cell> {
    let row = |row: usize| {
        column.present[row].then(|| (column.values.f64_at(row).unwrap_or(f64::NAN), column.severities[row]))
    };
    (0..column.present.len()).map(row).collect()
}

fn alike(a: Cell, b: Cell) -> bool {
    match (a, b) {
        (Some((x, s)), Some((y, t))) => s == t && (x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())),
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[test]
fn rows_hold_what_looking_at_every_sample_gives() {
    let mut compared = 0;
    for seed in 0..SEEDS {
        let mut history = History::random(seed);
        let query = Query::over(history.reader());
        for round in 0..12 {
            let range = history.random_range();
            let alignment = [Alignment::Previous, Alignment::Nearest, Alignment::Linear][round % 3];
            let tolerance = [None, Some(Duration::from_nanos(40))][round / 3 % 2];
            let period = Duration::from_nanos(10 + history.random_count() as u64);
            let rows = if round < 6 { Rows::Every(period) } else { Rows::Of(history.pv.into()) };
            let series = vec![history.pv.into(), history.pv.into()];
            let request = AlignRequest { series, range, rows: rows.clone(), alignment, tolerance };
            let times = expected_times(&history.samples, range, &rows);
            let (types, table) = query.aligned(&request).unwrap();
            if !types[0].is_numeric_scalar() {
                continue;
            }
            let mut row = 0;
            for piece in table {
                // A history may change its type, which a column does not.
                let Ok(piece) = piece else { break };
                let (a, b) = (cells(&piece.columns[0]), cells(&piece.columns[1]));
                for ((time, a), b) in piece.times.iter().zip(a).zip(b) {
                    assert_eq!(*time, times[row], "seed {seed}, round {round}");
                    let expected = expected(&history.samples, *time, alignment, tolerance);
                    let place = format!("seed {seed}, {alignment:?} {tolerance:?} at {time}");
                    assert!(alike(a, expected) && alike(a, b), "{place}: {a:?} and {b:?} are not {expected:?}");
                    (row, compared) = (row + 1, compared + 1);
                }
            }
        }
    }
    assert!(compared > 20_000, "only {compared} rows were compared");
}

fn expected_times(samples: &[Sample], range: TimeRange, rows: &Rows) -> Vec<Timestamp> {
    match rows {
        Rows::Every(period) => {
            let step = period.as_nanos() as usize;
            (range.t0.nanos()..range.t1.nanos()).step_by(step).map(Timestamp::from_nanos).collect()
        }
        Rows::Of(_) => samples.iter().map(|sample| sample.time).filter(|time| range.contains(*time)).collect(),
    }
}
