//! Changes of a series over time: `rate`, `increase`, `delta`, their instant forms, and linear regression.

use super::seconds;
use crate::promql::Series;
use crate::promql::sample::total;

/// Returns the difference of the last and the first sample, extrapolated to the whole range; `None` without two samples.
/// It extrapolates to the end of the range if the nearest sample is not farther than 1.1 of the average interval, else by
/// half of that. A counter that falls was reset to zero, and is not extrapolated below zero.
pub(super) fn extrapolated(
    series: &Series,
    (start, end): (i64, i64),
    is_counter: bool,
    per_second: bool,
) -> Option<f64> {
    let points: Vec<(i64, f64)> = series.points().collect();
    let (&(first_at, first), &(last_at, last)) = (points.first()?, points.last()?);
    if last_at <= first_at {
        return None;
    }
    let mut difference = last - first;
    if is_counter {
        difference += total(points.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[0].1));
    }
    let sampled = seconds(last_at - first_at);
    #[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
    let average = sampled / (points.len() - 1) as f64;
    let extent = |distance: f64| if distance >= average * 1.1 { average / 2.0 } else { distance };
    let mut to_start = extent(seconds(first_at - start));
    if is_counter && difference > 0.0 && first >= 0.0 {
        to_start = to_start.min(sampled * (first / difference));
    }
    let whole = sampled + to_start + extent(seconds(end - last_at));
    let per = if per_second { seconds(end - start) } else { 1.0 };
    Some(difference * (whole / sampled / per))
}

/// Returns the difference of the last two samples, per second if they are those of a counter; `None` without two.
pub(super) fn instant(series: &Series, is_rate: bool) -> Option<f64> {
    let points: Vec<(i64, f64)> = series.points().collect();
    let [.., (before_at, before), (at, value)] = points.as_slice() else { return None };
    if at == before_at {
        return None;
    }
    let is_reset = is_rate && value < before;
    let difference = if is_reset { *value } else { value - before };
    Some(if is_rate { difference / seconds(at - before_at) } else { difference })
}

/// Returns the slope per second of the line nearest to all samples, and its value at a moment; `None` without two samples.
pub(super) fn line(series: &Series, moment: i64) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = series.points().map(|(at, value)| (seconds(at - moment), value)).collect();
    let [(_, first), _, ..] = points.as_slice() else { return None };
    if points.iter().all(|(_, value)| value.to_bits() == first.to_bits()) {
        return Some(if first.is_finite() { (0.0, *first) } else { (f64::NAN, f64::NAN) });
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer samples than 2^52")]
    let count = points.len() as f64;
    let sum = |part: fn(f64, f64) -> f64| total(points.iter().map(|(x, y)| part(*x, *y)));
    let (sum_x, sum_y) = (sum(|x, _| x), sum(|_, y| y));
    let covariance = sum(|x, y| x * y) - sum_x * sum_y / count;
    let slope = covariance / (sum(|x, _| x * x) - sum_x * sum_x / count);
    Some((slope, sum_y / count - slope * sum_x / count))
}
