//! The cases of the store's bench, in the order in which they are run.

mod frames;
mod half;
mod ingest;
mod large;
mod ledger;
mod many;
mod queries;
mod rivals;
mod sizes;
mod when;
mod year;

use ingest::Flushes;
use large::Large;

use crate::{
    store_bench::{CaseBench, Outcome},
    workload::{Frame, Kind, Pace},
};

/// Something that is measured by itself.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn(&CaseBench) -> Outcome<()>,
}

const fn case(name: &'static str, what: &'static str, run: fn(&CaseBench) -> Outcome<()>) -> Case {
    Case { name, what, run }
}

pub(crate) const ALL: &[Case] = &[
    case("ingest-2k-1", "2,000 PVs, one sample of each at a time, through log, head and flush", |bench| {
        ingest::ingest(bench, 2_000, 1)
    }),
    case("ingest-2k-10", "2,000 PVs, ten samples of each at a time", |bench| ingest::ingest(bench, 2_000, 10)),
    case("ingest-150k-1", "150,000 PVs, one sample of each at a time", |bench| ingest::ingest(bench, 150_000, 1)),
    case("ingest-150k-10", "150,000 PVs, ten samples of each at a time", |bench| ingest::ingest(bench, 150_000, 10)),
    case("all-in-2k", "2,000 PVs, eight flushes and their merge", |bench| {
        ingest::all_in(bench, 2_000, 6000, Flushes::Eight)
    }),
    case("all-in-150k", "150,000 PVs, flushed whenever the head is full, and the merge of that", |bench| {
        ingest::all_in(bench, 150_000, 640, Flushes::Own)
    }),
    case("all-in-150k-early", "150,000 PVs, flushed each ten samples eight times, and the merge of that", |bench| {
        ingest::all_in(bench, 150_000, 80, Flushes::Eight)
    }),
    case("size-adc", "converter", |bench| sizes::kind(bench, Kind::Adc, Pace::Late100us)),
    case("size-adc-10us", "converter, times late by 10 µs", |bench| sizes::kind(bench, Kind::Adc, Pace::Late10us)),
    case("size-adc-evr", "converter, times by event receiver", |bench| sizes::kind(bench, Kind::Adc, Pace::Evr)),
    case("size-adc-change", "converter, on change", |bench| sizes::kind(bench, Kind::Adc, Pace::OnChange)),
    case("size-decimal", "three decimals", |bench| sizes::kind(bench, Kind::Decimal, Pace::Late100us)),
    case("size-setpoint", "setpoint", |bench| sizes::kind(bench, Kind::Setpoint, Pace::Late100us)),
    case("size-sine", "sine with entropy in every bit", |bench| sizes::kind(bench, Kind::Sine, Pace::Late100us)),
    case("size-constant", "constant", |bench| sizes::kind(bench, Kind::Constant, Pace::Late100us)),
    case("size-counter", "counter", |bench| sizes::kind(bench, Kind::Counter, Pace::Late100us)),
    case("size-position", "beam position", |bench| sizes::kind(bench, Kind::Position, Pace::Late100us)),
    case("size-state", "enum", |bench| sizes::kind(bench, Kind::State, Pace::Late100us)),
    case("size-vacuum", "32-bit float", |bench| sizes::kind(bench, Kind::Vacuum, Pace::Late100us)),
    case("size-text", "text", |bench| sizes::kind(bench, Kind::Text, Pace::Late100us)),
    case("size-walk", "integers and times of HALF's test", |bench| sizes::kind(bench, Kind::Walk, Pace::Millis)),
    case("scan-mix", "20 PVs of five kinds, decoded and checked", sizes::mix),
    case("query", "one PV of 40, 14,400 to 360,000 samples, warm and cold", queries::queries),
    case("year-write", "one PV for a year, at 10 Hz if the scale is at least 0.25", |bench| {
        year::write(bench, &year::ONE_YEAR)
    }),
    case("year-bins", "1,000 bins of it", |bench| year::bins(bench, &year::ONE_YEAR)),
    case("ten-years-write", "one PV for ten years, at 10 Hz times the scale", |bench| {
        year::write(bench, &year::TEN_YEARS)
    }),
    case("ten-years-bins", "1,000 bins of it", |bench| year::bins(bench, &year::TEN_YEARS)),
    case("when-write", "two PVs for five years, at 10 Hz if the scale is at least 0.25", when::write),
    case("when-search", "when a condition of both held", when::search),
    case("live-150k", "memory of 150,000 PVs that send", many::live),
    case("ledger-100k", "what the ledger of 100,000 PVs takes, beside their samples at 1 Hz", ledger::costs),
    case("million-write", "an archive of a million PVs", many::million_write),
    case("million-open", "the same, opened by a new process", many::million_open),
    case("frames-f64-1k", "1,000 floats of which the first changes", |bench| {
        frames::frames(bench, Frame::FirstOfF64, 1000)
    }),
    case("frames-f64-10k", "10,000 floats of which the first changes", |bench| {
        frames::frames(bench, Frame::FirstOfF64, 10_000)
    }),
    case("frames-i32-100k", "100,000 integers of which the first changes", |bench| {
        frames::frames(bench, Frame::FirstOfI32, 100_000)
    }),
    case("frames-noise-100k", "the same, the others noise in every bit", |bench| {
        frames::frames(bench, Frame::FirstOfNoise, 100_000)
    }),
    case("frames-digitiser", "10,000 elements of 14 bits, a pulse in noise", |bench| {
        frames::frames(bench, Frame::Digitiser, 10_000)
    }),
    case("large-floats", "12.5 million floats of a digitiser at a time", |bench| large::values(bench, Large::Floats)),
    case("large-integers", "25 million integers, noise of which one changes", |bench| {
        large::values(bench, Large::Integers)
    }),
    case("large-picture", "a structure with 100 million pixels", |bench| large::values(bench, Large::Picture)),
    case("large-texts", "half a million texts of 200 letters", |bench| large::values(bench, Large::Texts)),
    case("half-write", "2,000 PVs in batches, as in Fig. 4 of the HALF paper", half::write),
    case("half-read", "500 random reads of each size from 20 PVs, after Fig. 3", half::read),
    case("rivals", "HALF's set in pvark, DuckDB with Parquet, and PostgreSQL 15", rivals::rivals),
];
