//! What policies change of an object (`MutatingAdmissionPolicy`).

use serde_json::{Value as Json, json};

use super::decide::{CALL_LIMIT, POLICY_LIMIT, add_variables, all_met, variables};
use super::expression::Condition;
use super::{Binding, Policy, authority, list, params, text};
use crate::admission::Attributes;
use crate::apply::configured;
use crate::call::Call;
use crate::cel::json;
use crate::decode;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::verbs::patched_by;

/// One change that a policy makes.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    expression: Condition,
    /// Whether it comes to operations; else to a configuration that is applied.
    operations: bool,
}

impl Mutation {
    /// The mutations of a policy, whose expressions are compiled by `compile`.
    pub(super) fn read_all(spec: &Json, compile: impl Fn(&Json) -> Condition) -> Vec<Self> {
        let read = |mutation: &Json| {
            let operations = text(&mutation["patchType"]) == "JSONPatch";
            let of = if operations { "jsonPatch" } else { "applyConfiguration" };
            Self { expression: compile(&mutation[of]["expression"]), operations }
        };
        list(&spec["mutations"]).iter().map(read).collect()
    }
}

impl ApiServer {
    /// Lets policies change an object, all or those that want to be asked again; whether any did.
    pub(in crate::admission) fn change_by_policies(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: &mut Json,
        again: bool,
    ) -> Outcome<bool> {
        let before = object.clone();
        let mut errors = Vec::new();
        let (policies, bindings) = self.admission.policies.mutating();
        for policy in policies.iter().filter(|policy| !again || policy.reinvoked) {
            for binding in bindings.iter().filter(|binding| binding.policy == policy.name) {
                if !self.is_about(&policy.constraints, call, attributes, Some(object))? {
                    break;
                }
                if let Some(constraints) = &binding.constraints
                    && !self.is_about(constraints, call, attributes, Some(object))?
                {
                    continue;
                }
                let outcome = self.change_by(policy, binding, call, attributes, object);
                if let Some(why) = outcome.err().filter(|_| !policy.ignores_failure) {
                    let (policy, binding) = (&policy.name, &binding.name);
                    errors.push(format!("policy '{policy}' with binding '{binding}' denied request: {why}"));
                }
            }
        }
        if errors.is_empty() { Ok(*object != before) } else { Err(refused(call, attributes, &errors)) }
    }

    /// Has one binding's mutations made, one after the other, each on what the one before it left.
    fn change_by(
        &self,
        policy: &Policy,
        binding: &Binding,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: &mut Json,
    ) -> Result<(), String> {
        let all = params::collect(self, policy, binding, attributes.namespace)
            .map_err(|why| format!("failed to configure binding: {why}"))?;
        let mut budget = POLICY_LIMIT;
        for params in &all {
            for (index, mutation) in policy.mutations.iter().enumerate() {
                let (request, namespace) = self.surroundings(call, attributes, Some(object));
                let null = Json::Null;
                let old = attributes.old.unwrap_or(&null);
                let given = [&*object, old, params, &request, &namespace];
                let mut variables = variables(&given);
                variables.extend(authority::variables(self, call, attributes));
                if index == 0 && !all_met(&policy.expressions.conditions, &variables, &mut budget)? {
                    break;
                }
                add_variables(policy, &mut variables, &mut budget);
                let said = evaluate(&mutation.expression, &variables)?;
                let mut changed = changed_by(mutation, call, object, said)?;
                decode::normalise(&call.kind, &mut changed, self.profile.minor)?;
                *object = changed;
            }
        }
        Ok(())
    }
}

/// What the expression of a mutation comes to, as JSON.
fn evaluate(expression: &Condition, variables: &[super::expression::Given<'_>]) -> Result<Json, String> {
    let program = expression.program.as_ref().map_err(|why| format!("compilation error: {why}"))?;
    let failed = |why: &str| format!("expression '{}' resulted in error: {why}", expression.source);
    let value = program.run(variables, CALL_LIMIT).outcome.map_err(|fault| failed(fault.text()))?;
    if let Some((found, expected)) = program.find_misnamed_object() {
        return Err(format!(
            "type mismatch: unexpected type name {found:?}, expected {expected:?}, which matches field name path from \
             root Object type"
        ));
    }
    json::to_json(&value).map_err(|fault| failed(fault.text()))
}

fn changed_by(mutation: &Mutation, call: &Call<'_>, object: &Json, mut said: Json) -> Result<Json, String> {
    if mutation.operations {
        // A test that fails is the expression's way to leave the object as it is.
        return match patched_by(&said, object) {
            Ok(changed) => Ok(changed),
            Err(_) if list(&said).iter().any(|operation| operation["op"] == "test") => Ok(object.clone()),
            Err(refused) => Err(format!("JSON Patch: {}", refused.message)),
        };
    }
    let resource = &call.kind.resource;
    said["apiVersion"] = json!(resource.api_version());
    said["kind"] = json!(resource.kind);
    configured(&call.kind, object, &said).map_err(|why| format!("error applying patch: {why}"))
}

/// 403 with the words of the first policy that failed.
fn refused(call: &Call<'_>, attributes: Attributes<'_>, errors: &[String]) -> Refused {
    let mut refused = Refused::forbidden(&call.kind.resource, attributes.name, "");
    refused.message = errors.first().cloned().unwrap_or_default();
    refused.reason = "Invalid";
    if let Some(details) = &mut refused.details {
        details["causes"] = errors.iter().map(|message| json!({ "message": message })).collect();
    }
    refused
}
