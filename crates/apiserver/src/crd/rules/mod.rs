//! Validation of the rules in a schema: they must compile, and their cost is limited. `crd::structure` validates the texts of
//! rules with the other keywords.

mod texts;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use self::texts::{exceeded, show};
use crate::cel::CompileError;
use crate::cel::decl::Decl;
use crate::cel::escape::escape;
use crate::cel::estimate::{Paths, estimate};
use crate::cel::types::Type;
use crate::field::{Cause, FieldError};
use crate::profile::Profile;
use crate::schema::Structural;
use crate::schema::rules::compile::{Minors, Rule, STORED};
use crate::schema::rules::declare;
use crate::schema::structural::{Additional, ListType};

/// Maximum estimated cost of a rule.
const RULE_LIMIT: u64 = 10_000_000;
/// Maximum estimated cost of all rules of a schema.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// How many of the most expensive rules errors name.
const NAMED: usize = 4;
const NO_DECLARATION: &str = "internal error: failed to construct type information for x-kubernetes-validations \
    rules: unable to convert structural schema to CEL declarations";
const CONTRIBUTED: &str =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";

/// The stored definition: for unchanged rules, some checks are skipped.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Its rules and message expressions, each with the name of its field.
    expressions: BTreeSet<(&'static str, String)>,
    /// Whether its version of this name has the same schema.
    unchanged: bool,
}

impl Before {
    /// Compares the schema of a version with a stored definition.
    pub(super) fn new(old: Option<&Value>, version: &str, schema: &Value) -> Self {
        let mut before = Self::default();
        for stored in old.and_then(|old| old["spec"]["versions"].as_array()).into_iter().flatten() {
            let stored_schema = &stored["schema"]["openAPIV3Schema"];
            collect(&Structural::read(stored_schema), &mut before.expressions);
            before.unchanged |= stored["name"] == version && stored_schema == schema;
        }
        before
    }

    /// Whether a stored rule has this text in this field.
    fn has(&self, field: &'static str, text: &str) -> bool {
        self.expressions.contains(&(field, text.to_owned()))
    }
}

fn collect(schema: &Structural, out: &mut BTreeSet<(&'static str, String)>) {
    for rule in &schema.rules {
        for field in ["rule", "messageExpression"] {
            out.extend(rule[field].as_str().map(|text| (field, text.to_owned())));
        }
    }
    for child in schema.children() {
        collect(child, out);
    }
}

/// Returns all errors of the rules of the schema at a path. `invalid` are the paths of schemas with invalid keywords.
pub(super) fn check(
    schema: &Value,
    at: &str,
    invalid: &[String],
    before: &Before,
    profile: &Profile,
) -> Vec<FieldError> {
    let mut check = Check { before, invalid, profile, errors: Vec::new(), costs: Vec::new() };
    check.schema(schema, at);
    check.total(at);
    check.errors
}

/// Returns the estimated costs of the rules of the schema at a path, with their own paths.
pub(super) fn costs(schema: &Value, at: &str, profile: &Profile) -> Vec<(u64, String)> {
    let before = Before::default();
    let mut check = Check { before: &before, invalid: &[], profile, errors: Vec::new(), costs: Vec::new() };
    check.schema(schema, at);
    check.costs
}

struct Check<'c> {
    before: &'c Before,
    /// The paths of schemas with invalid keywords.
    invalid: &'c [String],
    profile: &'c Profile,
    errors: Vec<FieldError>,
    /// Costs of expressions, with their paths.
    costs: Vec<(u64, String)>,
}

/// Properties of a place in a schema that depend on its parents.
#[derive(Debug, Clone, Copy)]
struct Place<'p> {
    /// Maximum number of values; `None` if unbounded.
    times: Option<u64>,
    /// The parent list whose elements do not correlate with the old object.
    loose: Option<&'p str>,
}

/// A schema with its declaration, path and place.
#[derive(Clone, Copy)]
struct Node<'n> {
    schema: &'n Structural,
    decl: Option<&'n Arc<Decl>>,
    at: &'n str,
    place: Place<'n>,
}

