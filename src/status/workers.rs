//! Whether worker pools still have nodes to update, which keeps a status from saying that nothing is going on.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Inputs;
use crate::model::Object;

/// Prefix of the annotations that the machine config operator and its daemons write.
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/";

/// Whether a node outside the pool `master` is not at the version `target` yet.
///
/// Asked only while the ClusterVersion is not progressing, so the stricter rule that `oc` has for nodes in a change of
/// architecture is not needed here.
pub(super) fn any_outdated(inputs: &Inputs, target: Option<&str>) -> bool {
    let versions: BTreeMap<&str, &str> = inputs
        .machine_configs
        .iter()
        .map(|config| (config.name(), annotation(config, "release-image-version")))
        .filter(|(_, version)| !version.is_empty())
        .collect();
    let is_worker_pool = |pool: &&Object| pool.name() != "master";
    inputs.nodes.iter().any(|node| {
        let pool = pool_of(node, &inputs.machine_config_pools).filter(is_worker_pool);
        pool.is_some_and(|pool| !counts_as_updated(node, pool, &versions, target))
    })
}

/// Whether `oc` puts a node into the phase `Updated`, given the versions of the MachineConfigs.
fn counts_as_updated(
    node: &Object,
    pool: &Object,
    versions: &BTreeMap<&str, &str>,
    target: Option<&str>,
) -> bool {
    let [current, desired] = ["currentConfig", "desiredConfig"].map(|name| annotation(node, name));
    let at_target = |config: &str| target.is_some() && versions.get(config).copied() == target;
    let is_updating = versions.contains_key(current)
        && at_target(desired)
        && current != desired
        && desired == pool.text("/spec/configuration/name");
    at_target(current) || (is_updating && is_done_without_drain(node))
}

/// A node that is told to update but says it is done, and was never drained: `oc` takes it for updated.
fn is_done_without_drain(node: &Object) -> bool {
    let drained = ["desiredDrain", "lastAppliedDrain"].iter().all(|name| !annotation(node, name).is_empty());
    annotation(node, "state") == "Done" && !drained
}

fn annotation<'a>(object: &'a Object, name: &str) -> &'a str {
    object.annotation(&format!("{MACHINE_CONFIG}{name}")).unwrap_or_default()
}

/// The pool of a node: `master` before custom pools before `worker`. Among several custom pools the first counts, where
/// `oc` takes any.
fn pool_of<'a>(node: &Object, pools: &'a [Object]) -> Option<&'a Object> {
    let rank = |pool: &Object| match pool.name() {
        "master" => 0,
        "worker" => 2,
        _ => 1,
    };
    pools.iter().filter(|pool| selects(&pool["spec"]["nodeSelector"], node)).min_by_key(|pool| rank(pool))
}

/// Whether a label selector picks an object; an absent selector picks none, an empty one all.
fn selects(selector: &Value, object: &Object) -> bool {
    let Some(selector) = selector.as_object() else { return false };
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    labels.is_none_or(|all| all.iter().all(|(key, value)| object.label(key) == value.as_str()))
        && expressions.is_none_or(|all| all.iter().all(|expression| holds(expression, object)))
}

fn holds(expression: &Value, object: &Object) -> bool {
    let label = object.label(expression["key"].as_str().unwrap_or_default());
    let listed = || {
        let values = expression["values"].as_array();
        values.is_some_and(|values| values.iter().any(|value| value.as_str() == label))
    };
    match expression["operator"].as_str() {
        Some("In") => label.is_some() && listed(),
        Some("NotIn") => label.is_none() || !listed(),
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::yaml;

    fn check(selector: &str, selected: bool) {
        let node: Value =
            yaml::from_str("metadata: {name: a, labels: {role/worker: '', zone: east}}").unwrap();
        assert_eq!(selects(&yaml::from_str(selector).unwrap(), &Object::new(node)), selected, "{selector}");
    }

    #[test]
    fn selectors_pick_by_labels_and_by_expressions() {
        check("null", false);
        check("{}", true);
        check("{matchLabels: {role/worker: ''}}", true);
        check("{matchLabels: {role/worker: '', zone: west}}", false);
        check("{matchExpressions: [{key: zone, operator: In, values: [east, west]}]}", true);
        check("{matchExpressions: [{key: zone, operator: NotIn, values: [east]}]}", false);
        check("{matchExpressions: [{key: rack, operator: NotIn, values: [r1]}]}", true);
        check("{matchExpressions: [{key: zone, operator: Exists}, {key: rack, operator: Exists}]}", false);
        check("{matchExpressions: [{key: rack, operator: DoesNotExist}]}", true);
        check("{matchExpressions: [{key: zone, operator: Like}]}", false);
    }
}
