//! Compiles rules, once for each version of a definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::declare::declare;
use super::field_path;
use crate::cel::decl::Decl;
use crate::cel::escape::escape;
use crate::cel::types::Type;
use crate::cel::{CompileError, Environment, Program};
use crate::schema::structural::{Additional, Structural};

/// The minor whose functions stored rules may use: that of every minor.
pub(crate) const STORED: u32 = u32::MAX;
/// The minors whose functions the expressions of a rule may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Minors {
    pub(crate) rule: u32,
    pub(crate) expression: u32,
}

impl Minors {
    /// The functions of stored rules.
    const STORED: Self = Self { rule: STORED, expression: STORED };
}

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
    pub(super) properties: BTreeMap<String, Rules>,
    pub(super) additional: Option<Box<Rules>>,
    pub(super) items: Option<Box<Rules>>,
}

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The program, or its compile error.
    pub(crate) program: Result<Program, CompileError>,
    pub(crate) text: String,
    pub(crate) message: String,
    /// The program of the `messageExpression`, or its compile error.
    pub(crate) expression: Option<Result<Program, CompileError>>,
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
        Self::node(schema, decl, true).unwrap_or_else(|| Self::empty(decl_kind(schema, true)))
    }

    /// Compiles the rules of a part of a schema.
    pub(crate) fn compile_part(schema: &Structural) -> Self {
        let root = schema.embedded_resource;
        let decl = declare(schema, root, "object");
        Self::node(schema, decl, root).unwrap_or_else(|| Self::empty(decl_kind(schema, root)))
    }

    fn empty(kind: &'static str) -> Self {
        Self { own: Vec::new(), decl: None, kind, properties: BTreeMap::new(), additional: None, items: None }
    }

    /// The rules of a schema with this declaration, and those below it.
    fn node(schema: &Structural, decl: Option<Arc<Decl>>, root: bool) -> Option<Self> {
        if !schema.has_rules {
            return None;
        }
        let mut rules = Self::empty(decl_kind(schema, root));
        let own = schema.rules.iter();
        rules.own = own.map(|rule| Rule::compile(rule, schema, decl.as_ref(), Minors::STORED)).collect();
        for (name, property) in schema.properties.iter() {
            let field = match escape(name) {
                Some(identifier) => decl.as_ref().and_then(|decl| decl.field(&identifier)).cloned(),
                None => declare(property, property.embedded_resource, name),
            };
            let found = field.and_then(|field| Self::node(property, Some(field), property.embedded_resource));
            rules.properties.extend(found.map(|found| (name.clone(), found)));
        }
        let element = || decl.as_ref().and_then(|decl| decl.element()).cloned();
        if let Some(items) = &schema.items {
            rules.items = Self::node(items, element(), items.embedded_resource).map(Box::new);
        }
        if let Some(Additional::Of(values)) = &schema.additional {
            rules.additional = Self::node(values, element(), values.embedded_resource).map(Box::new);
        }
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

/// The environment of rules about a declaration.
pub(crate) fn environment(decl: &Arc<Decl>, optional_old_self: bool, minor: u32) -> Environment {
    let this = decl.as_type();
    let old = if optional_old_self { Type::optional(this.clone()) } else { this.clone() };
    Environment { variables: [("self", this), ("oldSelf", old)].into(), minor, makes_objects: false }
}

impl Rule {
    /// Compiles a rule of a schema, with the functions up to the given minors.
    pub(crate) fn compile(
        rule: &Value,
        schema: &Structural,
        decl: Option<&Arc<Decl>>,
        minors: Minors,
    ) -> Self {
        let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        let optional_old_self = rule["optionalOldSelf"] == true;
        let source = text("rule");
        let compile = |source: &str, minor: u32| match decl {
            Some(decl) => Program::compile(source, &environment(decl, optional_old_self, minor)),
            None => Err(CompileError::Expression("the schema is of no type that rules support".to_owned())),
        };
        let program = compile(&source, minors.rule);
        let expression = text("messageExpression");
        let expression = (!expression.trim().is_empty()).then(|| compile(&expression, minors.expression));
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
