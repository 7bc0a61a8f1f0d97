//! How insights get into the ConfigMap: what stays as it was, and the smallest patch that makes the rest true.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::model::insight::{Detail, Insight};

pub(super) use crate::model::insight::published::{CONFIG_MAP, NAMESPACE};

/// What the keys of all insights on the control plane begin with; every such key belongs to the controller.
pub(super) const KEY_PREFIX: &str = "usc.cpi.";

/// `fresh` without the noise: where only times moved since `earlier`, the earlier insight as it was; and a condition
/// whose status is still the same keeps its transition time (`metav1.Condition.lastTransitionTime`).
pub(super) fn settle(mut fresh: Insight, earlier: &Insight) -> Insight {
    if let (Detail::ClusterVersion(now), Detail::ClusterVersion(before)) =
        (&mut fresh.detail, &earlier.detail)
    {
        for condition in &mut now.conditions {
            let same = before.conditions.iter().find(|old| old.kind == condition.kind);
            if let Some(old) = same.filter(|old| old.status == condition.status) {
                condition.last_transition_time = old.last_transition_time;
            }
        }
    }
    if fresh.detail == earlier.detail {
        fresh.acquired_at = earlier.acquired_at;
    }
    fresh
}

/// The merge patch that makes the own keys of a ConfigMap's `data` equal to `wanted`, insight texts by uid; `None`
/// when they are. Keys without the controller's prefix are nobody's business here.
pub(super) fn patch(wanted: &BTreeMap<&str, &str>, data: &BTreeMap<String, String>) -> Option<Value> {
    let mut changes = Map::new();
    for (uid, text) in wanted {
        let key = format!("{KEY_PREFIX}{uid}");
        if data.get(&key).map(String::as_str) != Some(*text) {
            changes.insert(key, json!(text));
        }
    }
    for (key, _) in data.range(KEY_PREFIX.to_owned()..).take_while(|(key, _)| key.starts_with(KEY_PREFIX)) {
        if !wanted.contains_key(&key[KEY_PREFIX.len()..]) {
            changes.insert(key.clone(), Value::Null);
        }
    }
    (!changes.is_empty()).then(|| json!({ "data": changes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Time;
    use crate::insights::assess::cluster_version::assess;

    fn check(wanted: &[(&str, &str)], data: &[(&str, &str)]) -> Value {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        patch(&wanted.iter().copied().collect(), &data).unwrap_or(Value::Null)
    }

    #[test]
    fn a_patch_names_only_the_own_keys_that_change() {
        let wanted = [("cv-version", "a"), ("ff", "b")];
        let all = json!({"data": {"usc.cpi.cv-version": "a", "usc.cpi.ff": "b"}});
        assert_eq!(check(&wanted, &[]), all);
        let foreign = [("a", "1"), ("usc.cpi", "2"), ("usc.ni.node", "3"), ("zz", "4")];
        assert_eq!(check(&wanted, &foreign), all);
        let same = [("usc.cpi.cv-version", "a"), ("usc.cpi.ff", "b"), ("zz", "4")];
        assert_eq!(check(&wanted, &same), Value::Null);
        let edited =
            [("usc.cpi.cv-version", "x"), ("usc.cpi.ff", "b"), ("usc.cpi.old", "y"), ("usc.cpi.", "")];
        assert_eq!(
            check(&wanted, &edited),
            json!({"data": {"usc.cpi.cv-version": "a", "usc.cpi.old": null, "usc.cpi.": null}})
        );
    }

    fn insight(status: &str, message: &str, at: &str) -> Insight {
        let at: Time = at.parse().unwrap();
        let object = json!({"status": {
            "conditions": [{"type": "Progressing", "status": status, "message": message}],
            "history": [{"state": "Partial", "version": "4.14.1", "startedTime": "2024-01-01T00:00:00Z"}],
        }});
        Insight { uid: "cv-x".into(), acquired_at: at, detail: Detail::ClusterVersion(assess(&object, at)) }
    }

    fn times(insight: &Insight) -> [String; 2] {
        let text = serde_json::to_value(insight).unwrap();
        [&text["acquiredAt"], &text["clusterVersion"]["conditions"][0]["lastTransitionTime"]]
            .map(|time| time.as_str().unwrap().to_owned())
    }

    #[test]
    fn times_move_only_with_what_they_are_the_times_of() {
        let (first, second) = ("2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z");
        let earlier = insight("True", "10%", first);
        assert_eq!(settle(insight("True", "10%", second), &earlier), earlier);
        assert_eq!(times(&settle(insight("True", "20%", second), &earlier)), [second, first]);
        assert_eq!(times(&settle(insight("False", "", second), &earlier)), [second, second]);
    }
}
