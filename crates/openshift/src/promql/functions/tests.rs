//! Functions with values computed by hand from their definitions in Prometheus' documentation.

use super::Call;
use crate::promql::sample::Run;
use crate::promql::{Labels, NAME, Sample, Series, Value};

/// A series with samples 30 s apart from the epoch on.
fn series(values: &[f64]) -> Value {
    let runs = values.iter().zip(0..).map(|(value, place)| Run::single(place * 30_000, *value));
    let labels = [(NAME.to_owned(), "m".to_owned()), ("job".to_owned(), "a".to_owned())].into();
    Value::Range(vec![Series { labels, runs: runs.collect() }])
}

/// The value of a function of one series, evaluated at `end` seconds over this range; `None` without a result.
#[track_caller]
fn ranged(name: &str, values: &[f64], (start, end): (i64, i64), parameter: Option<f64>) -> Option<f64> {
    let call = Call { now: end * 1000, window: (start * 1000, end * 1000) };
    let arguments = [series(values)].into_iter().chain(parameter.map(Value::Scalar)).collect();
    match super::call(name, arguments, call).unwrap() {
        Value::Vector(samples) => samples.first().map(|sample| sample.value),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("no result");
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn rates_are_extrapolated_to_the_range() {
    // 0, 30, 60, 90 s: 10, 40, 70, 100. The slope is 1 a second.
    let counter = [10.0, 40.0, 70.0, 100.0];
    // All of the range is sampled: 90 in 90 s.
    near(ranged("increase", &counter, (0, 90), None), 90.0);
    near(ranged("rate", &counter, (0, 90), None), 1.0);
    // 10 s before and 20 s after the samples are nearer than 1.1 of 30 s, and zero was 10 s before the first sample:
    // 90 * (10 + 90 + 20) / 90 = 120.
    near(ranged("increase", &counter, (-10, 110), None), 120.0);
    near(ranged("rate", &counter, (-10, 110), None), 1.0);
    // 20 s before the samples a counter would be below zero, so only 10 s count: 90 * (10 + 90) / 90 = 100.
    near(ranged("increase", &counter, (-20, 90), None), 100.0);
    near(ranged("delta", &counter, (-20, 90), None), 110.0);
    // 60 s after the last sample are too far: half an interval counts. 90 * (90 + 15) / 90 = 105.
    near(ranged("delta", &counter, (0, 150), None), 105.0);
    assert_eq!(ranged("rate", &[1.0], (0, 90), None), None, "two samples are needed");
}

#[test]
fn a_falling_counter_was_reset() {
    // 10 -> 20 -> 5 -> 8: increases of 10, 5 and 3.
    let counter = [10.0, 20.0, 5.0, 8.0];
    near(ranged("increase", &counter, (0, 90), None), 18.0);
    near(ranged("delta", &counter, (0, 90), None), -2.0);
    near(ranged("resets", &counter, (0, 90), None), 1.0);
    near(ranged("changes", &counter, (0, 90), None), 3.0);
    near(ranged("irate", &counter, (0, 90), None), 0.1);
    near(ranged("irate", &[10.0, 20.0, 6.0], (0, 90), None), 0.2);
    near(ranged("idelta", &[10.0, 20.0, 6.0], (0, 90), None), -14.0);
}

#[test]
fn regression_finds_slope_and_future_value() {
    // 3 a minute.
    let gauge = [1.0, 2.5, 4.0];
    near(ranged("deriv", &gauge, (0, 60), None), 0.05);
    near(ranged("predict_linear", &gauge, (0, 60), Some(60.0)), 7.0);
    near(ranged("predict_linear", &[2.0, 2.0], (0, 60), Some(60.0)), 2.0);
    // Least squares of (0, 0), (30, 3), (60, 0): the slope is 0.
    near(ranged("deriv", &[0.0, 3.0, 0.0], (0, 60), None), 0.0);
}

#[test]
fn aggregations_over_time_use_every_sample() {
    let values = [4.0, 1.0, 3.0, 8.0];
    for (name, expected) in [
        ("avg_over_time", 4.0),
        ("min_over_time", 1.0),
        ("max_over_time", 8.0),
        ("sum_over_time", 16.0),
        ("count_over_time", 4.0),
        ("last_over_time", 8.0),
        ("present_over_time", 1.0),
        // The mean is 4; the squares of the differences are 0, 9, 1 and 16.
        ("stdvar_over_time", 6.5),
        ("stddev_over_time", 6.5_f64.sqrt()),
    ] {
        near(ranged(name, &values, (-1, 90), None), expected);
    }
    // Of 1, 3, 4, 8 the rank 0.9 * 3 = 2.7 is between 4 and 8.
    near(ranged("quantile_over_time", &values, (0, 90), Some(0.9)), 6.8);
    let nan = [f64::NAN, 2.0];
    near(ranged("max_over_time", &nan, (0, 90), None), 2.0);
}

#[test]
fn only_the_last_sample_keeps_the_name() {
    let call = Call { now: 0, window: (0, 30_000) };
    let labels = |name: &str| match super::call(name, vec![series(&[1.0, 2.0])], call).unwrap() {
        Value::Vector(samples) => samples[0].labels.contains_key(NAME),
        other => panic!("{other:?}"),
    };
    assert!(labels("last_over_time"));
    assert!(!labels("max_over_time"));
}

/// The value of a function of one number.
fn of(name: &str, value: f64, parameters: &[f64]) -> f64 {
    let sample = Sample { labels: Labels::new(), value };
    let arguments =
        [Value::Vector(vec![sample])].into_iter().chain(parameters.iter().copied().map(Value::Scalar));
    match super::call(name, arguments.collect(), Call { now: 0, window: (0, 0) }).unwrap() {
        Value::Vector(samples) => samples.first().map_or(f64::NAN, |sample| sample.value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_are_rounded_and_clamped() {
    near(Some(of("round", 2.5, &[])), 3.0);
    near(Some(of("round", -2.5, &[])), -2.0);
    near(Some(of("round", 0.345, &[0.1])), 0.3);
    near(Some(of("clamp", 7.0, &[1.0, 5.0])), 5.0);
    assert!(of("clamp", 7.0, &[5.0, 1.0]).is_nan(), "no sample remains");
    near(Some(of("clamp_min", 0.0, &[1.0])), 1.0);
    near(Some(of("clamp_max", 2.0, &[1.0])), 1.0);
    near(Some(of("sgn", -3.0, &[])), -1.0);
    near(Some(of("log2", 8.0, &[])), 3.0);
    near(Some(of("deg", std::f64::consts::PI, &[])), 180.0);
}

#[test]
fn dates_are_in_utc() {
    // Thursday, 29 February 2024, 23:59:30.
    let time = 1_709_251_170.0;
    for (name, expected) in [
        ("year", 2024.0),
        ("month", 2.0),
        ("day_of_month", 29.0),
        ("day_of_week", 4.0),
        ("day_of_year", 60.0),
        ("days_in_month", 29.0),
        ("hour", 23.0),
        ("minute", 59.0),
    ] {
        near(Some(of(name, time, &[])), expected);
    }
    assert!(of("hour", f64::INFINITY, &[]).is_nan());
}

/// The quantile of a histogram with these buckets.
fn quantile(phi: f64, buckets: &[(&str, f64)]) -> f64 {
    let sample = |(le, value): &(&str, f64)| Sample {
        labels: [("le".to_owned(), (*le).to_owned())].into(),
        value: *value,
    };
    let samples = Value::Vector(buckets.iter().map(sample).collect());
    match super::call(
        "histogram_quantile",
        vec![Value::Scalar(phi), samples],
        Call { now: 0, window: (0, 0) },
    ) {
        Ok(Value::Vector(samples)) => samples[0].value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn quantiles_of_histograms_are_interpolated_within_a_bucket() {
    let buckets = [("+Inf", 10.0), ("0.1", 2.0), ("0.5", 8.0)];
    // Rank 5 is 3 of the 6 observations between 0.1 and 0.5.
    near(Some(quantile(0.5, &buckets)), 0.3);
    // Rank 1 is one of the 2 observations between 0 and 0.1.
    near(Some(quantile(0.1, &buckets)), 0.05);
    near(Some(quantile(0.99, &buckets)), 0.5);
    assert!(quantile(1.5, &buckets).is_infinite());
    assert!(
        quantile(0.5, &[("0.1", 2.0), ("0.5", 8.0)]).is_nan(),
        "the bucket of all observations is missing"
    );
    assert!(quantile(0.5, &[("0.1", 0.0), ("+Inf", 0.0)]).is_nan(), "there are no observations");
    // The second count is below the first one, since the buckets were scraped at different moments.
    near(Some(quantile(0.5, &[("1", 4.0), ("2", 3.0), ("+Inf", 4.0)])), 0.5);
}
