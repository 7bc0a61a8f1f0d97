//! The answers of two servers to an object.

use crate::servers::Cause;

/// How far an object is from being a witness.
pub(super) enum Outcome {
    /// It is one.
    Witness,
    /// The older release rejects it at other places, too.
    Mixed(Vec<Cause>),
    /// The older release rejects it at other places only.
    Elsewhere(Vec<Cause>),
    /// The older release accepts it.
    Accepted,
    /// The newer release rejects it.
    Invalid(Vec<Cause>),
}

impl Outcome {
    /// The distance, to compare changes.
    pub(super) fn score(&self) -> usize {
        match self {
            Self::Witness => 0,
            Self::Mixed(causes) => weight(causes),
            Self::Accepted => 5_000,
            Self::Elsewhere(causes) => 5_000 + weight(causes),
            Self::Invalid(causes) => 10_000 + weight(causes),
        }
    }
}

/// The weight of errors. A server evaluates rules only for objects that fit the schema otherwise, so errors of the schema
/// weigh more.
fn weight(causes: &[Cause]) -> usize {
    let of_rule = |cause: &Cause| cause.reason == "FieldValueInvalid" && !cause.message.contains(" in body ");
    causes.iter().map(|cause| if of_rule(cause) { 1 } else { 20 }).sum()
}

/// The reason of a search without result, for people.
pub(super) fn reason(last: Option<&Outcome>) -> String {
    let first = |causes: &[Cause]| {
        causes.first().map_or_else(String::new, |cause| match cause.place.to_string() {
            place if place.is_empty() => format!(": {}", cause.message),
            place => format!(": {place}: {}", cause.message),
        })
    };
    match last {
        None => "the generator finds no value that only the source accepts".to_owned(),
        Some(Outcome::Accepted | Outcome::Witness) => {
            "the target accepts every object that was tried".to_owned()
        }
        Some(Outcome::Elsewhere(causes) | Outcome::Mixed(causes)) => {
            format!("the target rejects every object that was tried for another reason{}", first(causes))
        }
        Some(Outcome::Invalid(causes)) => {
            format!("the source rejects every object that was tried{}", first(causes))
        }
    }
}
