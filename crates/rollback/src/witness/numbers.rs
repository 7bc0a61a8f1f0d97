//! Numbers that fulfil the restrictions of a schema.

use serde_json::{Value, json};

use super::dice::Dice;
use crate::schema::Limits;

/// An integer within the limits.
#[expect(clippy::cast_possible_truncation, reason = "limits beyond 53 bits do not occur")]
pub(super) fn integer(limits: &Limits, dice: &mut Dice) -> Option<Value> {
    let (low, high) = range(limits, 1.0);
    let step = limits.multiples.first().copied().unwrap_or(1.0).max(1.0);
    let (low, high) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    if low > high {
        return None;
    }
    Some(json!(choose(low, high, dice) * step as i64))
}

/// A number within the limits.
pub(super) fn number(limits: &Limits, dice: &mut Dice) -> Option<Value> {
    let (low, high) = range(limits, 0.5);
    match integer(limits, dice) {
        Some(found) => Some(found),
        None if low <= high => Some(json!(low)),
        None => None,
    }
}

/// The least and the greatest number; numbers beyond excluded bounds are `gap` apart.
fn range(limits: &Limits, gap: f64) -> (f64, f64) {
    let past = |excluded: bool| if excluded { gap } else { 0.0 };
    let low = limits.minimum.map(|(bound, excluded)| bound + past(excluded));
    let high = limits.maximum.map(|(bound, excluded)| bound - past(excluded));
    let is_int32 = limits.formats.iter().any(|format| format == "int32");
    let most = if is_int32 { f64::from(i32::MAX) } else { 9e15 };
    match (low, high) {
        (Some(low), high) => (low, high.unwrap_or(most)),
        (None, Some(high)) => (if high < 0.0 { -most } else { 0.0 }, high),
        (None, None) => (0.0, most),
    }
}

/// The smallest number, or one of those at the ends, or one between.
fn choose(low: i64, high: i64, dice: &mut Dice) -> i64 {
    let near = high.saturating_sub(low).min(100);
    let between = low + i64::try_from(dice.any_index(usize::try_from(near).unwrap_or(0) + 1)).unwrap_or(0);
    let choices = [low, high, between, low.max(1).min(high), low.max(0).min(high)];
    choices[dice.index(choices.len())]
}
