//! `series`, `labels` and the values of a label.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::ranges::parse_time;
use super::{Parameters, ServedState, bad_data, parsed, success};
use crate::promql::{self, Labels, NAME};

/// Answers `series`, which needs a selector.
pub(super) fn all(parameters: &Parameters<'_>, state: &ServedState<'_>) -> (u16, Json) {
    if parameters.all("match[]").next().is_none() {
        return bad_data("no match[] parameter provided");
    }
    answer(parameters, state, |found| json!(found))
}

/// Answers `labels`: the names of all labels.
pub(super) fn labels(parameters: &Parameters<'_>, state: &ServedState<'_>) -> (u16, Json) {
    answer(parameters, state, |found| {
        let names: BTreeSet<&String> = found.iter().flat_map(|labels| labels.keys()).collect();
        json!(names)
    })
}

/// Answers `label/NAME/values`.
pub(super) fn values(label: &str, parameters: &Parameters<'_>, state: &ServedState<'_>) -> (u16, Json) {
    if !promql::is_label_name(label) {
        return bad_data(&format!("invalid label name: \"{label}\""));
    }
    answer(parameters, state, |found| {
        let values: BTreeSet<&String> = found.iter().filter_map(|labels| labels.get(label)).collect();
        json!(values)
    })
}

/// Answers with a part of the labels of all series that match a selector, or of all series without one.
fn answer(
    parameters: &Parameters<'_>,
    state: &ServedState<'_>,
    part: impl Fn(&BTreeSet<Labels>) -> Json,
) -> (u16, Json) {
    found(parameters, state).map_or_else(|rejected| rejected, |found| success(&part(&found)))
}

/// # Errors
/// The answer that rejects the request.
fn found(parameters: &Parameters<'_>, state: &ServedState<'_>) -> Result<BTreeSet<Labels>, (u16, Json)> {
    let scraped = state.scraped();
    let bound = |name: &str, default: i64| match parameters.get(name) {
        "" => Ok(default),
        text => parse_time(text).ok_or_else(|| {
            bad_data(&format!("invalid parameter \"{name}\": cannot parse \"{text}\" to a valid timestamp"))
        }),
    };
    let (start, end) = (bound("start", i64::MIN)?, bound("end", state.now.as_millisecond())?);
    let matching: Vec<&str> = parameters.all("match[]").collect();
    let mut found = BTreeSet::new();
    for text in &matching {
        let expr = parsed("match[]", text)?;
        let Some(series) = promql::series_between(&expr, &scraped, start, end) else {
            return Err(bad_data("invalid parameter \"match[]\": expected a selector without a range"));
        };
        found.extend(series.into_iter().map(|series| series.labels));
    }
    if matching.is_empty() {
        for metric in state.metrics() {
            let selected = promql::parse(&format!("{{{NAME}=\"{metric}\"}}")).ok();
            let series = selected.and_then(|expr| promql::series_between(&expr, &scraped, start, end));
            found.extend(series.into_iter().flatten().map(|series| series.labels));
        }
    }
    Ok(found)
}
