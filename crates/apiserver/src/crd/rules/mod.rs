//! Validation of the rules in a schema: they must compile, their other fields must be valid, and their cost
//! is limited.

mod texts;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use self::texts::{exceeded, show};
use crate::cel::Program;
use crate::cel::decl::Decl;
use crate::cel::escape::escape;
use crate::cel::estimate::{Paths, estimate};
use crate::cel::types::Type;
use crate::field::{Cause, FieldError, Shown};
use crate::profile::Profile;
use crate::schema::Structural;
use crate::schema::rules::compile::{OLD_SELF, Rule, STORED};
use crate::schema::rules::{self, Rules, ValidatedObject, declare, field_path};
use crate::schema::structural::{Additional, ListType};

/// Maximum estimated cost of a rule.
const RULE_LIMIT: u64 = 10_000_000;
/// Maximum estimated cost of all rules of a schema.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// How many of the most expensive rules errors name.
const NAMED: usize = 4;
/// Valid values of `reason`.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const CONTRIBUTED: &str =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";

/// The stored definition: for unchanged rules, some checks are skipped.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Its rules and message expressions.
    expressions: BTreeSet<String>,
    /// Whether one of its versions has this schema.
    unchanged: bool,
}

impl Before {
    pub(super) fn new(old: Option<&Value>, schema: &Value) -> Self {
        let mut before = Self::default();
        let Some(old) = old else { return before };
        for stored in old["spec"]["versions"].as_array().into_iter().flatten() {
            let stored = &stored["schema"]["openAPIV3Schema"];
            collect(&Structural::read(stored), &mut before.expressions);
            before.unchanged = before.unchanged || stored == schema;
        }
        before
    }
}

fn collect(schema: &Structural, out: &mut BTreeSet<String>) {
    for rule in &schema.rules {
        for field in ["rule", "messageExpression"] {
            out.extend(rule[field].as_str().map(str::to_owned));
        }
    }
    for child in schema.children().chain(&schema.checks.all_of) {
        collect(child, out);
    }
}

/// Returns all errors of the rules of the schema at a path.
pub(super) fn check(schema: &Value, at: &str, before: &Before, profile: &Profile) -> Vec<FieldError> {
    let schema = Structural::read(schema);
    let stated = schema.has_rules || !schema.checks.all_of.is_empty();
    if !profile.rules || !stated {
        return Vec::new();
    }
    let mut check = Check { before, profile, errors: Vec::new(), costs: Vec::new() };
    let decl = declare::declare(&schema, true, "object");
    let place = Place { times: Some(1), loose: None };
    check.node(Node { stated: &schema, schema: &schema, decl: decl.as_ref(), at, place });
    check.total(at);
    check.errors
}

struct Check<'c> {
    before: &'c Before,
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

/// A schema with rules.
#[derive(Clone, Copy)]
struct Node<'n> {
    /// The schema that has the rules.
    stated: &'n Structural,
    /// The schema of their data, which differs only within `allOf`.
    schema: &'n Structural,
    decl: Option<&'n Arc<Decl>>,
    at: &'n str,
    place: Place<'n>,
}

