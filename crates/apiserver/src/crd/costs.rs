//! The estimated costs of the rules of a definition.

use serde_json::Value;

use super::internal::Internal;
use super::rules;
use crate::profile::Profile;

/// The estimated cost of a rule or message expression, which the server compares with its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCost {
    /// The path of the expression in error messages.
    pub path: String,
    /// The maximum cost of all evaluations for one object.
    pub cost: u64,
}

/// Estimates the costs of the rules of a CustomResourceDefinition with valid schemas. Rules that do not compile have none.
///
/// # Examples
/// ```
/// use serde_json::json;
/// use windtunnel_apiserver::{Profile, rule_costs};
///
/// let rule = json!({ "rule": "self.all(name, name != '')" });
/// let names = json!({ "type": "array", "maxItems": 9, "items": { "type": "string", "maxLength": 30 },
///     "x-kubernetes-validations": [rule] });
/// let schema = json!({ "type": "object", "properties": { "names": names } });
/// let crd = json!({ "spec": { "versions": [{ "schema": { "openAPIV3Schema": schema } }] } });
/// let costs = rule_costs(&crd, &Profile::of(36, false));
/// assert_eq!(costs[0].cost, 38);
/// ```
pub fn rule_costs(definition: &Value, profile: &Profile) -> Vec<RuleCost> {
    let versions = definition["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let schemas = Internal::new(versions).parts("schema");
    let costs = schemas.into_iter().flat_map(|(value, at)| {
        rules::costs(&value["openAPIV3Schema"], &format!("{at}.openAPIV3Schema"), profile)
    });
    costs.map(|(cost, path)| RuleCost { path, cost }).collect()
}
