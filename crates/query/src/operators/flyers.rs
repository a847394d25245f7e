//! Flyers: samples far from the mean of their bin, taken out or looked for.

use sample::Sample;

use super::{Span, moments::Moments, number};

/// Which samples are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// All but the flyers.
    Others,
    /// Only the flyers.
    Flyers,
}

pub(super) struct Flyers {
    keep: Keep,
    seconds: i64,
    deviations: f64,
    span: Span,
    current: Option<i64>,
    waiting: Vec<(f64, Sample)>,
}

impl Flyers {
    pub(super) fn new(keep: Keep, seconds: i64, deviations: f64, span: Span) -> Flyers {
        Flyers { keep, seconds, deviations, span, current: None, waiting: Vec::new() }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        let index = self.span.bin(sample.time, self.seconds);
        if self.current.replace(index) != Some(index) {
            self.finish(out);
        }
        self.waiting.push((number, sample.clone()));
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        let mut moments = Moments::default();
        self.waiting.iter().filter(|(number, _)| !number.is_nan()).for_each(|(number, _)| moments.add(*number));
        let (mean, far) = (moments.mean(), self.deviations * moments.deviation());
        for (number, sample) in self.waiting.drain(..) {
            let distance = (number - mean).abs();
            // Where there is no mean, or no deviation, a sample is neither.
            let is_kept = match self.keep {
                Keep::Others => distance <= far,
                Keep::Flyers => distance > far,
            };
            if is_kept {
                out.push(sample);
            }
        }
    }
}
