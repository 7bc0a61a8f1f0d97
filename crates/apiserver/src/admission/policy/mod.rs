//! Admission policies in CEL and their bindings, compiled once per change.

mod authority;
mod bindings;
pub(crate) mod check;
pub(in crate::admission) mod conditions;
mod decide;
pub(in crate::admission) mod expression;
mod kinds;
mod mutate;
mod params;
pub(crate) mod typing;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::expression::{Condition, Expressions};
use self::mutate::Mutation;
use crate::admission::matching::Matching;
use crate::cel::Program;
use crate::kinds::Kind;

/// All policies and bindings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policies {
    pub(super) validating: PolicySet,
    pub(super) mutating: PolicySet,
}

/// The policies of one engine and their bindings. A write passes them in the order of their names.
#[derive(Debug, Clone, Default)]
pub(super) struct PolicySet {
    policies: BTreeMap<String, Policy>,
    /// By the name of the policy, and then by their own.
    bindings: BTreeMap<(String, String), Binding>,
}

impl Policies {
    /// Follows a change of a policy or a binding. `object` is what is stored of that name now.
    pub(super) fn follow(&mut self, kind: &Kind, name: &str, object: Option<&Value>) {
        let plural = &kind.resource.plural;
        let set = if plural.starts_with("mutating") { &mut self.mutating } else { &mut self.validating };
        if plural.ends_with("bindings") {
            set.bindings.retain(|(_, known), _| known != name);
            let binding = object.map(Binding::read);
            set.bindings
                .extend(binding.map(|binding| ((binding.policy.clone(), binding.name.clone()), binding)));
        } else {
            set.policies.remove(name);
            set.policies.extend(object.map(|object| (name.to_owned(), Policy::read(object))));
        }
    }
}

impl PolicySet {
    /// Whether any policy can have an effect.
    pub(super) fn is_bound(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// The policies that have bindings, each with its bindings.
    fn bound(&self) -> impl Iterator<Item = (&Policy, impl Iterator<Item = &Binding>)> {
        self.policies.iter().filter_map(|(name, policy)| {
            let first = (name.clone(), String::new());
            let mut bindings =
                self.bindings.range(first..).take_while(|(key, _)| key.0 == policy.name).peekable();
            bindings.peek()?;
            Some((policy, bindings.map(|(_, binding)| binding)))
        })
    }
}

/// A validating or mutating policy.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    name: String,
    /// Whether an evaluation error admits the write (`failurePolicy: Ignore`).
    ignores_failure: bool,
    constraints: Constraints,
    /// The API version and kind of the parameters.
    param_kind: Option<(String, String)>,
    expressions: Expressions,
    validations: Vec<Validation>,
    mutations: Vec<Mutation>,
    /// Whether the policy runs again if a webhook changes the object after it.
    reinvoked: bool,
}

/// A validation of a policy.
#[derive(Debug, Clone)]
struct Validation {
    expression: Condition,
    message: String,
    message_expression: Option<Program>,
    reason: String,
}

/// A binding of a policy.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    name: String,
    policy: String,
    /// `paramRef`, or null.
    param_ref: Value,
    constraints: Option<Constraints>,
    actions: Vec<String>,
}

/// The writes that a policy or binding selects (`MatchResources`).
#[derive(Debug, Clone)]
pub(super) struct Constraints {
    /// Each rule with its `resourceNames`.
    rules: Vec<(Matching, Vec<String>)>,
    excluded: Vec<(Matching, Vec<String>)>,
}

/// Whether a kind is a policy or a binding.
pub(crate) fn is_policy(kind: &Kind) -> bool {
    kind.resource.group == "admissionregistration.k8s.io" && kind.resource.plural.contains("admissionpolic")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Policy {
    pub(super) fn read(object: &Value) -> Self {
        let spec = &object["spec"];
        let expressions = Expressions::read(spec);
        let validation = |validation: &Value| Validation {
            expression: expressions.condition(&validation["expression"]),
            message: text(&validation["message"]),
            message_expression: expressions.optional(&validation["messageExpression"]),
            reason: text(&validation["reason"]),
        };
        let param_kind = &spec["paramKind"];
        Self {
            name: text(&object["metadata"]["name"]),
            ignores_failure: spec["failurePolicy"] == "Ignore",
            constraints: Constraints::read(&spec["matchConstraints"]),
            param_kind: param_kind
                .is_object()
                .then(|| (text(&param_kind["apiVersion"]), text(&param_kind["kind"]))),
            validations: list(&spec["validations"]).iter().map(validation).collect(),
            mutations: Mutation::read_all(spec, |source| expressions.condition(source)),
            reinvoked: spec["reinvocationPolicy"] == "IfNeeded",
            expressions,
        }
    }
}

impl Binding {
    pub(super) fn read(object: &Value) -> Self {
        let spec = &object["spec"];
        let constraints = &spec["matchResources"];
        Self {
            name: text(&object["metadata"]["name"]),
            policy: text(&spec["policyName"]),
            param_ref: spec["paramRef"].clone(),
            constraints: constraints.is_object().then(|| Constraints::read(constraints)),
            actions: list(&spec["validationActions"]).iter().map(text).collect(),
        }
    }
}

impl Constraints {
    fn read(constraints: &Value) -> Self {
        let rules = |field: &str| -> Vec<(Matching, Vec<String>)> {
            let rule = |rule: &Value| {
                let names = list(&rule["resourceNames"]).iter().map(text).collect();
                let mut alone = constraints.clone();
                alone["rules"] = json!([rule]);
                (Matching::read(&alone), names)
            };
            list(&constraints[field]).iter().map(rule).collect()
        };
        let mut found = rules("resourceRules");
        if found.is_empty() {
            // Without rules, the selectors alone decide.
            let mut all = constraints.clone();
            if !all.is_object() {
                all = json!({});
            }
            all["rules"] = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"] }]);
            found.push((Matching::read(&all), Vec::new()));
        }
        Self { rules: found, excluded: rules("excludeResourceRules") }
    }
}
