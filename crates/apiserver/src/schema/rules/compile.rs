//! Compiles rules, once for each version of a definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::declare::declare;
use super::field_path;
use crate::cel::decl::Decl;
use crate::cel::escape::escape;
use crate::cel::types::Type;
use crate::cel::{Environment, Program};
use crate::schema::structural::{Additional, Structural};

/// The minor whose functions stored rules may use: that of every minor.
pub(crate) const STORED: u32 = u32::MAX;
/// Index of the variable `oldSelf` of rules; `self` precedes it.
pub(crate) const OLD_SELF: usize = 1;

/// The rules of a schema and everything below it. Parts without rules are omitted.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The rules of this node, in the order of the schema.
    pub(super) own: Vec<Rule>,
    /// The declaration by which values of this node are converted.
    pub(super) decl: Option<Arc<Decl>>,
    /// The type in the schema, which some errors show instead of the value.
    pub(super) kind: &'static str,
    pub(super) all_of: Vec<Rules>,
    pub(super) properties: BTreeMap<String, Rules>,
    pub(super) additional: Option<Box<Rules>>,
    pub(super) items: Option<Box<Rules>>,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The program, or its compile error.
    pub(crate) program: Result<Program, String>,
    pub(crate) text: String,
    pub(crate) message: String,
    /// The program of the `messageExpression`, or its compile error.
    pub(crate) expression: Option<Result<Program, String>>,
    pub(crate) reason: String,
    /// The path below the node at which errors are reported.
    pub(crate) field_path: Option<String>,
    pub(crate) optional_old_self: bool,
    /// Whether it is a transition rule.
    pub(crate) uses_old_self: bool,
}

impl Rules {
    /// Compiles the rules of a whole schema.
    pub(crate) fn compile(schema: &Structural) -> Self {
        let decl = schema.has_rules.then(|| declare(schema, true, "object")).flatten();
        Self::node(schema, schema, decl, true).unwrap_or_else(|| Self::empty(decl_kind(schema, true)))
    }

    /// Compiles the rules of a part of a schema.
    pub(crate) fn compile_part(schema: &Structural) -> Self {
        let root = schema.embedded_resource;
        let decl = declare(schema, root, "object");
        Self::node(schema, schema, decl, root).unwrap_or_else(|| Self::empty(decl_kind(schema, root)))
    }

    fn empty(kind: &'static str) -> Self {
        Self {
            own: Vec::new(),
            decl: None,
            kind,
            all_of: Vec::new(),
            properties: BTreeMap::new(),
            additional: None,
            items: None,
        }
    }

    /// The rules of `stated` for data of `schema`; the two differ only within `allOf`.
    fn node(stated: &Structural, schema: &Structural, decl: Option<Arc<Decl>>, root: bool) -> Option<Self> {
        if !states_rules(stated) {
            return None;
        }
        let mut rules = Self::empty(decl_kind(schema, root));
        rules.own =
            stated.rules.iter().map(|rule| Rule::compile(rule, schema, decl.as_ref(), STORED)).collect();
        for (name, inner) in stated.properties.iter() {
            let Some(property) = schema.properties.get(name) else { continue };
            let field = match escape(name) {
                Some(identifier) => decl.as_ref().and_then(|decl| decl.field(&identifier)).cloned(),
                None => declare(property, property.embedded_resource, name),
            };
            let found =
                field.and_then(|field| Self::node(inner, property, Some(field), property.embedded_resource));
            rules.properties.extend(found.map(|found| (name.clone(), found)));
        }
        let element = || decl.as_ref().and_then(|decl| decl.element()).cloned();
        if let (Some(inner), Some(items)) = (&stated.items, &schema.items) {
            let found = Self::node(inner, items, element(), items.embedded_resource);
            rules.items = found.map(Box::new);
        }
        if let (Some(Additional::Of(inner)), Some(Additional::Of(values))) =
            (&stated.additional, &schema.additional)
        {
            let found = Self::node(inner, values, element(), values.embedded_resource);
            rules.additional = found.map(Box::new);
        }
        let branches = stated.checks.all_of.iter();
        rules.all_of = branches.filter_map(|inner| Self::node(inner, schema, decl.clone(), root)).collect();
        rules.decl = decl;
        Some(rules)
    }
}

fn decl_kind(schema: &Structural, root: bool) -> &'static str {
    match schema.types.as_slice() {
        [kind] => kind,
        [] if root => "object",
        _ => "",
    }
}

/// Whether a schema has rules, including those within `allOf`.
fn states_rules(schema: &Structural) -> bool {
    schema.has_rules || !schema.checks.all_of.is_empty() || schema.children().any(states_rules)
}

/// The environment of rules about a declaration.
pub(crate) fn environment(decl: &Arc<Decl>, optional_old_self: bool, minor: u32) -> Environment {
    let this = decl.as_type();
    let old = if optional_old_self { Type::optional(this.clone()) } else { this.clone() };
    Environment {
        variables: vec![("self".to_owned(), this), ("oldSelf".to_owned(), old)],
        minor,
        makes_objects: false,
    }
}

impl Rule {
    /// Compiles a rule of a schema, with the functions up to a minor.
    pub(crate) fn compile(rule: &Value, schema: &Structural, decl: Option<&Arc<Decl>>, minor: u32) -> Self {
        let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        let optional_old_self = rule["optionalOldSelf"] == true;
        let source = text("rule");
        let compile = |source: &str, optional: bool| match decl {
            Some(decl) => Program::compile(source, &environment(decl, optional, minor)),
            None => Err("the schema is of no type that rules support".to_owned()),
        };
        let program = compile(&source, optional_old_self);
        let expression = text("messageExpression");
        let expression = (!expression.trim().is_empty()).then(|| compile(&expression, optional_old_self));
        let path = text("fieldPath");
        Self {
            uses_old_self: program.as_ref().is_ok_and(|program| program.uses(OLD_SELF)),
            program,
            text: source,
            message: text("message"),
            expression,
            reason: text("reason"),
            field_path: field_path::resolve(&path, schema).ok().filter(|path| !path.is_empty()),
            optional_old_self,
        }
    }

    /// The text that represents the rule in errors.
    pub(super) fn display_text(&self) -> &str {
        let message = self.message.trim();
        if message.is_empty() { self.text.trim() } else { message }
    }
}
