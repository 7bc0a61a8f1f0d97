//! The condition Applies of risks, in releases that accept risks by name.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};

use super::recommend;
use crate::graph::{Node, Risk};

/// How the cluster is exposed to a risk.
#[derive(Debug)]
pub(super) enum Exposure {
    /// The result of the risk's rules.
    Evaluated(Result<bool, String>),
    /// A preflight check found the risk. Reason and message of the condition.
    Found((&'static str, String)),
}

/// The condition Applies of every risk, those of the latest release first and then by name. Unchanged
/// conditions keep the transition times in `old`.
pub(super) fn conditions(
    conditional: &[(Node, Vec<Risk>)],
    old: &[(Risk, Vec<Value>)],
    now: Time,
    mut exposed: impl FnMut(&Risk) -> Exposure,
) -> Vec<(Risk, Vec<Value>)> {
    let mut latest: BTreeMap<&str, (&Version, &Risk)> = BTreeMap::new();
    for (node, risk) in
        conditional.iter().flat_map(|(node, risks)| risks.iter().map(move |risk| (node, risk)))
    {
        let known = latest.entry(&risk.name).or_insert((&node.version, risk));
        if node.version > *known.0 {
            *known = (&node.version, risk);
        }
    }
    let mut risks: Vec<(&Version, &Risk)> = latest.into_values().collect();
    risks.sort_by(|(a, _), (b, _)| b.cmp(a));
    let conditions = risks.into_iter().map(|(_, risk)| {
        let (status, reason, message) = match exposed(risk) {
            Exposure::Evaluated(Ok(true)) => ("True", "Match", String::new()),
            Exposure::Evaluated(Ok(false)) => ("False", "NotMatch", String::new()),
            Exposure::Evaluated(Err(error)) => {
                ("Unknown", "EvaluationFailed", recommend::unknown(risk, &error))
            }
            Exposure::Found((reason, message)) => ("True", reason, message),
        };
        let known = old.iter().find(|(other, _)| other.name == risk.name);
        let mut conditions = known.map(|(_, conditions)| conditions.clone()).unwrap_or_default();
        condition::set(&mut conditions, &Condition::new("Applies", status, reason, message.as_str()), now);
        // The message of this condition is always present, even if it is empty.
        for found in &mut conditions {
            found["message"] = json!(message);
        }
        (risk.clone(), conditions)
    });
    conditions.collect()
}

/// A conditional update with the names of its risks and their Applies conditions.
pub(super) fn with_names(mut update: Value, applies: &[(Risk, Vec<Value>)]) -> Value {
    let risks = update["risks"].as_array_mut().into_iter().flatten();
    let names: Vec<Value> = risks
        .map(|risk| {
            if let Some((_, conditions)) =
                applies.iter().find(|(known, _)| risk["name"] == known.name.as_str())
            {
                risk["conditions"] = json!(conditions);
            }
            risk["name"].clone()
        })
        .collect();
    update["riskNames"] = Value::Array(names);
    update
}

/// Writes all risks into a status.
pub(super) fn write_risks(applies: &[(Risk, Vec<Value>)], status: &mut Value) {
    let risks: Vec<Value> = applies
        .iter()
        .map(|(risk, conditions)| {
            let mut entry = risk.to_json();
            entry["conditions"] = json!(conditions);
            entry
        })
        .collect();
    if !risks.is_empty() {
        status["conditionalUpdateRisks"] = Value::Array(risks);
    } else if let Some(status) = status.as_object_mut() {
        status.remove("conditionalUpdateRisks");
    }
}