impl Check<'_> {
    /// Checks the rules of a whole schema.
    fn schema(&mut self, schema: &Value, at: &str) {
        let schema = Structural::read(schema);
        if self.profile.rules && schema.has_rules {
            let decl = declare::declare(&schema, true, "object");
            let place = Place { times: Some(1), loose: None };
            self.node(Node { schema: &schema, decl: decl.as_ref(), at, place });
        }
    }

    /// Checks the rules of a schema and those below it.
    fn node(&mut self, node: Node<'_>) {
        let Node { schema, decl, at, place } = node;
        self.below(node);
        if schema.rules.is_empty() || self.is_invalid(at) {
            return;
        }
        let at = format!("{at}.x-kubernetes-validations");
        let Some(decl) = decl else {
            self.errors.push(FieldError::new(Cause::Internal, at, Value::Null, NO_DECLARATION));
            return;
        };
        for (index, rule) in schema.rules.iter().enumerate() {
            self.rule(rule, schema, decl, &format!("{at}[{index}]"), place);
        }
    }

    /// Whether the schema at a path, or one below it, has invalid keywords. A real server does not compile its rules.
    fn is_invalid(&self, at: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.invalid.iter().any(|path| path.strip_prefix(at).is_some_and(is_below))
    }

    /// Checks the schemas below one.
    fn below(&mut self, node: Node<'_>) {
        let Node { schema, decl, at, place } = node;
        for (name, property) in schema.properties.iter() {
            let found = escape(name).and_then(|name| decl.and_then(|decl| decl.field(&name)).cloned());
            let own = || declare::declare(property, property.embedded_resource, "object");
            let (decl, at) = (found.or_else(own), format!("{at}.properties[{name}]"));
            self.node(Node { schema: property, decl: decl.as_ref(), at: &at, place });
        }
        let element = decl.and_then(|decl| decl.element());
        if let Some(items) = &schema.items {
            let loose =
                if schema.list_type == ListType::Map { place.loose } else { place.loose.or(Some(at)) };
            let place = Place { times: within(place.times, schema.checks.max_items), loose };
            self.node(Node { schema: items, decl: element, at: &format!("{at}.items"), place });
        }
        if let Some(Additional::Of(values)) = &schema.additional {
            let place = Place { times: within(place.times, schema.checks.max_properties), ..place };
            self.node(Node {
                schema: values,
                decl: element,
                at: &format!("{at}.additionalProperties"),
                place,
            });
        }
    }

    fn rule(&mut self, rule: &Value, schema: &Structural, decl: &Arc<Decl>, at: &str, place: Place<'_>) {
        let compiled = self.compile(rule, schema, decl);
        let mut uses_old_self = false;
        match &compiled.program {
            Err(why) => self.refuse(at, "rule", rule, &why.to_string()),
            Ok(program) if !matches!(program.result(), Type::Bool) => {
                self.refuse(at, "rule", rule, "cel expression must evaluate to a bool");
            }
            Ok(program) => {
                uses_old_self = compiled.uses_old_self;
                let times = place.times.unwrap_or_else(|| declare::cardinality(decl));
                let cost = estimate(program, &[decl, decl], Paths::AllFromVariable).saturating_mul(times);
                self.cost("estimated rule cost", format!("{at}.rule"), cost);
                if self.profile.rules_have_expressions {
                    self.expression(rule, &compiled, decl, at);
                }
            }
        }
        self.old_self(rule, uses_old_self, at, place);
    }

    /// Compiles a rule with the functions that it may use: stored expressions may use all functions.
    fn compile(&self, rule: &Value, schema: &Structural, decl: &Arc<Decl>) -> Rule {
        let minor = |field: &'static str| match rule[field].as_str() {
            Some(text) if self.before.has(field, text) => STORED,
            _ => self.profile.minor.saturating_sub(1),
        };
        let minors = Minors { rule: minor("rule"), expression: minor("messageExpression") };
        Rule::compile(rule, schema, Some(decl), minors)
    }

    fn expression(&mut self, rule: &Value, compiled: &Rule, decl: &Arc<Decl>, at: &str) {
        match &compiled.expression {
            None => {}
            Some(Err(why)) => {
                let why = match why {
                    CompileError::Constants(why) => format!("messageExpression instantiation failed: {why}"),
                    why => format!("messageExpression {why}"),
                };
                self.refuse(at, "messageExpression", rule, &why);
            }
            Some(Ok(program)) if !matches!(program.result(), Type::String) => {
                self.refuse(at, "messageExpression", rule, "messageExpression must evaluate to a string");
            }
            Some(Ok(program)) => {
                let cost = estimate(program, &[decl, decl], Paths::AllFromVariable);
                self.cost("estimated messageExpression cost", format!("{at}.messageExpression"), cost);
            }
        }
    }

    /// Checks the use of the old value. A rule that is rejected counts as one without.
    fn old_self(&mut self, rule: &Value, uses_old_self: bool, at: &str, place: Place<'_>) {
        if uses_old_self {
            if let Some(list) = place.loose {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.errors.push(FieldError::invalid(format!("{at}.rule"), rule["rule"].clone(), why));
            }
        } else if self.profile.rules_may_lack_old && !rule["optionalOldSelf"].is_null() {
            let why = "may not be set if oldSelf is not used in rule";
            let value = rule["optionalOldSelf"].clone();
            self.errors.push(FieldError::invalid(format!("{at}.optionalOldSelf"), value, why));
        }
    }

    /// Reports an error that shows the whole rule.
    fn refuse(&mut self, at: &str, field: &str, rule: &Value, why: &str) {
        self.errors.push(FieldError {
            cause: Cause::Invalid,
            field: format!("{at}.{field}"),
            value: show(rule),
            detail: why.to_owned(),
        });
    }

    fn cost(&mut self, what: &str, at: String, cost: u64) {
        if cost > RULE_LIMIT && !self.before.unchanged {
            self.errors.push(FieldError::forbidden(at.clone(), exceeded(what, cost, RULE_LIMIT)));
        }
        self.costs.push((cost, at));
    }

    /// Rejects rules that exceed the limit together, and names the most expensive ones.
    fn total(&mut self, at: &str) {
        let total = self.costs.iter().fold(0, |sum: u64, (cost, _)| sum.saturating_add(*cost));
        if total <= SCHEMA_LIMIT {
            return;
        }
        let mut costs = std::mem::take(&mut self.costs);
        costs.retain(|(cost, _)| *cost >= SCHEMA_LIMIT / 100);
        costs.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, path) in costs.into_iter().take(NAMED) {
            self.errors.push(FieldError::forbidden(path, CONTRIBUTED));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.errors.push(FieldError::forbidden(at, exceeded(what, total, SCHEMA_LIMIT)));
    }
}

/// The maximum number of values, given that of the parents and that in each parent.
fn within(outer: Option<u64>, most: Option<u64>) -> Option<u64> {
    Some(outer?.saturating_mul(most?))
}
