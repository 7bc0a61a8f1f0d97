//! Risks that the administrator accepts (`spec.desiredUpdate.acceptRisks`, feature gate
//! ClusterUpdateAcceptRisks, from 4.22 on with a preview feature set).

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::condition;
use windtunnel_core::{Object, View};

use crate::feature_gates::ACCEPT_RISKS;
use crate::release::Release;

/// Returns whether the operator of this release supports accepting risks.
pub(in crate::cvo) fn can_accept(own: &Release, view: &View) -> bool {
    ACCEPT_RISKS.is_enabled(own, view)
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

/// The text for the history: `text`, and the applying risks that were accepted by name.
pub(in crate::cvo) fn accepted_risks_text(cluster_version: &Object, image: &str, text: String) -> String {
    let updates = cluster_version.list("/status/conditionalUpdates").iter();
    let update = updates.into_iter().find(|update| update["release"]["image"] == image);
    let accepted = Accepted::from_spec(cluster_version);
    let applies = |risk: &&Value| {
        let conditions = risk["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        condition::is_true_in(conditions, "Applies")
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
    use serde_json::json;

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