impl Check<'_> {
    /// Checks the rules of a schema. Returns whether the texts of the rules are valid here and below: if not, a real
    /// server does not compile the rules.
    fn node(&mut self, node: Node<'_>) -> bool {
        let Node { stated, schema, decl, at, place } = node;
        if std::ptr::eq(stated, schema) && schema.has_rules {
            self.default(schema, at);
        }
        let mut is_sound = self.check_all_texts(&stated.rules, schema, at);
        is_sound &= self.below(node);
        if is_sound {
            for (index, rule) in stated.rules.iter().enumerate() {
                self.rule(rule, schema, decl, &format!("{at}.x-kubernetes-validations[{index}]"), place);
            }
        }
        is_sound
    }

    /// Checks the schemas below one. Returns whether the texts of their rules are valid.
    fn below(&mut self, node: Node<'_>) -> bool {
        let Node { stated, schema, decl, at, place } = node;
        let mut is_sound = true;
        for (name, inner) in stated.properties.iter() {
            let Some(property) = schema.properties.get(name) else { continue };
            let found = escape(name).and_then(|name| decl.and_then(|decl| decl.field(&name)).cloned());
            let own = || declare::declare(property, property.embedded_resource, "object");
            is_sound &= self.node(Node {
                stated: inner,
                schema: property,
                decl: found.or_else(own).as_ref(),
                at: &format!("{at}.properties[{name}]"),
                place,
            });
        }
        let element = decl.and_then(|decl| decl.element());
        if let (Some(inner), Some(items)) = (&stated.items, &schema.items) {
            let loose =
                if schema.list_type == ListType::Map { place.loose } else { place.loose.or(Some(at)) };
            let times = within(place.times, schema.checks.max_items);
            is_sound &= self.node(Node {
                stated: inner,
                schema: items,
                decl: element,
                at: &format!("{at}.items"),
                place: Place { times, loose },
            });
        }
        if let (Some(Additional::Of(inner)), Some(Additional::Of(values))) =
            (&stated.additional, &schema.additional)
        {
            let times = within(place.times, schema.checks.max_properties);
            is_sound &= self.node(Node {
                stated: inner,
                schema: values,
                decl: element,
                at: &format!("{at}.additionalProperties"),
                place: Place { times, ..place },
            });
        }
        for (index, branch) in stated.checks.all_of.iter().enumerate() {
            is_sound &= self.node(Node { stated: branch, at: &format!("{at}.allOf[{index}]"), ..node });
        }
        is_sound
    }

    /// Checks the texts of rules. Returns whether all are valid.
    fn check_all_texts(&mut self, rules: &[Value], schema: &Structural, at: &str) -> bool {
        let before = self.errors.len();
        for (index, rule) in rules.iter().enumerate() {
            let at = format!("{at}.x-kubernetes-validations[{index}]");
            self.check_texts(rule, &at);
            if self.profile.rules_have_reasons {
                self.reason_and_path(rule, schema, &at);
            }
        }
        self.errors.len() == before
    }

    /// A default must satisfy the rules of its own schema.
    fn default(&mut self, schema: &Structural, at: &str) {
        let Some(default) = &schema.default else { return };
        let compiled = Rules::compile_part(schema);
        let judged = ValidatedObject { object: default, old: Some(default), ratchets: false };
        let (errors, _) = rules::check(&compiled, schema, judged, &[], self.profile);
        self.errors.extend(errors.into_iter().map(|error| {
            let joint = if error.field.is_empty() || error.field.starts_with('[') { "" } else { "." };
            FieldError { field: format!("{at}.default{joint}{}", error.field), ..error }
        }));
    }

    fn rule(
        &mut self,
        rule: &Value,
        schema: &Structural,
        decl: Option<&Arc<Decl>>,
        at: &str,
        place: Place<'_>,
    ) {
        let Some(decl) = decl else {
            let why = "internal error: failed to retrieve type information for x-kubernetes-validations";
            let field = at.rsplit_once('[').map_or(at, |(field, _)| field);
            self.errors.push(FieldError::new(Cause::Internal, field, Value::Null, why));
            return;
        };
        let compiled = self.compile(rule, schema, decl);
        let times = place.times.unwrap_or_else(|| declare::cardinality(decl));
        match &compiled.program {
            Ok(program) => {
                if !matches!(program.result(), Type::Bool) {
                    let why = "cel expression must evaluate to a bool";
                    self.refuse(at, "rule", rule, why);
                }
                let cost = estimate(program, &[decl, decl], Paths::AllFromVariable).saturating_mul(times);
                self.cost("estimated rule cost", format!("{at}.rule"), cost);
            }
            Err(why) => self.refuse(at, "rule", rule, &format!("compilation failed: {why}")),
        }
        if self.profile.rules_have_expressions {
            self.expression(rule, &compiled, decl, at);
        }
        self.old_self(rule, &compiled, at, place);
    }

    /// Compiles a rule with the functions that it may use: a rule that is stored already may use all
    /// functions.
    fn compile(&self, rule: &Value, schema: &Structural, decl: &Arc<Decl>) -> Rule {
        let known = ["rule", "messageExpression"].iter().all(|field| match rule[*field].as_str() {
            Some(text) if !text.is_empty() => self.before.expressions.contains(text),
            _ => true,
        });
        let minor = if known { STORED } else { self.profile.minor.saturating_sub(1) };
        Rule::compile(rule, schema, Some(decl), minor)
    }

    /// Checks the texts of rule and message.
    fn check_texts(&mut self, rule: &Value, at: &str) {
        let text = |field: &str| rule[field].as_str().unwrap_or_default();
        let (source, message) = (text("rule"), text("message"));
        let field = |name: &str| format!("{at}.{name}");
        if source.trim().is_empty() {
            self.errors.push(FieldError::required(field("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            let why = "must be non-empty if specified";
            self.errors.push(FieldError::invalid(field("message"), message, why));
        } else if message.trim().contains('\n') {
            let why = "must not contain line breaks";
            self.errors.push(FieldError::invalid(field("message"), message, why));
        } else if source.trim().contains('\n') && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(field("message"), why));
        }
        let expression = text("messageExpression");
        if self.profile.rules_have_expressions && !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(field("messageExpression"), why));
        }
    }

    fn reason_and_path(&mut self, rule: &Value, schema: &Structural, at: &str) {
        if let Some(reason) = rule["reason"].as_str()
            && !REASONS.contains(&reason)
        {
            let error =
                FieldError::not_supported(format!("{at}.reason"), Shown::Json(json!(reason)), &REASONS);
            self.errors.push(error);
        }
        let path = rule["fieldPath"].as_str().unwrap_or_default();
        let mut wrong = Vec::new();
        if !path.is_empty() && path.trim().is_empty() {
            wrong.push("must be non-empty if specified");
        }
        if path.contains('\n') {
            wrong.push("must not contain line breaks");
        }
        if !path.is_empty() && field_path::resolve(path.trim(), schema).is_err() {
            wrong.push("must be a valid path");
        }
        for why in wrong {
            self.errors.push(FieldError::invalid(format!("{at}.fieldPath"), path, why));
        }
    }

    fn expression(&mut self, rule: &Value, compiled: &Rule, decl: &Arc<Decl>, at: &str) {
        match &compiled.expression {
            None => {}
            Some(Err(why)) => {
                self.refuse(
                    at,
                    "messageExpression",
                    rule,
                    &format!("messageExpression compilation failed: {why}"),
                );
            }
            Some(Ok(program)) if !matches!(program.result(), Type::String) => {
                self.refuse(at, "messageExpression", rule, "messageExpression must evaluate to a string");
            }
            Some(Ok(program)) => self.expression_cost(program, decl, at),
        }
    }

    fn expression_cost(&mut self, program: &Program, decl: &Decl, at: &str) {
        let cost = estimate(program, &[decl, decl], Paths::AllFromVariable);
        self.cost("estimated messageExpression cost", format!("{at}.messageExpression"), cost);
    }

    fn old_self(&mut self, rule: &Value, compiled: &Rule, at: &str, place: Place<'_>) {
        let expression = compiled.expression.as_ref().and_then(|found| found.as_ref().ok());
        let uses = compiled.uses_old_self || expression.is_some_and(|program| program.uses(OLD_SELF));
        if uses {
            if let Some(list) = place.loose {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.errors.push(FieldError::invalid(format!("{at}.rule"), rule["rule"].clone(), why));
            }
        } else if compiled.program.is_ok()
            && self.profile.rules_may_lack_old
            && !rule["optionalOldSelf"].is_null()
        {
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
        if total <= SCHEMA_LIMIT || self.before.unchanged {
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
