//! Risks that the administrator accepts (`spec.desiredUpdate.acceptRisks`, feature gate
//! ClusterUpdateAcceptRisks, from 4.22 on with a preview feature set).

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::{Object, View};

use super::recommend;
use crate::graph::{Node, Risk};
use crate::manifests::is_preview;
use crate::release::Release;

/// Returns whether the operator of this release supports accepting risks.
pub(in crate::cvo) fn can_accept(own: &Release, view: &View) -> bool {
    let feature_set =
        || view.get(&FEATURE_GATES, "", "cluster").map_or("", |gate| gate.text("/spec/featureSet"));
    (own.version.major, own.version.minor) >= (4, 22) && is_preview(feature_set())
}

/// The names of accepted risks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Accepted(BTreeSet<String>);

impl Accepted {
    /// The risks accepted in the spec.
    pub(super) fn from_spec(cluster_version: &Object) -> Self {
        let risks = cluster_version.list("/spec/desiredUpdate/acceptRisks").iter();
        Self(risks.filter_map(|risk| risk["name"].as_str().map(str::to_owned)).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    #[cfg(test)]
    pub(super) fn of(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// The condition Applies of every risk, those of the latest release first and then by name. Unchanged
/// conditions keep the transition times in `old`.
pub(super) fn applies(
    conditional: &[(Node, Vec<Risk>)],
    old: &[(Risk, Vec<Value>)],
    now: Time,
    mut exposed: impl FnMut(&Risk) -> Result<bool, String>,
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
            Ok(true) => ("True", "Match", String::new()),
            Ok(false) => ("False", "NotMatch", String::new()),
            Err(error) => ("Unknown", "EvaluationFailed", recommend::unknown(risk, &error)),
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
            let mut entry = recommend::as_status(risk);
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

/// The text for the history: `text`, and the applying risks that were accepted by name.
pub(in crate::cvo) fn accepted_risks_text(cluster_version: &Object, image: &str, text: String) -> String {
    let updates = cluster_version.list("/status/conditionalUpdates").iter();
    let update = updates.into_iter().find(|update| update["release"]["image"] == image);
    let accepted = Accepted::from_spec(cluster_version);
    let applies = |risk: &&Value| {
        let conditions = risk["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        condition::find(conditions, "Applies").is_some_and(|found| found["status"] == "True")
    };
    let risks = update.and_then(|update| update["risks"].as_array()).into_iter().flatten();
    let names: Vec<&str> = risks
        .filter(applies)
        .filter_map(|risk| risk["name"].as_str().filter(|name| accepted.has(name)))
        .collect();
    if names.is_empty() {
        return text;
    }
    let names = names.join(",");
    let exposed = format!(
        "is exposed to the risks [{names}] which were all explicitly accepted by the cluster administrator."
    );
    if text.is_empty() {
        format!("The target release {image} {exposed}")
    } else {
        format!("{text}; It {exposed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(accepted: &[&str]) -> Object {
        let risk = |name: &str, status: &str| json!({ "name": name, "conditions": [{ "type": "Applies", "status": status }] });
        let accepted: Vec<Value> = accepted.iter().map(|name| json!({ "name": name })).collect();
        Object::new(json!({
            "spec": { "desiredUpdate": { "acceptRisks": accepted } },
            "status": { "conditionalUpdates": [
                { "release": { "image": "i" }, "risks": [risk("A", "True"), risk("B", "False"), risk("C", "True")] },
            ] },
        }))
    }

    #[test]
    fn the_history_records_the_accepted_risks_that_apply() {
        let check = |accepted: &[&str], text: &str, expected: &str| {
            assert_eq!(accepted_risks_text(&cluster(accepted), "i", text.to_owned()), expected);
        };
        let exposed =
            "is exposed to the risks [A,C] which were all explicitly accepted by the cluster administrator.";
        check(&[], "", "");
        check(&["B"], "forced", "forced");
        check(&["A", "B", "C"], "", &format!("The target release i {exposed}"));
        check(&["A", "C"], "forced", &format!("forced; It {exposed}"));
        assert_eq!(accepted_risks_text(&cluster(&["A"]), "another", String::new()), "");
    }
}
