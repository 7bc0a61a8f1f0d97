//! Which pool a node belongs to, and what the machine-config operator and its daemons noted.

use serde_json::Value;

use crate::model::Object;

/// Prefix of the annotations that the machine config operator and its daemons write.
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/";

/// The value of one of these annotations; empty where there is none.
pub(super) fn annotation<'a>(object: &'a Object, name: &str) -> &'a str {
    object.annotation(&format!("{MACHINE_CONFIG}{name}")).unwrap_or_default()
}

/// The pool of a node: `master` before custom pools before `worker`. Among several custom pools the first counts, where
/// `oc` takes any.
pub(super) fn pool_of<'a>(node: &Object, pools: impl IntoIterator<Item = &'a Object>) -> Option<&'a Object> {
    let rank = |pool: &Object| match pool.name() {
        "master" => 0,
        "worker" => 2,
        _ => 1,
    };
    pools
        .into_iter()
        .filter(|pool| selects(&pool["spec"]["nodeSelector"], node))
        .min_by_key(|pool| rank(pool))
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
