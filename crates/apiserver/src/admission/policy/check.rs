//! Validation of policies and bindings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::expression::{
    ANY_MINOR, Declared, Wanted, compile_new, declare, declare_no_others, environment, field_error,
};
use super::{bindings, conditions, kinds, list, text};
use crate::admission::matching::check::check_given;
use crate::cel::escape::is_reserved;
use crate::cel::{CompileError, Environment, Program};
use crate::field::{Cause, FieldError, Shown};
use crate::kinds::Kind;
use crate::names;
use crate::profile::Profile;
use crate::repeats::repeated;

const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const PATCH_TYPES: [&str; 2] = ["ApplyConfiguration", "JSONPatch"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
/// The maximum number of audit annotations of a policy, and the maximum length of their expressions.
const MAX_ANNOTATIONS: usize = 20;
const MAX_ANNOTATION_BYTES: usize = 5 * 1024;

/// Validates a policy or a binding; `old` is the object that an update replaces.
pub(crate) fn check(kind: &Kind, object: &Value, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mutating = kind.resource.plural.starts_with("mutating");
    if kind.resource.plural.ends_with("bindings") {
        return bindings::check(spec, mutating);
    }
    let params = spec["paramKind"].is_object();
    let minor = profile.minor.saturating_sub(1);
    let declared = Declared { params, authorizer: true, objects: mutating };
    let has_variables = !list(&spec["variables"]).is_empty();
    let mut check = Check {
        name: text(&object["metadata"]["name"]),
        minor,
        declared,
        environment: with_variables(environment(minor, declared), has_variables),
        messages: with_variables(
            environment(minor, Declared { authorizer: false, ..declared }),
            has_variables,
        ),
        known: old.map(|old| Known::from_spec(&old["spec"])).unwrap_or_default(),
        errors: Vec::new(),
    };
    check.policy(spec, old.map(|old| &old["spec"]));
    check.errors
}

/// An environment that knows the name `variables`, if the policy has variables.
fn with_variables(mut environment: Environment, has_variables: bool) -> Environment {
    if has_variables {
        declare_no_others(&mut environment);
    }
    environment
}

/// The expressions of the stored policy, which may use functions of any minor (`preexistingExpressions`).
#[derive(Default)]
struct Known {
    conditions: Vec<String>,
    validations: BTreeSet<String>,
    messages: BTreeSet<String>,
    annotations: BTreeSet<String>,
    mutations: BTreeSet<String>,
}

impl Known {
    fn from_spec(spec: &Value) -> Self {
        let all = |items: &Value, field: &str| list(items).iter().map(|item| text(&item[field])).collect();
        Self {
            conditions: conditions::expressions(&spec["matchConditions"]),
            validations: all(&spec["validations"], "expression"),
            messages: all(&spec["validations"], "messageExpression"),
            annotations: all(&spec["auditAnnotations"], "valueExpression"),
            mutations: list(&spec["mutations"])
                .iter()
                .flat_map(|mutation| [&mutation["applyConfiguration"], &mutation["jsonPatch"]])
                .map(|patch| text(&patch["expression"]))
                .collect(),
        }
    }
}

struct Check {
    name: String,
    /// The minor whose functions new expressions may use.
    minor: u32,
    declared: Declared,
    /// The environment of expressions, with the variables of the policy so far.
    environment: Environment,
    /// The same for expressions of messages, which have no authorizer.
    messages: Environment,
    known: Known,
    errors: Vec<FieldError>,
}

impl Check {
    fn policy(&mut self, spec: &Value, old: Option<&Value>) {
        check_given(&spec["failurePolicy"], &FAILURE_POLICIES, "spec.failurePolicy", &mut self.errors);
        if spec["paramKind"].is_object() {
            self.errors.extend(kinds::param_kind(&spec["paramKind"], "spec.paramKind"));
        }
        let constraints = &spec["matchConstraints"];
        if constraints.is_object() {
            self.errors.extend(kinds::match_resources(constraints, "spec.matchConstraints"));
            if list(&constraints["resourceRules"]).is_empty() {
                self.errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
            }
            if self.declared.objects {
                let at = "spec.matchConstraints.resourceRules.operations";
                self.errors.extend(kinds::mutating_operations(constraints, at));
            }
        } else {
            self.errors.push(FieldError::required("spec.matchConstraints", ""));
        }
        // Unchanged conditions were validated when they were stored.
        let same = |field: &str| old.is_some_and(|old| old[field] == spec[field]);
        if !(same("paramKind") && same("matchConditions")) {
            let (known, given) = (&self.known.conditions, &spec["matchConditions"]);
            let found = conditions::check(given, known, self.minor, self.declared, "spec.matchConditions");
            self.errors.extend(found);
        }
        for (index, variable) in list(&spec["variables"]).iter().enumerate() {
            self.variable(variable, &format!("spec.variables[{index}]"));
        }
        if self.declared.objects {
            self.mutations(spec);
        } else {
            self.validations(spec);
        }
    }

    fn variable(&mut self, variable: &Value, at: &str) {
        let (name, source) = (text(&variable["name"]), text(&variable["expression"]));
        if name.trim().is_empty() {
            self.errors.push(FieldError::required(format!("{at}.name"), "name is not specified"));
        } else if !is_identifier(&name) {
            let why = "must be a valid CEL identifier";
            self.errors.push(FieldError::invalid(format!("{at}.name"), name.as_str(), why));
        }
        let at = format!("{at}.expression");
        if source.trim().is_empty() {
            self.errors.push(FieldError::required(at, "expression is not specified"));
            return;
        }
        // Like the real server, this looks for the stored expression among the validations.
        let is_known = self.known.validations.contains(&source);
        let program = self.compile(&source, is_known, Wanted::Any, &at);
        let program = program.ok_or_else(|| CompileError::Result(String::new()));
        declare(&mut self.environment, &name, &program);
        declare(&mut self.messages, &name, &program);
    }

    /// Validates each mutation (`validateMutation`).
    fn mutations(&mut self, spec: &Value) {
        if list(&spec["mutations"]).is_empty() {
            let why = "mutations must contain at least one item";
            self.errors.push(FieldError::required("spec.mutations", why));
        }
        for (index, mutation) in list(&spec["mutations"]).iter().enumerate() {
            let at = format!("spec.mutations[{index}]");
            let (field, wanted) = match mutation["patchType"].as_str().unwrap_or_default() {
                "ApplyConfiguration" => ("applyConfiguration", Wanted::Object),
                "JSONPatch" => ("jsonPatch", Wanted::Operations),
                "" => {
                    self.errors.push(FieldError::required(format!("{at}.patchType"), ""));
                    continue;
                }
                _ => {
                    let shown = Shown::Json(mutation["patchType"].clone());
                    self.errors.push(FieldError::not_supported(
                        format!("{at}.patchType"),
                        shown,
                        &PATCH_TYPES,
                    ));
                    continue;
                }
            };
            self.patch(mutation, field, wanted, &at);
        }
        match spec["reinvocationPolicy"].as_str().unwrap_or_default() {
            "Never" | "IfNeeded" => {}
            "" => self.errors.push(FieldError::required("spec.reinvocationPolicy", "")),
            _ => {
                let shown = Shown::Json(spec["reinvocationPolicy"].clone());
                let known = ["IfNeeded", "Never"];
                self.errors.push(FieldError::not_supported("spec.reinvocationPolicy", shown, &known));
            }
        }
    }

    /// Validates the patch of a mutation; the patch of the other type is absent.
    fn patch(&mut self, mutation: &Value, field: &str, wanted: Wanted, at: &str) {
        let kind = text(&mutation["patchType"]);
        let place = format!("{at}.{field}");
        if mutation[field].is_object() {
            let (source, at) = (text(&mutation[field]["expression"]), format!("{place}.expression"));
            if source.trim().is_empty() {
                self.errors.push(FieldError::required(at, ""));
            } else {
                let is_known = self.known.mutations.contains(&source);
                self.compile(&source, is_known, wanted, &at);
            }
        } else {
            let why = format!("must be specified when patchType is {kind}");
            self.errors.push(FieldError::required(place, why));
        }
        let other = if field == "jsonPatch" { "applyConfiguration" } else { "jsonPatch" };
        if mutation[other].is_object() {
            let (at, why) =
                (format!("{at}.{other}"), format!("must not be specified when patchType is {kind}"));
            self.errors.push(FieldError::invalid(at, format!("{{{other}}}"), why));
        }
    }

    fn validations(&mut self, spec: &Value) {
        let (validations, audits) = (list(&spec["validations"]), list(&spec["auditAnnotations"]));
        if validations.is_empty() && audits.is_empty() {
            let why = "validations or auditAnnotations must contain at least one item";
            self.errors.push(FieldError::required("spec.validations", why));
            self.errors.push(FieldError::required("spec.auditAnnotations", why));
        }
        for (index, validation) in validations.iter().enumerate() {
            self.validation(validation, &format!("spec.validations[{index}]"));
        }
        if audits.len() > MAX_ANNOTATIONS {
            let why = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
            self.errors.push(FieldError::invalid("spec.auditAnnotations", json!(audits), why));
        }
        let is_repeated = repeated(audits.iter().map(|audit| text(&audit["key"])));
        for (index, audit) in audits.iter().enumerate() {
            let at = format!("spec.auditAnnotations[{index}]");
            self.annotation(audit, &at);
            if is_repeated[index] {
                let at = format!("{at}.key");
                self.errors.push(FieldError::new(Cause::Duplicate, at, audit["key"].clone(), ""));
            }
        }
    }

    /// Validates an audit annotation (`validateAuditAnnotation`). The policy's name and the key make a qualified name.
    fn annotation(&mut self, audit: &Value, at: &str) {
        let (key, source) = (text(&audit["key"]), text(&audit["valueExpression"]));
        let at_key = format!("{at}.key");
        if self.name.is_empty() {
            let why = "requires metadata.name be non-empty";
            self.errors.push(FieldError::invalid(at_key, key.as_str(), why));
        } else {
            let full = format!("{}/{key}", self.name);
            let wrong = names::labels::label_key(&full).into_iter();
            self.errors.extend(wrong.map(|why| FieldError::invalid(at_key.as_str(), full.as_str(), why)));
        }
        let at = format!("{at}.valueExpression");
        let trimmed = source.trim();
        if trimmed.is_empty() {
            self.errors.push(FieldError::required(at, "valueExpression is not specified"));
        } else if trimmed.len() > MAX_ANNOTATION_BYTES {
            let why = format!("must not exceed {MAX_ANNOTATION_BYTES} bytes in length");
            self.errors.push(FieldError::required(at, why));
        } else {
            self.environment.minor = self.minor_of(self.known.annotations.contains(&source));
            let compiled = compile_new(trimmed, &self.environment, Wanted::TextOrNull);
            self.refuse(&at, &source, compiled);
        }
    }

    fn validation(&mut self, validation: &Value, at: &str) {
        let source = text(&validation["expression"]);
        if source.trim().is_empty() {
            let why = "expression is not specified";
            self.errors.push(FieldError::required(format!("{at}.expression"), why));
        } else {
            let is_known = self.known.validations.contains(&source);
            self.compile(&source, is_known, Wanted::Bool, &format!("{at}.expression"));
        }
        self.message_expression(&text(&validation["messageExpression"]), at);
        let message = text(&validation["message"]);
        let mut fail = |why: &str| {
            self.errors.push(FieldError::invalid(format!("{at}.message"), message.as_str(), why));
        };
        if !message.is_empty() && message.trim().is_empty() {
            fail("must be non-empty if specified");
        } else if message.trim().contains(['\n', '\r']) {
            fail("must not contain line breaks");
        }
        if let Some(reason) = validation["reason"].as_str()
            && !REASONS.contains(&reason)
        {
            let at = format!("{at}.reason");
            self.errors.push(FieldError::not_supported(at, Shown::Json(json!(reason)), &REASONS));
        }
    }

    fn message_expression(&mut self, source: &str, at: &str) {
        let at = format!("{at}.messageExpression");
        if source.is_empty() {
            return;
        }
        if source.trim().is_empty() {
            self.errors.push(FieldError::invalid(at, source, "must be non-empty if specified"));
            return;
        }
        self.messages.minor = self.minor_of(self.known.messages.contains(source));
        let compiled = compile_new(source, &self.messages, Wanted::Text);
        self.refuse(&at, source, compiled);
    }

    /// The minor whose functions an expression may use: any if it is stored already.
    fn minor_of(&self, is_known: bool) -> u32 {
        if is_known { ANY_MINOR } else { self.minor }
    }

    /// Compiles an expression, or adds the error.
    fn compile(&mut self, source: &str, is_known: bool, wanted: Wanted, at: &str) -> Option<Program> {
        self.environment.minor = self.minor_of(is_known);
        let compiled = compile_new(source, &self.environment, wanted);
        self.refuse(at, source, compiled)
    }

    /// The program, or nothing and an error.
    fn refuse(&mut self, at: &str, source: &str, compiled: Result<Program, CompileError>) -> Option<Program> {
        compiled.map_err(|why| self.errors.push(field_error(at, source, &why))).ok()
    }
}

/// Whether a name is a CEL identifier (`isCELIdentifier`).
fn is_identifier(name: &str) -> bool {
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    letters && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && !is_reserved(name)
}
