//! Evaluates mutating policies and applies their changes (`MutatingAdmissionPolicy`).

use serde_json::{Value as Json, json};

use super::decide::{CALL_LIMIT, POLICY_LIMIT, add_variables, all_met, variables};
use super::expression::Condition;
use super::{Binding, Policy, authority, list, params, text};
use crate::admission::converted::Write;
use crate::admission::reinvocation::Reinvocation;
use crate::admission::{Admitter, Attributes};
use crate::apply::configured;
use crate::call::Call;
use crate::cel::json;
use crate::kinds::Kind;
use crate::patch::{PatchError, apply_own};
use crate::rejection::{BoxedRejection, Outcome};

/// One mutation of a policy.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    expression: Condition,
    /// Whether the expression results in JSON patch operations rather than an apply configuration.
    is_json_patch: bool,
}

impl Mutation {
    /// Reads the mutations of a policy; `compile` compiles their expressions.
    pub(super) fn read_all(spec: &Json, compile: impl Fn(&Json) -> Condition) -> Vec<Self> {
        let read = |mutation: &Json| {
            let is_json_patch = text(&mutation["patchType"]) == "JSONPatch";
            let field = if is_json_patch { "jsonPatch" } else { "applyConfiguration" };
            Self { expression: compile(&mutation[field]["expression"]), is_json_patch }
        };
        list(&spec["mutations"]).iter().map(read).collect()
    }
}

impl Admitter<'_> {
    /// Runs the mutating policies; in a second run only those that are due.
    pub(in crate::admission) fn run_mutating_policies(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: &mut Json,
        reinvocation: &mut Reinvocation,
    ) -> Outcome<()> {
        let mut errors = Vec::new();
        let policies = &self.admission.policies.mutating;
        if !policies.is_bound() {
            return Ok(());
        }
        reinvocation.start(|all| &mut all.policies, Some(object));
        for (policy, bindings) in policies.bound() {
            if let Some(why) = params::fault(self, policy) {
                let applies = self.applies(&policy.constraints, call, attributes, Some(object))?.is_some();
                if applies && !policy.ignores_failure {
                    errors.push(format!("policy '{}' denied request: {why}", policy.name));
                }
                continue;
            }
            for binding in bindings {
                let Some(kind) = self.applies(&policy.constraints, call, attributes, Some(object))? else {
                    break;
                };
                if let Some(constraints) = &binding.constraints
                    && self.applies(constraints, call, attributes, Some(object))?.is_none()
                {
                    continue;
                }
                let id = format!("{}/{}", policy.name, binding.name);
                if !reinvocation.runs(|all| &all.policies, &id) {
                    continue;
                }
                let before = object.clone();
                let outcome = self.mutate_in_version(policy, binding, call, &kind, attributes, object)?;
                reinvocation.note(|all| &mut all.policies, &id, *object != before, policy.reinvoked);
                if let Some(why) = outcome.err().filter(|_| !policy.ignores_failure) {
                    let (policy, binding) = (&policy.name, &binding.name);
                    errors.push(format!("policy '{policy}' with binding '{binding}' denied request: {why}"));
                }
            }
        }
        reinvocation.end(|all| &mut all.policies, Some(object));
        if errors.is_empty() { Ok(()) } else { Err(rejection(call, attributes, object, &errors)) }
    }

    /// Applies the mutations of a policy to the object in the version that the policy matches.
    fn mutate_in_version(
        &self,
        policy: &Policy,
        binding: &Binding,
        call: &mut Call<'_>,
        kind: &Kind,
        attributes: Attributes<'_>,
        object: &mut Json,
    ) -> Outcome<Result<(), String>> {
        let versioned = self.versioned(call, kind, attributes, Some(object))?;
        let mut changed = versioned.object.as_deref().cloned().unwrap_or_default();
        let write = Write { kind, attributes: versioned.attributes(attributes) };
        if let Err(why) = self.apply_mutations(policy, binding, call, write, &mut changed) {
            return Ok(Err(why));
        }
        Ok(self.written(call, kind, attributes, changed)?.map(|changed| *object = changed))
    }

    /// Applies the mutations of a policy for one binding, each to the result of the previous one.
    fn apply_mutations(
        &self,
        policy: &Policy,
        binding: &Binding,
        call: &Call<'_>,
        write: Write<'_>,
        object: &mut Json,
    ) -> Result<(), String> {
        let Write { kind, attributes } = write;
        let all = params::collect(self, policy, binding, attributes.namespace)
            .map_err(|why| format!("failed to configure binding: {why}"))?;
        let mut budget = POLICY_LIMIT;
        for params in &all {
            for (index, mutation) in policy.mutations.iter().enumerate() {
                let (request, namespace) = self.request_and_namespace(call, write, Some(object));
                let null = Json::Null;
                let old = attributes.old.unwrap_or(&null);
                let given = [&*object, old, params, &request, &namespace];
                let mut variables = variables(&given);
                variables.extend(authority::variables(self, call, attributes));
                if index == 0 && !all_met(&policy.expressions.conditions, &variables, &mut budget)? {
                    break;
                }
                add_variables(policy, &mut variables, &mut budget);
                let result = evaluate(&mutation.expression, &variables)?;
                *object = apply_result(mutation, kind, object, result)?;
            }
        }
        Ok(())
    }
}

/// The result of a mutation's expression, as JSON.
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

fn apply_result(mutation: &Mutation, kind: &Kind, object: &Json, mut result: Json) -> Result<Json, String> {
    if mutation.is_json_patch {
        // With a failed `test` operation, the expression leaves the object unchanged on purpose.
        return match apply_own(&result, object) {
            Ok(changed) => Ok(changed),
            Err(PatchError::TestFailed(_)) => Ok(object.clone()),
            Err(fault) => Err(format!("JSON Patch: {}", fault.text())),
        };
    }
    result["apiVersion"] = json!(kind.resource.api_version());
    result["kind"] = json!(kind.resource.kind);
    configured(kind, object, &result).map_err(|why| format!("error applying patch: {why}"))
}

/// The 403 error with the message of the first policy that failed.
fn rejection(
    call: &Call<'_>,
    attributes: Attributes<'_>,
    object: &Json,
    errors: &[String],
) -> BoxedRejection {
    let mut rejection =
        BoxedRejection::forbidden(&call.kind.resource, attributes.shown_name(Some(object)), "");
    rejection.message = errors.first().cloned().unwrap_or_default();
    rejection.reason = "Invalid";
    if let Some(details) = &mut rejection.details {
        details["causes"] = errors.iter().map(|message| json!({ "message": message })).collect();
    }
    rejection
}
