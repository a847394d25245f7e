//! `/api/v1/fft`: how strong each frequency is in what was recorded.

use analysis::{Detrend, Resample, Spectrum, SpectrumOutput, SpectrumWanted, SpectrumWindow};
use serde_json::{Map, Value, json};

use super::{
    computed::number,
    when::{expression, units},
    xy::nanos,
};
use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::table::{Table, TableColumn},
    refusal::{Code, Refusal},
    url::Params,
};

/// How far a stamp may lie from its place, in steps, if nothing else is said.
const TOLERANCE: f64 = 0.05;

/// `GET` or `POST /fft`
pub(crate) fn show(call: &Call) -> Answer {
    let (text, range) = (expression(call)?, call.query.range()?);
    let format = call.query.word("format", &["json", "csv", "arrow"], Code::UnknownFormat)?;
    let wanted = wanted(&call.query)?;
    let (found, units) = call.ask.spectrum(&text, range, units(&call.query)?, wanted)?;
    let facts = facts(text, &found, wanted, units);
    let strength = output_name(wanted.output);
    let columns =
        vec![("frequency", TableColumn::Numbers(found.frequencies)), (strength, TableColumn::Numbers(found.strengths))];
    call.table(Table { facts, rows_are: "spectrum", columns }, format)
}

fn wanted(query: &Params) -> Result<SpectrumWanted, Refusal> {
    let window = match query.word("window", &["none", "hann"], Code::BadRequest)? {
        "hann" => SpectrumWindow::Hann,
        _ => SpectrumWindow::None,
    };
    let output = match query.word("output", &["amplitude", "density"], Code::BadRequest)? {
        "density" => SpectrumOutput::Density,
        _ => SpectrumOutput::Amplitude,
    };
    let detrend = match query.word("detrend", &["mean", "linear", "none"], Code::BadRequest)? {
        "linear" => Detrend::Linear,
        "none" => Detrend::None,
        _ => Detrend::Mean,
    };
    let method = match query.word("resample", &["previous", "linear", "mean"], Code::BadRequest)? {
        "linear" => Resample::Linear,
        "mean" => Resample::Mean,
        _ => Resample::Previous,
    };
    let (step, tolerance) = (nanos(query, "step")?, query.number::<f64>("tolerance")?);
    if step.is_none() && query.get("resample").is_some() {
        return Err(Refusal::new(Code::BadRequest, "resample= needs step=, the seconds from one point to the next"));
    }
    if step.is_some() && tolerance.is_some() {
        return Err(Refusal::new(Code::BadRequest, "what is resampled with step= is even, and takes no tolerance="));
    }
    let tolerance = tolerance.unwrap_or(TOLERANCE);
    if !(tolerance > 0.0 && tolerance <= 0.5) {
        let message = format!("tolerance is {tolerance:?}, expected a part of a step, more than 0 and at most 0.5");
        return Err(Refusal::new(Code::BadRequest, message));
    }
    Ok(SpectrumWanted { window, output, detrend, tolerance, resample: step.map(|step| (step, method)) })
}

fn output_name(output: SpectrumOutput) -> &'static str {
    match output {
        SpectrumOutput::Amplitude => "amplitude",
        SpectrumOutput::Density => "density",
    }
}

fn facts(text: String, found: &Spectrum, wanted: SpectrumWanted, units: Option<String>) -> Map<String, Value> {
    let output_units = match wanted.output {
        SpectrumOutput::Amplitude => units.clone(),
        SpectrumOutput::Density => units.as_ref().map(|units| format!("{units}²/Hz")),
    };
    let window = if wanted.window == SpectrumWindow::Hann { "hann" } else { "none" };
    let detrend = match wanted.detrend {
        Detrend::Mean => "mean",
        Detrend::Linear => "linear",
        Detrend::None => "none",
    };
    let resampled = wanted.resample.map(|(_, method)| match method {
        Resample::Previous => "previous",
        Resample::Linear => "linear",
        Resample::Mean => "mean",
    });
    let facts = json!({
        "expression": text,
        "from": found.from.to_string(),
        "to": found.to.to_string(),
        "units": units,
        "output": output_name(wanted.output),
        "output_units": output_units,
        "points": found.points,
        "step": found.step,
        "rate": 1.0 / found.step,
        "resolution": 1.0 / (found.step * found.points as f64),
        "window": window,
        "detrend": detrend,
        "mean": number(found.mean),
        "resampled": resampled,
        "unevenness": found.unevenness,
        "made_of": found.made_of.name(),
        "read": found.read,
        "damage": found.damage,
    });
    if let Value::Object(facts) = facts { facts } else { Map::new() }
}
