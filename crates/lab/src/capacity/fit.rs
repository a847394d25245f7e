//! Straight lines through measurements: least squares of relative errors, no line with a slope below zero.

/// Turns through all slopes; ten thousand take a millisecond.
const TURNS: usize = 10_000;

/// The slopes that fit best, one for each column of the rows; a row is `(columns, value)`. Errors count in relation to the
/// value, but to no less than `least`.
pub(super) fn fit<const N: usize>(rows: &[([f64; N], f64)], least: f64) -> [f64; N] {
    // Columns of one size, so that the turns come to an end.
    let scale: [f64; N] =
        std::array::from_fn(|column| rows.iter().map(|(x, _)| x[column].abs()).fold(f64::MIN_POSITIVE, f64::max));
    let weighted: Vec<([f64; N], f64)> = rows
        .iter()
        .map(|(x, y)| {
            let weight = 1.0 / y.abs().max(least);
            (std::array::from_fn(|column| x[column] / scale[column] * weight), y * weight)
        })
        .collect();
    let mut slopes = [0.0; N];
    for _ in 0..TURNS {
        for column in 0..N {
            let mut over = 0.0;
            let mut under = 0.0;
            for (x, y) in &weighted {
                let others: f64 = (0..N).filter(|other| *other != column).map(|other| x[other] * slopes[other]).sum();
                over += x[column] * (y - others);
                under += x[column] * x[column];
            }
            slopes[column] = if under > 0.0 { (over / under).max(0.0) } else { 0.0 };
        }
    }
    std::array::from_fn(|column| slopes[column] / scale[column])
}

/// The errors of a fit in each row, in percent of the value.
pub(super) fn errors<const N: usize>(rows: &[([f64; N], f64)], slopes: &[f64; N], least: f64) -> Vec<f64> {
    let error = |(x, y): &([f64; N], f64)| {
        let found: f64 = x.iter().zip(slopes).map(|(x, slope)| x * slope).sum();
        100.0 * (found - y) / y.abs().max(least)
    };
    rows.iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again_and_none_falls() {
        let rows: Vec<([f64; 3], f64)> = (1..30)
            .map(|n| (f64::from(n), f64::from(n * n % 17)))
            .map(|(a, b)| ([1.0, a, 1e6 * b], 0.5 + 2.0 * a + 3.0 * b))
            .collect();
        let slopes = fit(&rows, 1e-9);
        for (slope, expected) in slopes.into_iter().zip([0.5, 2.0, 3e-6]) {
            assert!((slope / expected - 1.0).abs() < 1e-3, "{slope} for {expected}");
        }
        assert!(errors(&rows, &slopes, 1e-9).into_iter().all(|error| error.abs() < 0.1));
        let falling: Vec<([f64; 2], f64)> = (1..9).map(|n| ([1.0, f64::from(n)], 10.0 - f64::from(n))).collect();
        assert_eq!(fit(&falling, 1e-9)[1], 0.0);
    }
}
