//! Validation of priority levels (`ValidatePriorityLevelConfiguration`).

use serde_json::Value;

use super::flow_schema::conditions;
use crate::kinds::validation::{Errors, Path, text};

const PRESERVED_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const MOST_QUEUES: i64 = 10_000_000;
/// The bits of the hash that deals queues to flows.
const HASH_BITS: u32 = 60;
const SHARES: &str = "must be a non-negative integer";

pub(in crate::kinds::validation) fn level(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    if object["metadata"]["annotations"].get(PRESERVED_ZERO).is_some() {
        let metadata = Path::Root.child("metadata");
        let why = format!("annotation '{PRESERVED_ZERO}' is forbidden");
        errors.forbidden(metadata.child("annotations"), why);
    }
    let at = Path::Root.child("spec");
    let (spec, kind) = (&object["spec"], text(&object["spec"]["type"]));
    if (object["metadata"]["name"] == "exempt") != (kind == "Exempt") {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.invalid(at.child("type"), kind, why);
    }
    let (exempt, limited) = (at.child("exempt"), at.child("limited"));
    match kind {
        "Exempt" => {
            if spec["limited"].is_object() {
                errors.forbidden(limited, "must be nil if the type is not Limited");
            }
            shares(&spec["exempt"], exempt, errors);
        }
        "Limited" => {
            if spec["exempt"].is_object() {
                errors.forbidden(exempt, "must be nil if the type is Limited");
            }
            if spec["limited"].is_object() {
                check_limited(&spec["limited"], limited, errors);
            } else {
                errors.required(limited, "must not be empty when type is Limited");
            }
        }
        other => errors.unsupported(at.child("type"), other, &["Exempt", "Limited"]),
    }
    conditions(object, errors);
}

/// Validates a status write (`ValidatePriorityLevelConfigurationStatus`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    conditions(object, errors);
}

/// Validates the part of the concurrency, and how much of it others may use.
fn shares(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["nominalConcurrencyShares", "assuredConcurrencyShares"] {
        if let Some(shares) = value[field].as_i64().filter(|shares| *shares < 0) {
            errors.invalid(at.child(field), shares, SHARES);
        }
    }
    if let Some(percent) = value["lendablePercent"].as_i64().filter(|given| !(0..=100).contains(given)) {
        let why = "must be between 0 and 100, inclusive";
        errors.invalid(at.child("lendablePercent"), percent, why);
    }
}

fn check_limited(limited: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    shares(limited, at, errors);
    let response = at.child("limitResponse");
    let queuing = response.child("queuing");
    let given = &limited["limitResponse"];
    match (text(&given["type"]), given["queuing"].is_object()) {
        ("Reject", true) => {
            errors.forbidden(queuing, "must be nil if limited.limitResponse.type is not Limited");
        }
        ("Queue", false) => {
            errors.required(queuing, "must not be empty if limited.limitResponse.type is Limited");
        }
        ("Queue", true) => queues(&given["queuing"], queuing, errors),
        ("Reject", false) => {}
        (other, _) => {
            // An empty type is unsupported, not missing.
            errors.unsupported(response.child("type"), other, &["Queue", "Reject"]);
        }
    }
    let percent = limited["borrowingLimitPercent"].as_i64();
    if let Some(percent) = percent.filter(|percent| *percent < 0) {
        let why = "if specified, must be a non-negative integer";
        errors.invalid(at.child("borrowingLimitPercent"), percent, why);
    }
}

/// Validates the queues and the hands that are dealt from them (`ValidatePriorityLevelQueuingConfiguration`).
fn queues(queuing: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let number = |field: &str| queuing[field].as_i64().unwrap_or(0);
    let (limit, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    for (field, given) in [("queueLengthLimit", limit), ("queues", queues), ("handSize", hand)] {
        if given <= 0 {
            errors.invalid(at.child(field), given, "must be positive");
        }
    }
    if queues > MOST_QUEUES {
        let why = format!("must not be greater than {MOST_QUEUES}");
        errors.invalid(at.child("queues"), queues, why);
    }
    let place = at.child("handSize");
    if hand > 0 && hand > queues {
        errors.invalid(place, hand, format!("should not be greater than queues ({queues})"));
    } else if hand > 0 && entropy(queues, hand) > HASH_BITS {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        errors.invalid(place, hand, why);
    }
}

/// A slightly high estimate of the bits that it takes to deal a hand (`RequiredEntropyBits`).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "few bits"
)]
fn entropy(queues: i64, hand: i64) -> u32 {
    ((queues as f64).log2() * hand as f64).ceil() as u32
}
