//! Binary operators.

use std::collections::{BTreeMap, BTreeSet};

use super::sample::{distinct, vector};
use super::{Binary, Labels, Matching, NAME, Sample, Value};

pub(super) fn combine(binary: &Binary, left: Value, right: Value) -> Result<Value, String> {
    if let "and" | "or" | "unless" = binary.operator.as_str() {
        let samples = set(&binary.operator, &binary.matching, vector(left)?, vector(right)?);
        return Ok(Value::Vector(samples));
    }
    match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => {
            Ok(Value::Scalar(compute(&binary.operator, left, right)))
        }
        (Value::Vector(samples), Value::Scalar(number)) => {
            let computed = samples.into_iter().filter_map(|sample| {
                let value = sample.value;
                outcome(binary, value, number, value).map(|value| relabelled(binary, sample, value))
            });
            distinct(computed.collect()).map(Value::Vector)
        }
        (Value::Scalar(number), Value::Vector(samples)) => {
            let computed = samples.into_iter().filter_map(|sample| {
                let value = sample.value;
                outcome(binary, number, value, value).map(|value| relabelled(binary, sample, value))
            });
            distinct(computed.collect()).map(Value::Vector)
        }
        (Value::Vector(left), Value::Vector(right)) => pairs(binary, left, right).map(Value::Vector),
        (left, right) => Err(format!(
            "binary expression must contain only scalar and instant vector types, found {} and {}",
            left.kind(),
            right.kind()
        )),
    }
}

pub(super) fn is_comparison(operator: &str) -> bool {
    matches!(operator, "==" | "!=" | ">" | "<" | ">=" | "<=")
}

#[expect(clippy::float_cmp, reason = "PromQL compares so, and NaN equals nothing")]
pub(super) fn compute(operator: &str, left: f64, right: f64) -> f64 {
    let truth = |holds: bool| f64::from(u8::from(holds));
    match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "%" => left % right,
        "^" => left.powf(right),
        "atan2" => left.atan2(right),
        "==" => truth(left == right),
        "!=" => truth(left != right),
        ">" => truth(left > right),
        "<" => truth(left < right),
        ">=" => truth(left >= right),
        _ => truth(left <= right),
    }
}

/// Returns the new value. A filtering comparison returns `unchanged`, or `None` to drop the sample.
fn outcome(binary: &Binary, left: f64, right: f64, unchanged: f64) -> Option<f64> {
    let value = compute(&binary.operator, left, right);
    if !is_comparison(&binary.operator) || binary.returns_bool {
        return Some(value);
    }
    (value > 0.0).then_some(unchanged)
}

/// Returns the sample with its new value. Only a filtering comparison keeps the metric's name.
fn relabelled(binary: &Binary, mut sample: Sample, value: f64) -> Sample {
    if !is_comparison(&binary.operator) || binary.returns_bool {
        sample.labels.remove(NAME);
    }
    Sample { value, ..sample }
}

/// Returns the labels that matching samples of both sides must share.
fn key(matching: &Matching, labels: &Labels) -> Labels {
    let counts = |name: &String| matching.labels.contains(name) == matching.on && name != NAME;
    let shared = labels.iter().filter(|(name, _)| counts(name));
    shared.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn set(operator: &str, matching: &Matching, mut left: Vec<Sample>, mut right: Vec<Sample>) -> Vec<Sample> {
    let keys = |samples: &[Sample]| -> BTreeSet<Labels> {
        samples.iter().map(|sample| key(matching, &sample.labels)).collect()
    };
    if operator == "or" {
        let known = keys(&left);
        right.retain(|sample| !known.contains(&key(matching, &sample.labels)));
        left.append(&mut right);
    } else {
        let known = keys(&right);
        left.retain(|sample| known.contains(&key(matching, &sample.labels)) == (operator == "and"));
    }
    left
}

/// Applies the operator to matching samples of both sides.
fn pairs(binary: &Binary, left: Vec<Sample>, right: Vec<Sample>) -> Result<Vec<Sample>, String> {
    let matching = &binary.matching;
    let swapped = matching.group_right.is_some();
    let (many, one) = if swapped { (right, left) } else { (left, right) };
    let group = matching.group_left.as_ref().or(matching.group_right.as_ref());
    let mut ones = BTreeMap::new();
    for sample in one {
        if ones.insert(key(matching, &sample.labels), sample).is_some() {
            return Err(
                "many-to-many matching not allowed: matching labels must be unique on one side".into()
            );
        }
    }
    let mut found = Vec::new();
    for sample in many {
        let key = key(matching, &sample.labels);
        let Some(other) = ones.get(&key) else { continue };
        let (left, right) = if swapped { (other.value, sample.value) } else { (sample.value, other.value) };
        let Some(value) = outcome(binary, left, right, left) else { continue };
        let mut sample = relabelled(binary, sample, value);
        match group {
            Some(taken) => take(&mut sample.labels, taken, &other.labels),
            // In one-to-one matching, the result has only the shared labels. A comparison without `on` also
            // keeps the metric's name.
            None if matching.on => sample.labels = key,
            None => sample.labels.retain(|name, _| name == NAME || key.contains_key(name)),
        }
        found.push(sample);
    }
    distinct(found)
        .map_err(|_| "multiple matches for labels: grouping labels must ensure unique matches".into())
}

/// Copies labels from the "one" side to the "many" side.
fn take(labels: &mut Labels, taken: &[String], from: &Labels) {
    for name in taken {
        match from.get(name) {
            Some(value) => labels.insert(name.clone(), value.clone()),
            None => labels.remove(name),
        };
    }
}
