//! The names of operators with their arguments, in one table.

use std::fmt;

use super::{
    OfSummaries, Span, Work,
    flyers::{Flyers, Keep},
    picks::{Counted, DeadBand, Moment, Nth, Pick, Picks},
    plot::{Optimized, PlotBins},
    statistics::{BinStatistics, EmptyBins, Statistic},
};

const SECONDS_DEFAULT: f64 = 900.0;
/// `nth` alone takes so many, as the Appliance does, which has one default for all that is counted or measured.
const EVERY_DEFAULT: f64 = 900.0;
const POINTS_DEFAULT: f64 = 1000.0;
const DEVIATIONS_DEFAULT: f64 = 3.0;
const BAND_DEFAULT: f64 = 1.0;
/// Bins that are made for one answer at most: they are made even where there are no samples.
const BINS_MAX: i64 = 1_000_000;
/// The longest bins of operators that have to hold all samples of one at a time: a day.
const HELD_SECONDS_MAX: i64 = 86_400;

/// What an operator does, without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Statistic(Statistic),
    Optimized(Statistic),
    Pick(Pick, Moment),
    Nth,
    Counted,
    DeadBand,
    Flyers(Keep),
    PlotBins,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// Seconds, points, samples: a whole number above 0.
    Count,
    /// A width.
    Number,
    /// A factor, which the Appliance holds in 32 bits.
    Factor,
}

impl Kind {
    fn arguments(self) -> &'static [Argument] {
        match self {
            Kind::Counted => &[],
            Kind::DeadBand => &[Argument::Number],
            Kind::Flyers(_) => &[Argument::Count, Argument::Factor],
            _ => &[Argument::Count],
        }
    }
}

impl Argument {
    fn read(self, text: &str) -> Result<f64, OperatorError> {
        let number = match self {
            Argument::Count => text.parse::<i32>().ok().map(f64::from),
            Argument::Number => text.parse::<f64>().ok(),
            Argument::Factor => text.parse::<f32>().ok().map(f64::from),
        };
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return Err(OperatorError::NoNumber { text: text.to_owned() });
        };
        if self == Argument::Count && number < 1.0 {
            return Err(OperatorError::Argument { text: text.to_owned() });
        }
        Ok(number)
    }
}

/// Every name; one that goes on behind it means the same. Statistics and `optimized` have a variant with `Sample` behind the
/// name that leaves out empty bins.
const NAMES: [(&str, Kind); 27] = [
    ("mean", Kind::Statistic(Statistic::Mean)),
    ("min", Kind::Statistic(Statistic::Min)),
    ("max", Kind::Statistic(Statistic::Max)),
    ("count", Kind::Statistic(Statistic::Count)),
    ("std", Kind::Statistic(Statistic::Std)),
    ("jitter", Kind::Statistic(Statistic::Jitter)),
    ("variance", Kind::Statistic(Statistic::Variance)),
    ("popvariance", Kind::Statistic(Statistic::PopVariance)),
    ("skewness", Kind::Statistic(Statistic::Skewness)),
    ("kurtosis", Kind::Statistic(Statistic::Kurtosis)),
    ("median", Kind::Statistic(Statistic::Median)),
    ("linear", Kind::Statistic(Statistic::Linear)),
    ("loess", Kind::Statistic(Statistic::Loess)),
    ("errorbar", Kind::Statistic(Statistic::ErrorBar)),
    ("stats", Kind::Statistic(Statistic::Stats)),
    ("optimized", Kind::Optimized(Statistic::Stats)),
    ("optimLastSample", Kind::Optimized(Statistic::StatsWithLast)),
    ("firstSample", Kind::Pick(Pick::First, Moment::Own)),
    ("lastSample", Kind::Pick(Pick::Last, Moment::Own)),
    ("firstFill", Kind::Pick(Pick::First, Moment::Centre)),
    ("lastFill", Kind::Pick(Pick::Last, Moment::Centre)),
    ("nth", Kind::Nth),
    ("ncount", Kind::Counted),
    ("deadBand", Kind::DeadBand),
    ("ignoreflyers", Kind::Flyers(Keep::Others)),
    ("flyers", Kind::Flyers(Keep::Flyers)),
    ("caplotbinning", Kind::PlotBins),
];

/// An operator with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    kind: Kind,
    fill: EmptyBins,
    arguments: [Option<f64>; 2],
}

