//! Evaluates validating policies for a write.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::expression::Condition;
use super::{Binding, Constraints, Policy, Validation, authority, params};
use crate::admission::converted::Write;
use crate::admission::review;
use crate::admission::{Admitter, Attributes};
use crate::call::Call;
use crate::cel::json;
use crate::cel::value::{EvalError, Value};
use crate::kinds::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::store::Stored;

/// The cost limits of one evaluation and of a whole policy.
pub(super) const CALL_LIMIT: u64 = 1_000_000;
pub(super) const POLICY_LIMIT: u64 = 10_000_000;
/// The maximum length of the result of a message expression, in bytes.
const MAX_MESSAGE_BYTES: usize = 5 << 10;

/// The reason why a policy rejects a write.
struct PolicyRejection {
    message: String,
    /// A `metav1.StatusReason`.
    reason: String,
}

pub(super) type Variables<'a> = Vec<Result<Value<'a>, EvalError>>;

impl Admitter<'_> {
    /// Evaluates all validating policies for a write; returns the first rejection.
    pub(in crate::admission) fn run_policies(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Json>,
    ) -> Outcome<()> {
        let mut first = Ok(());
        for (policy, bindings) in self.admission.policies.validating.bound() {
            let Some(kind) = self.applies(&policy.constraints, call, attributes, object)? else { continue };
            if let Some(why) = params::fault(self, policy) {
                if !policy.ignores_failure {
                    let message =
                        format!("ValidatingAdmissionPolicy '{}' denied request: {why}", policy.name);
                    first = first.and(Err(rejection(call, attributes, &message, "")));
                }
                continue;
            }
            for binding in bindings {
                if let Some(constraints) = &binding.constraints
                    && self.applies(constraints, call, attributes, object)?.is_none()
                {
                    continue;
                }
                let versioned = self.versioned(call, &kind, attributes, object)?;
                let write = Write { kind: &kind, attributes: versioned.attributes(attributes) };
                for denial in self.evaluate_policy(policy, binding, call, write, versioned.object.as_deref())
                {
                    let rejection = enforce(policy, binding, call, attributes, &denial);
                    first = first.and(rejection);
                }
            }
        }
        first
    }

    /// The version of the kind in which match constraints select a write; `None` if they do not.
    ///
    /// # Errors
    /// 404 if the namespace does not exist.
    pub(super) fn applies(
        &self,
        constraints: &Constraints,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Json>,
    ) -> Outcome<Option<Arc<Kind>>> {
        for (rules, wanted) in [(&constraints.excluded, false), (&constraints.rules, true)] {
            for (rule, names) in rules {
                let named = names.is_empty() || names.iter().any(|name| name == attributes.name);
                let subresource = &call.path.subresource;
                if !named {
                    continue;
                }
                if let Some(kind) = rule.choose(self, &call.kind, subresource, attributes, object)? {
                    return Ok(wanted.then_some(kind));
                }
            }
        }
        Ok(None)
    }

    /// Evaluates a policy with each of its parameters.
    fn evaluate_policy(
        &self,
        policy: &Policy,
        binding: &Binding,
        call: &Call<'_>,
        write: Write<'_>,
        object: Option<&Json>,
    ) -> Vec<PolicyRejection> {
        let attributes = write.attributes;
        let all = match params::collect(self, policy, binding, attributes.namespace) {
            Ok(all) => all,
            Err(why) => return failure(policy, format!("failed to configure binding: {why}")),
        };
        let (request, namespace) = self.request_and_namespace(call, write, object);
        let null = Json::Null;
        let mut denials = Vec::new();
        for params in &all {
            let given =
                [object.unwrap_or(&null), attributes.old.unwrap_or(&null), params, &request, &namespace];
            let mut variables = variables(&given);
            variables.extend(authority::variables(self, call, attributes));
            denials.extend(evaluate_validations(policy, variables));
        }
        denials
    }

    /// Whether a write meets all conditions of a webhook.
    ///
    /// # Errors
    /// The message of an expression that cannot be evaluated.
    pub(in crate::admission) fn meets(
        &self,
        conditions: &[Condition],
        call: &Call<'_>,
        write: Write<'_>,
        object: Option<&Json>,
    ) -> Result<bool, String> {
        let attributes = write.attributes;
        let (request, namespace) = self.request_and_namespace(call, write, object);
        let null = Json::Null;
        let given = [object.unwrap_or(&null), attributes.old.unwrap_or(&null), &null, &request, &namespace];
        let mut variables = variables(&given);
        variables.extend(authority::variables(self, call, attributes));
        all_met(conditions, &variables, &mut { POLICY_LIMIT })
    }

    /// The values of the variables `request` and `namespaceObject`.
    pub(super) fn request_and_namespace(
        &self,
        call: &Call<'_>,
        write: Write<'_>,
        object: Option<&Json>,
    ) -> (Json, Stored) {
        let Write { kind, attributes } = write;
        let mut review = review::request("v1", call, kind, attributes, object, attributes.old);
        let mut request = review["request"].take();
        if let Some(map) = request.as_object_mut() {
            map.remove("object");
            map.remove("oldObject");
        }
        let namespace = self.store.get(self.namespaces, "", attributes.namespace);
        let namespace = namespace.map(crate::store::Entry::served);
        (request, namespace.unwrap_or_default())
    }
}

