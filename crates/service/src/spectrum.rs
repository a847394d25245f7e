//! How strong each frequency is in what an expression was.

use analysis::{POINT_BYTES, POINTS_MAX, Resample, Spectrum, SpectrumError, SpectrumGathering, SpectrumWanted, Units};
use sample::TimeRange;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

/// What points take is charged for so many at a time.
const CHARGED_AT_ONCE: usize = 1 << 14;

impl Ask {
    /// The spectrum of an expression, and its units.
    pub fn spectrum(
        &self,
        text: &str,
        range: TimeRange,
        units: Units,
        wanted: SpectrumWanted,
    ) -> Result<(Spectrum, Option<String>), Refusal> {
        let (query, program, range) = self.formula(text, range, units)?;
        let told = |error: SpectrumError| refused(error, range, wanted);
        let mut gathering = SpectrumGathering::new(&query, &program, range, wanted, self.is_wanted()).map_err(told)?;
        let mut charged = 0;
        loop {
            while charged < (gathering.count() + CHARGED_AT_ONCE).min(POINTS_MAX) {
                self.lease.grow_by(CHARGED_AT_ONCE, POINT_BYTES)?;
                charged += CHARGED_AT_ONCE;
            }
            self.go_on()?;
            if !gathering.go_on().map_err(told)? {
                break;
            }
        }
        Ok((gathering.spectrum().map_err(told)?, program.units().map(str::to_owned)))
    }
}

fn refused(error: SpectrumError, range: TimeRange, wanted: SpectrumWanted) -> Refusal {
    let message = error.to_string();
    match error {
        SpectrumError::Step(error) => error.into(),
        SpectrumError::TooFew(_) => {
            Refusal::new(Code::Conflict, message).hint("ask for a longer range, or a shorter step=")
        }
        SpectrumError::TooMany(most, _) => {
            let seconds = (i128::from(range.t1.nanos()) - i128::from(range.t0.nanos())) as f64 / 1e9;
            let means = matches!(wanted.resample, Some((_, Resample::Mean)));
            let method = if means { "" } else { "&resample=mean" };
            let most = if means { most } else { most.min(analysis::MEANS_MAX) };
            let hint = format!("ask for a shorter range, or for step={:e}{method}", seconds / most as f64);
            Refusal::new(Code::TooLarge, message).hint(hint)
        }
        SpectrumError::Uneven(found) => {
            let hint = format!("say step={}&resample=previous, linear or mean, or a larger tolerance=", found.step);
            Refusal::new(Code::Conflict, message).hint(hint)
        }
        SpectrumError::Unknown { .. } => {
            Refusal::new(Code::Conflict, message).hint("ask for a range in which it is known")
        }
        SpectrumError::Infinite(_) => Refusal::new(Code::Conflict, message).hint("ask for a range without it"),
    }
}
