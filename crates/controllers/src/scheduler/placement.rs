//! Matching of nodes by node selectors and required node affinity.

use serde_json::Value;
use windtunnel_core::Object;

/// Whether a node matches the node selector and the required node affinity of a pod.
pub fn is_chosen(pod: &Object, node: &Object) -> bool {
    let selector = pod["spec"]["nodeSelector"].as_object();
    let selected = selector.into_iter().flatten().all(|(key, value)| node.label(key) == value.as_str());
    let required = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = required["nodeSelectorTerms"].as_array();
    selected && terms.is_none_or(|terms| terms.iter().any(|term| fits(term, node)))
}

/// The names of the nodes to which the required node affinity of a pod is limited; `None` if it names none.
pub(super) fn named_nodes(pod: &Object) -> Option<Vec<&str>> {
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let terms = pod.list(&format!("{required}/nodeSelectorTerms"));
    let mut names = Vec::new();
    for term in terms {
        let fields = term["matchFields"].as_array().into_iter().flatten();
        let mut named = fields.filter(|field| field["key"] == "metadata.name" && field["operator"] == "In");
        let values = named.next()?["values"].as_array().into_iter().flatten();
        names.extend(values.filter_map(Value::as_str));
    }
    (!terms.is_empty()).then_some(names)
}

/// Whether a node matches a term. An empty term matches no node.
fn fits(term: &Value, node: &Object) -> bool {
    let list = |field: &str| term[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let (labels, fields) = (list("matchExpressions"), list("matchFields"));
    let name = |field: &str| (field == "metadata.name").then(|| node.name());
    !(labels.is_empty() && fields.is_empty())
        && labels.iter().all(|requirement| holds(requirement, |key| node.label(key)))
        && fields.iter().all(|requirement| holds(requirement, name))
}

fn holds<'v>(requirement: &Value, value_of: impl Fn(&str) -> Option<&'v str>) -> bool {
    let found = value_of(requirement["key"].as_str().unwrap_or_default());
    let values = requirement["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_in = || found.is_some_and(|found| values.iter().any(|value| value == found));
    let number = |value: Option<&str>| value.and_then(|text| text.parse::<i64>().ok());
    let bounds = || number(found).zip(number(values.first().and_then(Value::as_str)));
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" => is_in(),
        "NotIn" => !is_in(),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => bounds().is_some_and(|(found, bound)| found > bound),
        "Lt" => bounds().is_some_and(|(found, bound)| found < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node() -> Object {
        let labels = json!({ "os": "linux", "cores": "8" });
        Object::new(json!({ "metadata": { "name": "n", "labels": labels } }))
    }

    /// Checks whether a pod with this affinity term matches the node.
    fn check(term: &Value, expected: bool) {
        let terms =
            json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term] } });
        let pod = Object::new(json!({ "spec": { "affinity": { "nodeAffinity": terms } } }));
        assert_eq!(is_chosen(&pod, &node()), expected, "{term}");
    }

    #[test]
    fn a_node_selector_matches_labels() {
        let pod = |selector: Value| Object::new(json!({ "spec": { "nodeSelector": selector } }));
        assert!(is_chosen(&pod(Value::Null), &node()));
        assert!(is_chosen(&pod(json!({ "os": "linux" })), &node()));
        assert!(!is_chosen(&pod(json!({ "os": "linux", "zone": "a" })), &node()));
    }

    #[test]
    fn all_requirements_of_a_term_must_match() {
        let term = |key: &str, operator: &str, values: Value| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        check(&term("os", "In", json!(["linux", "other"])), true);
        check(&term("os", "NotIn", json!(["linux"])), false);
        check(&term("zone", "Exists", Value::Null), false);
        check(&term("zone", "DoesNotExist", Value::Null), true);
        check(&term("cores", "Gt", json!(["4"])), true);
        check(&term("cores", "Lt", json!(["4"])), false);
        check(
            &json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] }),
            true,
        );
        check(
            &json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["m"] }] }),
            false,
        );
        check(&json!({}), false);
    }
}