pub(super) fn variables<'a>(given: &[&'a Json; 5]) -> Variables<'a> {
    given.iter().map(|json| json::from_json(json, None)).collect()
}

/// Whether all conditions are true. A condition that is false takes precedence over errors of other conditions.
pub(super) fn all_met<'a>(
    conditions: &'a [Condition],
    variables: &[Result<Value<'a>, EvalError>],
    budget: &mut u64,
) -> Result<bool, String> {
    let mut error = None;
    for condition in conditions {
        match evaluate(condition, variables, budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(why) => error = error.or(Some(why)),
        }
    }
    error.map_or(Ok(true), Err)
}

/// Evaluates a policy, given the values of the variables.
fn evaluate_validations<'a>(policy: &'a Policy, mut variables: Variables<'a>) -> Vec<PolicyRejection> {
    let mut budget = POLICY_LIMIT;
    match all_met(&policy.expressions.conditions, &variables, &mut budget) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return failure(policy, why),
    }
    add_variables(policy, &mut variables, &mut budget);
    let mut denials = Vec::new();
    for validation in &policy.validations {
        match evaluate(&validation.expression, &variables, &mut budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => denials.push(PolicyRejection {
                message: message(validation, &variables, &mut budget),
                reason: validation.reason.clone(),
            }),
            Err(why) => denials.extend(failure(policy, why)),
        }
    }
    denials
}

/// Adds the values of the policy's own variables. Each may use the ones before it.
pub(super) fn add_variables<'a>(policy: &'a Policy, variables: &mut Variables<'a>, budget: &mut u64) {
    for variable in &policy.expressions.variables {
        let value = match &variable.program {
            Ok(program) => {
                let evaluated = program.run(variables, CALL_LIMIT);
                *budget = budget.saturating_sub(evaluated.cost);
                evaluated.outcome.map_err(|fault| {
                    EvalError::new(format!(
                        "composited variable \"{}\" fails to evaluate: {}",
                        variable.source,
                        fault.text()
                    ))
                })
            }
            Err(why) => Err(EvalError::new(why.to_string())),
        };
        variables.push(value);
    }
}

/// The denial for an error of a policy; none with `failurePolicy: Ignore`.
fn failure(policy: &Policy, message: String) -> Vec<PolicyRejection> {
    if policy.ignores_failure {
        return Vec::new();
    }
    vec![PolicyRejection { message, reason: String::new() }]
}

fn evaluate<'a>(
    condition: &'a Condition,
    variables: &[Result<Value<'a>, EvalError>],
    budget: &mut u64,
) -> Result<Value<'a>, String> {
    let program = condition.program.as_ref().map_err(|why| format!("compilation error: {why}"))?;
    let evaluated = program.run(variables, CALL_LIMIT);
    if evaluated.cost > *budget {
        let why =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        return Err(why.to_owned());
    }
    *budget -= evaluated.cost;
    let source = &condition.source;
    evaluated.outcome.map_err(|fault| format!("expression '{source}' resulted in error: {}", fault.text()))
}

fn message<'a>(
    validation: &'a Validation,
    variables: &[Result<Value<'a>, EvalError>],
    budget: &mut u64,
) -> String {
    if let Some(program) = &validation.message_expression {
        let evaluated = program.run(variables, CALL_LIMIT.min(*budget));
        *budget = budget.saturating_sub(evaluated.cost);
        if let Ok(Value::String(text)) = evaluated.outcome {
            let text = text.trim();
            if !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n') {
                return text.to_owned();
            }
        }
    }
    match validation.message.trim() {
        "" => format!("failed expression: {}", validation.expression.source),
        message => message.to_owned(),
    }
}

/// Applies the actions of a binding to a denial.
fn enforce(
    policy: &Policy,
    binding: &Binding,
    call: &mut Call<'_>,
    attributes: Attributes<'_>,
    denial: &PolicyRejection,
) -> Outcome<()> {
    let (policy, bound, why) = (&policy.name, &binding.name, &denial.message);
    if binding.actions.iter().any(|action| action == "Warn") {
        call.warnings.push(format!(
            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{bound}': {why}"
        ));
    }
    if !binding.actions.iter().any(|action| action == "Deny") {
        return Ok(());
    }
    let message =
        format!("ValidatingAdmissionPolicy '{policy}' with binding '{bound}' denied request: {why}");
    Err(rejection(call, attributes, &message, &denial.reason))
}

/// The error of a denied write.
fn rejection(call: &Call<'_>, attributes: Attributes<'_>, message: &str, reason: &str) -> BoxedRejection {
    let mut rejection = BoxedRejection::forbidden(&call.kind.resource, attributes.shown_name(None), message);
    (rejection.code, rejection.reason) = match reason {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    if let Some(details) = &mut rejection.details {
        details["causes"] = json!([{ "message": message }]);
    }
    rejection
}
