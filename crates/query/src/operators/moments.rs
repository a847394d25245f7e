//! Moments of numbers as they pass: count, extremes, mean and the sums of powers around it.

use sample::Summary;

use crate::tally::CompensatedSum;

#[derive(Clone, Debug, Default)]
pub(super) struct BinMoments {
    count: u64,
    range: Option<(f64, f64)>,
    sum: CompensatedSum,
    /// The running mean and the sums of the second to fourth powers of the distances from it (Pébay, 2008).
    mean: f64,
    powers: [f64; 3],
}

impl BinMoments {
    pub(super) fn add(&mut self, number: f64) {
        let before = self.count as f64;
        self.count += 1;
        let count = self.count as f64;
        let distance = number - self.mean;
        let step = distance / count;
        // The factor that may be 0 comes first: 0 times an infinity is nothing that anybody can use.
        let product = before * distance * step;
        let [second, third, fourth] = self.powers;
        self.mean += step;
        self.powers[2] =
            fourth + product * step * step * (count * count - 3.0 * count + 3.0) + 6.0 * step * step * second
                - 4.0 * step * third;
        self.powers[1] = third + product * step * (count - 2.0) - 3.0 * step * second;
        self.powers[0] = second + product;
        self.sum.add(number);
        let (min, max) = self.range.get_or_insert((number, number));
        (*min, *max) = (min.min(number), max.max(number));
    }

    /// Many numbers at once, of which third and fourth powers are not known (Chan, Golub and LeVeque, 1979). All are finite.
    pub(super) fn add_summary(&mut self, summary: &Summary) {
        let numbers = summary.numbers();
        if numbers == 0 {
            return;
        }
        let (own, others) = (self.count as f64, numbers as f64);
        let distance = summary.sum / others - self.mean;
        self.count += numbers;
        self.mean += distance * (others / (own + others));
        self.powers[0] += summary.squares + distance * distance * (own / (own + others) * others);
        self.sum.add(summary.sum);
        let (min, max) = self.range.get_or_insert((summary.min, summary.max));
        (*min, *max) = (min.min(summary.min), max.max(summary.max));
    }

    pub(super) fn count(&self) -> f64 {
        self.count as f64
    }

    pub(super) fn mean(&self) -> f64 {
        match self.count {
            0 => f64::NAN,
            count if self.mean.is_finite() => self.sum.over(count),
            // What follows an infinity makes the running mean NaN, and so it is in the Appliance.
            _ => self.mean,
        }
    }

    pub(super) fn min(&self) -> f64 {
        self.range.map_or(f64::NAN, |(min, _)| min)
    }

    pub(super) fn max(&self) -> f64 {
        self.range.map_or(f64::NAN, |(_, max)| max)
    }

    /// Of a sample of a larger whole; 0 for a single number.
    pub(super) fn variance(&self) -> f64 {
        match self.count {
            0 => f64::NAN,
            1 => 0.0,
            count => self.powers[0] / (count - 1) as f64,
        }
    }

    pub(super) fn population_variance(&self) -> f64 {
        match self.count {
            0 => f64::NAN,
            1 => 0.0,
            count => self.powers[0] / count as f64,
        }
    }

    pub(super) fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Without bias, as commons-math has it.
    pub(super) fn skewness(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 3 {
            return f64::NAN;
        }
        let variance = self.variance();
        n * self.powers[1] / ((n - 1.0) * (n - 2.0) * variance * variance.sqrt())
    }

    /// Without bias, and without the 3 of the normal distribution.
    pub(super) fn kurtosis(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 4 {
            return f64::NAN;
        }
        let variance = self.variance();
        excess(n, self.powers[2] / (variance * variance))
    }
}

/// From the mean fourth power of the distances in deviations, times the count.
fn excess(n: f64, fourth: f64) -> f64 {
    n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0)) * fourth - 3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0))
}

/// The skewness of what moments hold too, in two passes: where it is almost 0, its digits depend on how it was summed. Equal
/// numbers have none.
pub(super) fn skewness(numbers: &[(f64, f64)]) -> f64 {
    let n = numbers.len() as f64;
    if numbers.len() < 3 {
        return f64::NAN;
    }
    let rough = numbers.iter().fold(0.0, |sum, (_, number)| sum + number) / n;
    let mean = rough + numbers.iter().fold(0.0, |sum, (_, number)| sum + (number - rough)) / n;
    let power = |times: i32| numbers.iter().fold(0.0, |sum, (_, number)| sum + (number - mean).powi(times));
    let (first, second) = (power(1), power(2));
    let variance = (second - first * first / n) / (n - 1.0);
    n / ((n - 1.0) * (n - 2.0)) * (power(3) / (variance * variance.sqrt()))
}

/// The kurtosis of what moments hold too, in two passes.
pub(super) fn kurtosis(numbers: &[(f64, f64)], moments: &BinMoments) -> f64 {
    if numbers.len() < 4 {
        return f64::NAN;
    }
    let fourth = numbers.iter().fold(0.0, |sum, (_, number)| sum + (number - moments.mean).powi(4));
    excess(numbers.len() as f64, fourth / moments.deviation().powi(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_two_passes() {
        let numbers = [3.5, -1.25, 7.0, 2.0, 2.0, 100.0, -40.5];
        let mut moments = BinMoments::default();
        numbers.iter().for_each(|number| moments.add(*number));
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let power = |p: i32| numbers.iter().map(|v| (v - mean).powi(p)).sum::<f64>();
        let variance = power(2) / (n - 1.0);
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
        close(moments.mean(), mean);
        close(moments.variance(), variance);
        close(moments.population_variance(), power(2) / n);
        close(moments.skewness(), n * power(3) / ((n - 1.0) * (n - 2.0) * variance.powf(1.5)));
        let kurtosis = n * (n + 1.0) * power(4) / ((n - 1.0) * (n - 2.0) * (n - 3.0) * variance * variance)
            - 3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0));
        close(moments.kurtosis(), kurtosis);
        assert_eq!((moments.min(), moments.max(), moments.count()), (-40.5, 100.0, n));
    }
}
