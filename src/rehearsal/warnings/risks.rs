//! The risks of a conditional update, evaluated over the objects of a dump as `windtunnel risks` does it.

use semver::Version;
use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CLUSTER_VERSIONS, find_with_preview};
use windtunnel_core::{Change, ChangeKind, Object, View};
use windtunnel_openshift::graph::MatchingRule;
use windtunnel_openshift::monitoring::{Cluster, Exposure, History};

use super::Warning;
use crate::dump::made_at;
use crate::rehearsal::cause::Blamed;

/// Finds the risks of the update to `target` that apply, or that nobody can decide from these objects.
pub(super) fn find(objects: &[&Object], target: &Version) -> Vec<Warning> {
    let version =
        objects.iter().find(|object| CLUSTER_VERSIONS.is_kind_of(object) && object.name() == "version");
    let Some(version) = version else { return Vec::new() };
    let updates = version.list("/status/conditionalUpdates");
    let target = target.to_string();
    let Some(update) = updates.iter().find(|update| update["release"]["version"] == *target) else {
        return Vec::new();
    };
    let (view, history) = (view(objects), History::default());
    let now = made_at(objects.iter().copied()).unwrap_or(Time::UNIX_EPOCH);
    let cluster = Cluster { view: &view, is_complete: false, given: &[], history: &history, now };
    let risks = update["risks"].as_array().map_or(&[][..], Vec::as_slice);
    risks.iter().filter_map(|risk| warning(version, risk, &target, &cluster)).collect()
}

fn warning(version: &Object, risk: &Value, target: &str, cluster: &Cluster<'_>) -> Option<Warning> {
    let text = |field: &str| risk[field].as_str().unwrap_or_default();
    let rules = risk["matchingRules"].as_array().map_or(&[][..], Vec::as_slice);
    let rules: Vec<MatchingRule> = rules.iter().map(rule).collect();
    let verdict = match cluster.exposure(&rules) {
        Exposure::DoesNotApply => return None,
        Exposure::Applies => "applies to this cluster".to_owned(),
        Exposure::Unknown(why) => format!("may apply: the dump lacks what its query needs ({why})"),
        Exposure::Error(why) => format!("may apply: it cannot be evaluated ({why})"),
    };
    let text = format!("risk {} of {target} {verdict}: {} {}", text("name"), text("message"), text("url"));
    Some(Warning { cause: Blamed::object(version), text })
}

/// The rule in the status of a ClusterVersion.
fn rule(rule: &Value) -> MatchingRule {
    let query = rule["promql"]["promql"].as_str();
    match (rule["type"].as_str().unwrap_or_default(), query) {
        ("Always", _) => MatchingRule::Always,
        ("PromQL", Some(query)) => MatchingRule::PromQl(query.to_owned()),
        (other, _) => MatchingRule::Other(other.to_owned()),
    }
}

fn view(objects: &[&Object]) -> View {
    let mut view = View::default();
    for object in objects {
        let Some(resource) = find_with_preview(object) else { continue };
        let (key, object) = (resource.key_of(object), (*object).clone());
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }
    view
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn risks_that_do_not_apply_are_no_warnings() {
        let risk = |name: &str, rules: Value| json!({ "name": name, "message": "Slow.", "url": "u", "matchingRules": rules });
        let query = |text: &str| json!([{ "type": "PromQL", "promql": { "promql": text } }]);
        let version = Object::new(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "status": { "conditionalUpdates": [{
                "release": { "version": "4.19.1" },
                "risks": [
                    risk("All", json!([{ "type": "Always" }])),
                    risk("None", query("vector(0)")),
                    risk("Some", query("group(some_exporter_metric)")),
                ],
            }] },
        }));
        let found = find(&[&version], &"4.19.1".parse().unwrap());
        let texts: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert_eq!(texts[0], "risk All of 4.19.1 applies to this cluster: Slow. u");
        assert!(texts[1].starts_with("risk Some of 4.19.1 may apply: "), "{texts:?}");
        assert!(find(&[&version], &"4.19.2".parse().unwrap()).is_empty());
    }
}
