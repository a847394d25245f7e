//! Flyers: samples far from the mean of their bin, taken out or looked for.

use sample::Sample;

use super::{Span, moments::BinMoments, number};

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
    /// The year and the bin.
    current: Option<(i16, i64)>,
    waiting: Vec<(f64, Sample)>,
}

impl Flyers {
    pub(super) fn new(keep: Keep, seconds: i64, deviations: f64, span: Span) -> Flyers {
        Flyers { keep, seconds, deviations, span, current: None, waiting: Vec::new() }
    }

    pub(super) fn take(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let Some(number) = number(&sample.value) else { return };
        let bin = (sample.time.year().0, self.span.bin(sample.time, self.seconds));
        if let Some((year, index)) = self.current.replace(bin)
            && (year, index) != bin
        {
            self.close(year != bin.0, out);
        }
        self.waiting.push((number, sample.clone()));
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Sample>) {
        let ends_year = self.current.is_some_and(|(year, _)| year != self.span.to.year().0);
        self.close(ends_year, out);
    }

    /// As in the Appliance, which reads each year by itself behind the last sample of the year before, that sample is not far
    /// from its own mean.
    fn close(&mut self, ends_year: bool, out: &mut Vec<Sample>) {
        let mut moments = BinMoments::default();
        self.waiting.iter().filter(|(number, _)| !number.is_nan()).for_each(|(number, _)| moments.add(*number));
        let (mean, far) = (moments.mean(), self.deviations * moments.deviation());
        let of_year = self.waiting.last().filter(|(number, _)| ends_year && number.is_finite()).map(|last| last.1.time);
        for (number, sample) in self.waiting.drain(..) {
            let distance = (number - mean).abs();
            // Where there is no mean, or no deviation, a sample is neither.
            let is_kept = match self.keep {
                Keep::Others => distance <= far || of_year == Some(sample.time),
                Keep::Flyers => distance > far,
            };
            if is_kept {
                out.push(sample);
            }
        }
    }
}