/// Why there is no such operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorError {
    /// A name that is in no table.
    Unknown {
        /// The name.
        name: String,
    },
    /// An argument that is no number, or no whole one where it must be.
    NoNumber {
        /// The argument.
        text: String,
    },
    /// A length or a count that is not above 0.
    Argument {
        /// The argument.
        text: String,
    },
    /// Bins too long to hold all of their samples.
    TooLong {
        /// How long they would be.
        seconds: i64,
    },
    /// More bins than an answer may have.
    TooManyBins {
        /// How many there would be.
        bins: i64,
    },
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorError::Unknown { name } => {
                write!(f, "{name:?} is no operator, expected one of ")?;
                for (index, (name, _)) in NAMES.iter().enumerate() {
                    write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            OperatorError::NoNumber { text } => {
                write!(
                    f,
                    "{text:?} is no argument of an operator, expected a whole number of seconds, points or samples"
                )
            }
            OperatorError::Argument { text } => {
                write!(f, "{text:?} is no argument of an operator, expected a number above 0")
            }
            OperatorError::TooLong { seconds } => {
                write!(f, "bins of {seconds} s were asked for, this operator has at most {HELD_SECONDS_MAX} s")
            }
            OperatorError::TooManyBins { bins } => {
                write!(f, "{bins} bins were asked for, at most {BINS_MAX} are possible; choose longer ones")
            }
        }
    }
}

impl std::error::Error for OperatorError {}

impl Operator {
    /// Reads `name`, `name_argument` or `name_argument_argument`; `more` are arguments that stand elsewhere. As in the Appliance
    /// a name may go on (`means_60`), and arguments that an operator does not have are not looked at.
    pub fn parse(text: &str, more: &[&str]) -> Result<Operator, OperatorError> {
        let mut parts = text.split('_');
        let name = parts.next().unwrap_or_default();
        let found = NAMES.iter().find_map(|(known, kind)| Some((name.strip_prefix(known)?, *kind)));
        let (rest, kind) = found.ok_or_else(|| OperatorError::Unknown { name: name.to_owned() })?;
        let may_leave_out = matches!(kind, Kind::Statistic(_) | Kind::Optimized(Statistic::Stats));
        let fill = if may_leave_out && rest.starts_with("Sample") { EmptyBins::Nothing } else { EmptyBins::Repeat };
        let mut arguments = [None, None];
        for ((argument, text), of) in arguments.iter_mut().zip(parts.chain(more.iter().copied())).zip(kind.arguments())
        {
            *argument = Some(of.read(text.trim())?);
        }
        Ok(Operator { kind, fill, arguments })
    }

    /// Whether an answer over `span` has a sensible size.
    pub fn check(&self, span: Span) -> Result<(), OperatorError> {
        let holds = matches!(self.kind, Kind::Statistic(Statistic::Median) | Kind::Flyers(_));
        if holds && self.seconds() > HELD_SECONDS_MAX {
            return Err(OperatorError::TooLong { seconds: self.seconds() });
        }
        let fills = matches!(self.kind, Kind::Statistic(_) | Kind::Pick(_, Moment::Centre));
        let bins = span.bin(span.to, self.seconds()).saturating_sub(span.bin(span.from, self.seconds()));
        if fills && bins > BINS_MAX { Err(OperatorError::TooManyBins { bins }) } else { Ok(()) }
    }

    /// Whether it matters to it where the connection was lost.
    pub(crate) fn looks_at_losses(&self) -> bool {
        matches!(self.kind, Kind::Statistic(_) | Kind::Optimized(_) | Kind::DeadBand | Kind::PlotBins)
    }

    /// Whether what it gives are the samples themselves, with all that they carry.
    pub fn keeps_samples(&self) -> bool {
        let picks_whole = self.kind == Kind::Pick(Pick::First, Moment::Own);
        picks_whole || matches!(self.kind, Kind::Optimized(_) | Kind::DeadBand | Kind::Flyers(_))
    }

    /// Whether what it makes is a mean with its standard deviation, to be shown as a number with an error bar.
    pub fn has_error_bars(&self) -> bool {
        self.kind == Kind::Statistic(Statistic::ErrorBar)
    }

    /// The length of bins.
    fn seconds(&self) -> i64 {
        (self.arguments[0].unwrap_or(SECONDS_DEFAULT) as i64).max(1)
    }

