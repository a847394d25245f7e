//! Smoothing by local regression (Cleveland, 1979), read off at one place from a natural cubic spline through the smoothed points.
//!
//! Clients compare with the Archiver Appliance, whose times are seconds since 1970 as floats. So far from zero the sums of squares
//! lose digits, and the answer depends on the order of the sums: it is the usual one, term by term, and must stay so.

/// Which part of all points each local line is fitted to.
const BANDWIDTH: f64 = 0.3;
/// How often points far from the curve are given less weight.
const ROBUST_ROUNDS: usize = 2;
/// Below this a spread or a distance counts as none.
const ACCURACY: f64 = 1e-12;

/// The smoothed value at `at`; none where there are too few points, times do not rise, numbers are not finite or the place lies
/// outside.
pub(super) fn smoothed_at(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let is_sound = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
    let width = (BANDWIDTH * points.len() as f64) as usize;
    let (first, last) = (points.first()?.0, points.last()?.0);
    if !is_sound || !rises(points) || width < 2 || at < first || at > last {
        return None;
    }
    let smooth = smooth(points, width);
    Some(spline_at(points, &smooth, at))
}

/// Whether each point is later than the one before it.
fn rises(points: &[(f64, f64)]) -> bool {
    points.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b))
}

/// The smoothed value of every point.
fn smooth(points: &[(f64, f64)], width: usize) -> Vec<f64> {
    let mut robustness = vec![1.0; points.len()];
    let mut smooth = vec![0.0; points.len()];
    for round in 0..=ROBUST_ROUNDS {
        let (mut left, mut right) = (0, width - 1);
        for (index, value) in smooth.iter_mut().enumerate() {
            // The window follows while the point beyond its right end is nearer than that at its left end.
            if index > 0
                && let Some((beyond, _)) = points.get(right + 1)
                && beyond - points[index].0 < points[index].0 - points[left].0
            {
                (left, right) = (left + 1, right + 1);
            }
            *value = fitted(points, &robustness, index, left..=right);
        }
        if round == ROBUST_ROUNDS || !weigh(points, &smooth, &mut robustness) {
            break;
        }
    }
    smooth
}

/// The value at one point of the line fitted to those of a window, the nearer ones weighing more.
fn fitted(points: &[(f64, f64)], robustness: &[f64], index: usize, window: std::ops::RangeInclusive<usize>) -> f64 {
    let x = points[index].0;
    let (left, right) = (points[*window.start()].0, points[*window.end()].0);
    let edge = if x - left > right - x { left } else { right };
    let scale = (1.0 / (edge - x)).abs();
    let [mut weights, mut sum_x, mut sum_xx, mut sum_y, mut sum_xy] = [0.0; 5];
    for near in window {
        let (x_near, y_near) = points[near];
        let distance = if near < index { x - x_near } else { x_near - x };
        let weight = tricube(distance * scale) * robustness[near];
        let weighted = x_near * weight;
        weights += weight;
        sum_x += weighted;
        sum_xx += x_near * weighted;
        sum_y += y_near * weight;
        sum_xy += y_near * weighted;
    }
    let (mean_x, mean_y) = (sum_x / weights, sum_y / weights);
    let (mean_xy, mean_xx) = (sum_xy / weights, sum_xx / weights);
    let spread = mean_xx - mean_x * mean_x;
    let slope = if spread.abs().sqrt() < ACCURACY { 0.0 } else { (mean_xy - mean_x * mean_y) / spread };
    slope * x + (mean_y - slope * mean_x)
}

fn tricube(x: f64) -> f64 {
    let x = x.abs();
    if x >= 1.0 {
        return 0.0;
    }
    let rest = 1.0 - x * x * x;
    rest * rest * rest
}

/// Gives points less weight the farther they are from the curve; false where they all lie on it.
fn weigh(points: &[(f64, f64)], smooth: &[f64], robustness: &mut [f64]) -> bool {
    let residuals: Vec<f64> = points.iter().zip(smooth).map(|((_, y), smooth)| (y - smooth).abs()).collect();
    let mut sorted = residuals.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    if median.abs() < ACCURACY {
        return false;
    }
    for (weight, residual) in robustness.iter_mut().zip(&residuals) {
        let part = residual / (6.0 * median);
        let rest = 1.0 - part * part;
        *weight = if part >= 1.0 { 0.0 } else { rest * rest };
    }
    true
}

/// The natural cubic spline through the points with the values `y`, at a place within them. The recurrence is that of the
/// tridiagonal system for the second derivatives.
fn spline_at(points: &[(f64, f64)], y: &[f64], at: f64) -> f64 {
    let last = points.len() - 1;
    let x = |index: usize| points[index].0;
    let step: Vec<f64> = (0..last).map(|index| x(index + 1) - x(index)).collect();
    let (mut mu, mut z) = (vec![0.0; last + 1], vec![0.0; last + 1]);
    for i in 1..last {
        let pivot = 2.0 * (x(i + 1) - x(i - 1)) - step[i - 1] * mu[i - 1];
        mu[i] = step[i] / pivot;
        let bend = 3.0 * (y[i + 1] * step[i - 1] - y[i] * (x(i + 1) - x(i - 1)) + y[i - 1] * step[i])
            / (step[i - 1] * step[i]);
        z[i] = (bend - step[i - 1] * z[i - 1]) / pivot;
    }
    let piece = points.partition_point(|(x, _)| *x <= at).saturating_sub(1).min(last - 1);
    let mut square = 0.0;
    let mut square_after = 0.0;
    for i in (piece..last).rev() {
        square_after = square;
        square = z[i] - mu[i] * square;
    }
    let line = (y[piece + 1] - y[piece]) / step[piece] - step[piece] * (square_after + 2.0 * square) / 3.0;
    let cube = (square_after - square) / (3.0 * step[piece]);
    let t = at - x(piece);
    y[piece] + t * (line + t * (square + t * cube))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..40).map(|i| (f64::from(i), of(f64::from(i)))).collect()
    }

    #[test]
    fn a_line_stays_a_line_and_an_outlier_is_smoothed_away() {
        let value = smoothed_at(&points(|x| 3.0 * x - 7.0), 20.25).unwrap();
        assert!((value - 53.75).abs() < 1e-9, "{value}");
        // Robust weights are relative to the usual scatter, so there has to be some.
        let mut with_outlier = points(|x| 2.0 * x + (x * 37.0).sin());
        with_outlier[20].1 += 12.0;
        let value = smoothed_at(&with_outlier, 20.0).unwrap();
        assert!((value - 40.0).abs() < 1.0, "{value}");
    }

    #[test]
    fn too_few_points_bad_numbers_and_places_outside_have_no_value() {
        assert_eq!(smoothed_at(&points(|x| x)[..6], 3.0), None);
        assert!(smoothed_at(&points(|x| x)[..7], 3.0).is_some());
        assert_eq!(smoothed_at(&points(|x| x), 39.5), None);
        assert_eq!(smoothed_at(&points(|x| x), -0.5), None);
        let mut bad = points(|x| x);
        bad[3].1 = f64::NAN;
        assert_eq!(smoothed_at(&bad, 5.0), None);
        assert_eq!(smoothed_at(&[], 5.0), None);
    }
}
