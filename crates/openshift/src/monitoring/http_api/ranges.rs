//! `query_range`: an expression at many moments.

use serde_json::{Value as Json, json};
use windtunnel_core::clock::Time;

use super::{Parameters, ServedState, bad_data, failure, matrix, parsed, success};
use crate::promql;

/// Maximum number of steps. Prometheus has the same limit.
const STEPS_MAX: i64 = 11_000;

/// Answers `query_range`.
pub(super) fn answer(parameters: &Parameters<'_>, state: &ServedState<'_>) -> (u16, Json) {
    evaluate(parameters, state).unwrap_or_else(|rejected| rejected)
}

/// # Errors
/// The answer that rejects the request.
fn evaluate(parameters: &Parameters<'_>, state: &ServedState<'_>) -> Result<(u16, Json), (u16, Json)> {
    let start = time(parameters, "start")?;
    let end = time(parameters, "end")?;
    if end < start {
        return Err(bad_data("invalid parameter \"end\": end timestamp must not be before start time"));
    }
    let step = step(parameters.get("step"))?;
    if (end - start) / step > STEPS_MAX {
        return Err(bad_data(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
        ));
    }
    let expr = parsed("query", parameters.get("query"))?;
    if let Some(kind) = promql::unfit_for_range_query(&expr) {
        return Err(bad_data(&format!(
            "invalid parameter \"query\": invalid expression type \"{kind}\" for range query, must be Scalar or instant Vector"
        )));
    }
    Ok(match promql::evaluate_range(&expr, &state.scraped(), (start, end), step) {
        Ok(series) => success(&json!({ "resultType": "matrix", "result": matrix(&series) })),
        Err(error) => failure(422, "execution", &error),
    })
}

/// Returns a time in milliseconds since the epoch.
///
/// # Errors
/// It is neither RFC 3339 nor a number of seconds.
fn time(parameters: &Parameters<'_>, name: &str) -> Result<i64, (u16, Json)> {
    let text = parameters.get(name);
    parse_time(text).ok_or_else(|| {
        bad_data(&format!("invalid parameter \"{name}\": cannot parse \"{text}\" to a valid timestamp"))
    })
}

/// Parses RFC 3339 or seconds since the epoch, to milliseconds.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    match text.parse::<f64>() {
        Ok(seconds) => milliseconds(seconds).filter(|at| Time::from_millisecond(*at).is_ok()),
        Err(_) => text.parse::<Time>().ok().map(Time::as_millisecond),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked against the range")]
fn milliseconds(seconds: f64) -> Option<i64> {
    let milliseconds = (seconds * 1000.0).round();
    (milliseconds.abs() < 1e15).then_some(milliseconds as i64)
}

/// Returns a step in milliseconds.
///
/// # Errors
/// It is neither a duration nor a number of seconds, or not positive.
fn step(text: &str) -> Result<i64, (u16, Json)> {
    let step = match text.parse::<f64>() {
        Ok(seconds) => milliseconds(seconds),
        Err(_) => promql::parse_duration(text).and_then(|span| i64::try_from(span.as_millis()).ok()),
    };
    match step {
        Some(step) if step > 0 => Ok(step),
        Some(_) => Err(bad_data(
            "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer",
        )),
        None => {
            Err(bad_data(&format!("invalid parameter \"step\": cannot parse \"{text}\" to a valid duration")))
        }
    }
}