    /// How it answers from summaries; none if it needs the samples.
    pub(crate) fn of_summaries(&self, span: Span) -> Option<OfSummaries> {
        let (work, seconds, enough) = match self.kind {
            Kind::Statistic(statistic) if statistic.is_in_summaries() => (self.work(span), self.seconds(), 0),
            Kind::Optimized(statistic) if statistic.is_in_summaries() => {
                let points = self.points();
                let bins = Work::Statistics(Optimized::bins(points, statistic, self.fill, span));
                (bins, Optimized::seconds(points, statistic, span), points as u64 + 1)
            }
            Kind::Counted => (self.work(span), i64::MAX, 0),
            _ => return None,
        };
        let (first, last) = (span.bin(span.from, seconds), span.bin(span.to, seconds));
        (last - first <= 2 * BINS_MAX).then_some(OfSummaries { work, seconds, enough })
    }

    /// How many samples are few enough to be given as they are.
    fn points(&self) -> usize {
        self.arguments[0].unwrap_or(POINTS_DEFAULT).clamp(1.0, BINS_MAX as f64) as usize
    }

    pub(super) fn work(&self, span: Span) -> Work {
        let [first, second] = self.arguments;
        let seconds = self.seconds();
        match self.kind {
            Kind::Statistic(statistic) => Work::Statistics(BinStatistics::new(statistic, seconds, self.fill, span)),
            Kind::Optimized(statistic) => Work::Optimized(Optimized::new(self.points(), statistic, self.fill, span)),
            Kind::Pick(pick, moment) => Work::Picks(Picks::new(pick, moment, seconds, span)),
            Kind::Nth => Work::Nth(Nth::new(first.unwrap_or(EVERY_DEFAULT) as u64, span)),
            Kind::Counted => Work::Counted(Counted::new(span)),
            Kind::DeadBand => Work::DeadBand(DeadBand::new(first.unwrap_or(BAND_DEFAULT))),
            Kind::Flyers(keep) => Work::Flyers(Flyers::new(keep, seconds, second.unwrap_or(DEVIATIONS_DEFAULT), span)),
            Kind::PlotBins => Work::PlotBins(Box::new(PlotBins::new(seconds, span))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_their_arguments_from_either_place() {
        assert_eq!(Operator::parse("mean_60", &[]), Operator::parse("mean", &["60"]));
        assert_eq!(Operator::parse("ignoreflyers_60_2.5", &[]).unwrap().arguments, [Some(60.0), Some(2.5)]);
        assert_eq!(Operator::parse("meanSample", &[]).unwrap().fill, EmptyBins::Nothing);
        assert_eq!(Operator::parse("firstSample", &[]).unwrap().kind, Kind::Pick(Pick::First, Moment::Own));
        assert_eq!(Operator::parse("mean_60_70", &[]), Operator::parse("mean_60", &[]));
        assert_eq!(Operator::parse("ncount_x", &[]), Operator::parse("ncount", &[]));
        assert_eq!(Operator::parse("deadBand_0", &[]).unwrap().arguments[0], Some(0.0));
    }

    #[test]
    fn names_that_go_on_mean_what_they_begin_with() {
        for (long, short) in [
            ("means_60", "mean_60"),
            ("count60", "count"),
            ("firstFillSample_60", "firstFill_60"),
            ("meanSamples_60", "meanSample_60"),
        ] {
            assert_eq!(Operator::parse(long, &[]), Operator::parse(short, &[]), "{long}");
        }
        for name in ["MEAN_60", "rms_60", "", "_60", "me"] {
            assert!(matches!(Operator::parse(name, &[]), Err(OperatorError::Unknown { .. })), "{name}");
        }
    }

    #[test]
    fn what_is_no_operator_is_refused_with_those_that_are() {
        let error = Operator::parse("meen_60", &[]).unwrap_err().to_string();
        assert!(error.starts_with("\"meen\" is no operator, expected one of mean, min, max, "), "{error}");
        for text in ["mean_0", "mean_-5", "optimized_0", "nth_-1"] {
            assert!(matches!(Operator::parse(text, &[]), Err(OperatorError::Argument { .. })), "{text}");
        }
        for text in ["mean_x", "mean_", "mean_60.5", "mean_NaN", "nth_3000000000", "deadBand_x", "flyers_60_NaN"] {
            assert!(matches!(Operator::parse(text, &[]), Err(OperatorError::NoNumber { .. })), "{text}");
        }
    }
}
