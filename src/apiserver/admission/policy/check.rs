//! What is checked of policies and bindings before they are stored.

use serde_json::{Value, json};

use super::expression::{declare, environment};
use super::{list, text};
use crate::apiserver::cel::types::Type;
use crate::apiserver::cel::{Environment, Program};
use crate::apiserver::field::{FieldError, Shown};
use crate::apiserver::kinds::Kind;
use crate::apiserver::profile::Profile;

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
const REASONS: [&str; 4] = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];

/// All errors of a policy or of a binding.
pub(crate) fn check(kind: &Kind, object: &Value, profile: &Profile) -> Vec<FieldError> {
    let spec = &object["spec"];
    if kind.resource.plural.ends_with("bindings") {
        return binding(spec);
    }
    let mut check = Check { minor: profile.minor.saturating_sub(1), errors: Vec::new() };
    check.policy(spec);
    check.errors
}

struct Check {
    /// The minor whose functions may be used.
    minor: u32,
    errors: Vec<FieldError>,
}

impl Check {
    fn policy(&mut self, spec: &Value) {
        let constraints = &spec["matchConstraints"];
        if !constraints.is_object() {
            self.errors.push(FieldError::required("spec.matchConstraints", ""));
        } else if list(&constraints["resourceRules"]).is_empty() {
            self.errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
        }
        let param_kind = &spec["paramKind"];
        for field in ["apiVersion", "kind"] {
            if param_kind.is_object() && text(&param_kind[field]).is_empty() {
                self.errors.push(FieldError::required(format!("spec.paramKind.{field}"), ""));
            }
        }
        let mut env = environment(self.minor);
        for (index, condition) in list(&spec["matchConditions"]).iter().enumerate() {
            let at = format!("spec.matchConditions[{index}].expression");
            self.expression(&condition["expression"], &env, &at, Some(&Type::Bool));
        }
        for (index, variable) in list(&spec["variables"]).iter().enumerate() {
            let (name, at) = (text(&variable["name"]), format!("spec.variables[{index}]"));
            if name.is_empty() {
                self.errors.push(FieldError::required(format!("{at}.name"), "name is not specified"));
            }
            let program = self.expression(&variable["expression"], &env, &format!("{at}.expression"), None);
            declare(&mut env, &name, &program.ok_or_else(String::new));
        }
        self.validations(spec, &env);
    }

    fn validations(&mut self, spec: &Value, env: &Environment) {
        let (validations, audits) = (list(&spec["validations"]), list(&spec["auditAnnotations"]));
        if validations.is_empty() && audits.is_empty() {
            let why = "validations or auditAnnotations must be specified";
            self.errors.push(FieldError::required("spec.validations", why));
            self.errors.push(FieldError::required("spec.auditAnnotations", why));
        }
        for (index, validation) in validations.iter().enumerate() {
            self.validation(validation, env, &format!("spec.validations[{index}]"));
        }
        for (index, audit) in audits.iter().enumerate() {
            let at = format!("spec.auditAnnotations[{index}]");
            if text(&audit["key"]).is_empty() {
                self.errors.push(FieldError::required(format!("{at}.key"), "key is not specified"));
            }
            self.expression(&audit["valueExpression"], env, &format!("{at}.valueExpression"), None);
        }
    }

    fn validation(&mut self, validation: &Value, env: &Environment, at: &str) {
        self.expression(&validation["expression"], env, &format!("{at}.expression"), Some(&Type::Bool));
        let message = text(&validation["message"]);
        if message.contains('\n') {
            let why = "message must not contain line breaks";
            self.errors.push(FieldError::invalid(format!("{at}.message"), message.as_str(), why));
        }
        if !message.is_empty() && message.trim().is_empty() {
            let why = "message must be non-empty if specified";
            self.errors.push(FieldError::invalid(format!("{at}.message"), message.as_str(), why));
        }
        if text(&validation["expression"]).trim().contains('\n') && message.trim().is_empty() {
            let why = "message must be specified if expression contains line breaks";
            self.errors.push(FieldError::required(format!("{at}.message"), why));
        }
        let expression = text(&validation["messageExpression"]);
        if !expression.is_empty() {
            let at = format!("{at}.messageExpression");
            self.expression(&validation["messageExpression"], env, &at, Some(&Type::String));
        }
        if let Some(reason) = validation["reason"].as_str()
            && !REASONS.contains(&reason)
        {
            let error =
                FieldError::not_supported(format!("{at}.reason"), Shown::Json(json!(reason)), &REASONS);
            self.errors.push(error);
        }
    }

    /// Checks an expression and gives its program.
    fn expression(
        &mut self,
        source: &Value,
        env: &Environment,
        at: &str,
        wanted: Option<&Type>,
    ) -> Option<Program> {
        let source = text(source);
        let source = source.trim();
        if source.is_empty() {
            let name = at.rsplit('.').next().unwrap_or_default();
            self.errors.push(FieldError::required(at, format!("{name} is not specified")));
            return None;
        }
        match Program::compile(source, env) {
            Ok(program) => {
                let found = program.result();
                if let Some(wanted) =
                    wanted.filter(|wanted| !found.same(wanted) && !matches!(found, Type::Dyn))
                {
                    let why = format!("must evaluate to {wanted}");
                    self.errors.push(FieldError::invalid(at, source, why));
                }
                Some(program)
            }
            Err(why) => {
                self.errors.push(FieldError::invalid(at, source, format!("compilation failed: {why}")));
                None
            }
        }
    }
}

fn binding(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(&spec["policyName"]).is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    }
    let actions = list(&spec["validationActions"]);
    if actions.is_empty() {
        errors.push(FieldError::required(
            "spec.validationActions",
            "at least one validation action is required",
        ));
    }
    for (index, action) in actions.iter().enumerate() {
        let at = format!("spec.validationActions[{index}]");
        if !ACTIONS.iter().any(|known| action == known) {
            errors.push(FieldError::not_supported(at, Shown::Json(action.clone()), &ACTIONS));
        } else if actions[..index].contains(action) {
            errors.push(FieldError::new(crate::apiserver::field::Cause::Duplicate, at, action.clone(), ""));
        }
    }
    let has = |name: &str| actions.iter().any(|action| action == name);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                   API response and headers serves no purpose)";
        errors.push(FieldError::invalid("spec.validationActions", json!(actions), why));
    }
    let reference = &spec["paramRef"];
    if reference.is_object() {
        errors.extend(param_ref(reference));
    }
    errors
}

fn param_ref(reference: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let named = !text(&reference["name"]).is_empty();
    let selected = reference["selector"].is_object();
    if named && selected {
        let why = "name and selector are mutually exclusive";
        errors.push(FieldError::forbidden("spec.paramRef.name", why));
    } else if !named && !selected {
        errors.push(FieldError::required("spec.paramRef", "one of name or selector must be specified"));
    }
    match reference["parameterNotFoundAction"].as_str() {
        Some("Allow" | "Deny") => {}
        None | Some("") => errors.push(FieldError::required("spec.paramRef.parameterNotFoundAction", "")),
        Some(other) => {
            let at = "spec.paramRef.parameterNotFoundAction";
            errors.push(FieldError::not_supported(at, Shown::Json(json!(other)), &["Deny", "Allow"]));
        }
    }
    errors
}
