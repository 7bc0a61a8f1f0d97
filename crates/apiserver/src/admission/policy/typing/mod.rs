//! Type checking of the expressions of validating policies, by the schemas of the kinds that they match (`TypeChecker`).
//!
//! A policy with wrong types still works: its status warns about them.

mod builtin;
mod context;

use std::sync::Arc;

use serde_json::{Value, json};

use super::expression::{ANY_MINOR, Declared, declare, environment};
use super::{list, text};
use crate::cel::decl::{Decl, Shape};
use crate::cel::types::Type;
use crate::cel::{CompileError, Environment, Program};
use crate::kinds::Kind;
use crate::kinds::catalog::Catalog;
use crate::schema::rules::declare as custom;

/// After this many kinds of one rule no further kinds are checked.
const KINDS_MAX: usize = 10;

/// The `expressionWarnings` of a policy.
pub(crate) fn warnings(catalog: &Catalog, policy: &Value) -> Vec<Value> {
    let spec = &policy["spec"];
    let environments: Vec<(String, Environment)> = matched_kinds(catalog, &spec["matchConstraints"])
        .into_iter()
        .filter_map(|kind| Some((display(kind), typed_environment(catalog, kind, spec)?)))
        .collect();
    let mut warnings = Vec::new();
    for (index, validation) in list(&spec["validations"]).iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let source = text(&validation[field]);
            let found = if source.is_empty() { String::new() } else { check(&source, &environments) };
            if !found.is_empty() {
                let at = format!("spec.validations[{index}].{field}");
                warnings.push(json!({ "fieldRef": at, "warning": found }));
            }
        }
    }
    warnings
}

/// The mistakes in an expression, one for each kind.
fn check(source: &str, environments: &[(String, Environment)]) -> String {
    let mistakes = environments.iter().filter_map(|(kind, environment)| {
        let CompileError::Expression(why) = Program::compile(source, environment).err()? else { return None };
        Some(format!("{kind}: {why}\n"))
    });
    mistakes.collect::<Vec<_>>().join("\n")
}

/// The kinds that match rules without wildcards name, sorted.
fn matched_kinds<'c>(catalog: &'c Catalog, constraints: &Value) -> Vec<&'c Kind> {
    let mut kinds: Vec<&Kind> = Vec::new();
    'rules: for rule in list(&constraints["resourceRules"]) {
        let (groups, versions) = (sorted(&rule["apiGroups"]), sorted(&rule["apiVersions"]));
        if groups.iter().chain(&versions).any(|name| name.contains('*')) {
            continue;
        }
        let plurals: Vec<String> =
            sorted(&rule["resources"]).into_iter().filter(|name| !name.contains(['*', '/'])).collect();
        let mut named = Vec::new();
        for (group, version) in
            groups.iter().flat_map(|group| versions.iter().map(move |version| (group, version)))
        {
            named.extend(plurals.iter().flat_map(|plural| resolve(catalog, group, version, plural)));
        }
        for (count, kind) in named.into_iter().enumerate() {
            kinds.push(kind);
            if count + 1 == KINDS_MAX {
                break 'rules;
            }
        }
    }
    kinds.sort_by(|a, b| identity(a).cmp(&identity(b)));
    kinds.dedup_by(|a, b| identity(a) == identity(b));
    kinds
}

/// The kinds with this plural. A REST mapper takes the core group for no group, and finds the plural in all of them.
fn resolve<'c>(catalog: &'c Catalog, group: &str, version: &str, plural: &str) -> Vec<&'c Kind> {
    let is_named = |kind: &&Kind| {
        let resource = &kind.resource;
        (group.is_empty() || resource.group == group)
            && resource.version == version
            && resource.plural == plural
    };
    catalog.served().map(AsRef::as_ref).filter(is_named).collect()
}

fn sorted(names: &Value) -> Vec<String> {
    let mut names: Vec<String> = list(names).iter().map(text).collect();
    names.sort();
    names
}

fn identity(kind: &Kind) -> (&str, &str, &str) {
    (&kind.resource.group, &kind.resource.version, &kind.resource.kind)
}

/// A kind as `GroupVersionKind` prints it.
fn display(kind: &Kind) -> String {
    let (group, version, kind) = identity(kind);
    format!("{group}/{version}, Kind={kind}")
}

/// The environment of the expressions of a policy for objects of one kind; `None` if the kind has no schema.
fn typed_environment(catalog: &Catalog, kind: &Kind, spec: &Value) -> Option<Environment> {
    let object = declaration(kind)?.as_type();
    let has_params = spec["paramKind"].is_object();
    let params = param_kind(catalog, &spec["paramKind"]).and_then(declaration);
    let mut environment =
        environment(ANY_MINOR, Declared { params: has_params, authorizer: true, objects: false });
    let variables = &mut environment.variables;
    variables.set_type("object", object.clone());
    variables.set_type("oldObject", object);
    variables.set_type("params", params.as_ref().map_or(Type::Dyn, Decl::as_type));
    variables.set_type("request", context::request().as_type());
    variables.set_type("namespaceObject", context::namespace().as_type());
    // The type checker of Kubernetes does not know this variable.
    variables.hide("authorizer.requestResource");
    for variable in list(&spec["variables"]) {
        let program = Program::compile(&text(&variable["expression"]), &environment);
        declare(&mut environment, &text(&variable["name"]), &program);
    }
    Some(environment)
}

fn param_kind<'c>(catalog: &'c Catalog, named: &Value) -> Option<&'c Kind> {
    let (full, name) = (text(&named["apiVersion"]), text(&named["kind"]));
    let (group, version) = full.rsplit_once('/').unwrap_or(("", &full));
    catalog.served().map(AsRef::as_ref).find(|kind| identity(kind) == (group, version, name.as_str()))
}

/// The declaration of the objects of a kind.
fn declaration(kind: &Kind) -> Option<Arc<Decl>> {
    let (group, version, name) = identity(kind);
    let Some(custom) = &kind.custom else { return builtin::declare(group, version, name) };
    let mut decl = (*custom::declare(&custom.version.schema, true, name)?).clone();
    if let Shape::Object(fields) = &mut decl.shape {
        fields.extend(builtin::metadata(name).map(|metadata| ("metadata".to_owned(), metadata)));
    }
    Some(Arc::new(decl))
}
