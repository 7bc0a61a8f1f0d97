//! Aggregated ClusterRoles (`aggregationRule`). In a real cluster a controller fills in their rules. Here the server
//! does, with a write of its own after each write that changes a ClusterRole.

use serde_json::Value;
use windtunnel_core::resources::CLUSTER_ROLES;

use crate::access::Access;
use crate::access::rbac::rule::Rule;
use crate::selector::LabelSelector;
use crate::store::Store;

/// The parts of a ClusterRole that matter for aggregation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: &'a Value,
    pub(crate) rules: &'a [Rule],
}

/// The selectors of an aggregated role; `None` for other roles. Leaves out invalid selectors.
pub(crate) fn selectors(role: &Value) -> Option<Vec<LabelSelector>> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    Some(selectors.iter().filter_map(|selector| LabelSelector::parse(&text(selector)).ok()).collect())
}

/// The rules that the role `name` should have, given all ClusterRoles in order of their names.
pub(crate) fn rules<'a>(
    name: &str,
    selectors: &[LabelSelector],
    roles: &(impl Iterator<Item = Part<'a>> + Clone),
) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for selector in selectors {
        for role in roles.clone().filter(|role| role.name != name && selector.matches(role.labels)) {
            for rule in role.rules {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}

/// Writes a `metav1.LabelSelector` in the syntax of query parameters.
fn text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}

impl Access {
    /// Updates the rules of all aggregated roles.
    pub(crate) fn aggregate_roles(&mut self, store: &mut Store) {
        let table = self.policy.tables().cluster_roles;
        self.policy.follow(store);
        // Each round updates one role. Roles may aggregate other aggregated roles, so the rounds have a limit.
        for _ in 0..=self.policy.aggregated() {
            let Some((name, rules)) = self.policy.stale_aggregate() else { return };
            let Some(entry) = store.get(table, "", &name) else { return };
            let mut role = (*entry.served()).clone();
            role["rules"] = rules.iter().map(Rule::as_json).collect();
            store.rewrite(table, &CLUSTER_ROLES.key("", &name), 0, role);
            self.policy.follow(store);
        }
    }
}
