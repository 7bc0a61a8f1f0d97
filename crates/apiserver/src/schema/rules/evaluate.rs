//! Evaluates the rules of a schema on an object.

use serde_json::{Map, Value as Json};

use super::ValidatedObject;
use super::compile::{OLD_SELF, Rule, Rules};
use super::message::{self, CALL_LIMIT};
use crate::cel::json;
use crate::cel::value::{EvalError, Value};
use crate::field::{FieldError, Shown};
use crate::profile::Profile;
use crate::schema::path::Path;
use crate::schema::ratchet::{self, Elements, StoredCounterpart};
use crate::schema::structural::Structural;

/// Cost limit of all rules of an object.
const OBJECT_LIMIT: u64 = 10_000_000;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Returns errors, and warnings about broken rules that are tolerated.
pub(super) fn evaluate(
    rules: &Rules,
    schema: &Structural,
    judged: ValidatedObject<'_>,
    profile: &Profile,
) -> (Vec<FieldError>, Vec<String>) {
    let mut judge = RuleEvaluator { profile, errors: Vec::new(), warnings: Vec::new(), budget: OBJECT_LIMIT };
    let old = judged.old.filter(|_| judged.ratchets);
    let here = old.map(|old| Pair { new: judged.object, old, schema });
    let tolerance = Tolerance { here, above: None, schema };
    // Running out of budget ends the walk and adds an error.
    let _ = judge.node(rules, judged.object, judged.old, tolerance, &Path::Root);
    (judge.errors, judge.warnings)
}

/// No further rules are evaluated.
struct Exhausted;

type Step = Result<(), Exhausted>;

/// The values that decide whether a broken rule is tolerated, with their counterparts.
#[derive(Debug, Clone, Copy)]
struct Tolerance<'a> {
    /// The value itself, if it has a counterpart.
    here: Option<Pair<'a>>,
    /// The nearest parent that has a counterpart.
    above: Option<Pair<'a>>,
    schema: &'a Structural,
}

#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    new: &'a Json,
    old: &'a Json,
    schema: &'a Structural,
}

impl<'a> Tolerance<'a> {
    fn applies(self) -> bool {
        self.here
            .or(self.above)
            .is_some_and(|Pair { new, old, schema }| ratchet::is_same(new, old.into(), schema))
    }

    /// The tolerance for a part of the value with this schema; `old` is its counterpart.
    fn below(self, new: &'a Json, old: Option<&'a Json>, schema: &'a Structural) -> Self {
        match self.here {
            Some(here) => Self { here: old.map(|old| Pair { new, old, schema }), above: Some(here), schema },
            None => Self { schema, ..self },
        }
    }
}

struct RuleEvaluator<'p> {
    profile: &'p Profile,
    errors: Vec<FieldError>,
    warnings: Vec<String>,
    budget: u64,
}

impl RuleEvaluator<'_> {
    fn node(
        &mut self,
        rules: &Rules,
        value: &Json,
        old: Option<&Json>,
        tolerance: Tolerance<'_>,
        path: &Path<'_>,
    ) -> Step {
        if value.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        if !rules.own.is_empty() {
            self.own(rules, value, old, tolerance, path)?;
        }
        match value {
            Json::Object(map) => self.object(rules, map, old, tolerance, path),
            Json::Array(items) => match rules.items.as_deref() {
                Some(rules) => self.list(rules, items, old, tolerance, path),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        rules: &Rules,
        map: &Map<String, Json>,
        old: Option<&Json>,
        tolerance: Tolerance<'_>,
        path: &Path<'_>,
    ) -> Step {
        for (name, value) in map {
            let property = rules.properties.get(name);
            let (inner, here) = match (property, &rules.additional) {
                (Some(inner), _) => (inner, path.key(name)),
                (None, Some(inner)) => (&**inner, path.entry(name)),
                (None, None) => continue,
            };
            let old = ratchet::property(old, name);
            let Some(schema) = tolerance.schema.property(name) else { continue };
            self.node(inner, value, old, tolerance.below(value, old, schema), &here)?;
        }
        Ok(())
    }

    fn list(
        &mut self,
        rules: &Rules,
        items: &[Json],
        old: Option<&Json>,
        tolerance: Tolerance<'_>,
        path: &Path<'_>,
    ) -> Step {
        let list = tolerance.schema;
        let Some(schema) = list.items.as_deref() else { return Ok(()) };
        let mut counterparts = Elements::new(old.map(StoredCounterpart::from), list);
        for (index, item) in items.iter().enumerate() {
            let old = counterparts.find(index, item).map(|old| old.value);
            self.node(rules, item, old, tolerance.below(item, old, schema), &path.index(index))?;
        }
        Ok(())
    }

    /// Evaluates the rules of one node.
    fn own(
        &mut self,
        rules: &Rules,
        value: &Json,
        old: Option<&Json>,
        tolerance: Tolerance<'_>,
        path: &Path<'_>,
    ) -> Step {
        let decl = rules.decl.as_deref();
        let this = json::from_json(value, decl);
        let plain_old = old.map(|old| json::from_json(old, decl));
        let absent = || Err(EvalError::new("no such attribute: oldSelf"));
        let plain = [this.clone(), plain_old.clone().unwrap_or_else(absent)];
        let optional = [this, plain_old.map_or(Ok(Value::Optional(None)), |old| old.map(Value::some))];
        for rule in &rules.own {
            let is_optional = rule.optional_old_self && self.profile.rules_may_lack_old;
            if rule.uses_old_self && old.is_none() && !is_optional {
                continue;
            }
            let variables = if rule.optional_old_self { &optional } else { &plain };
            let node = Node { value, kind: rules.kind, tolerance, path };
            self.rule(rule, variables, &node)?;
        }
        Ok(())
    }

    fn rule<'a>(
        &mut self,
        rule: &'a Rule,
        variables: &[Result<Value<'a>, EvalError>],
        node: &Node<'_>,
    ) -> Step {
        if self.budget == 0 {
            self.report_error(node, OUT_OF_BUDGET);
            return Err(Exhausted);
        }
        let program = match &rule.program {
            Ok(program) => program,
            Err(_) if rule.text.trim().is_empty() => return Ok(()),
            Err(why) => {
                self.report_error(node, &format!("rule compile error: {why}"));
                return Ok(());
            }
        };
        let evaluated = program.run(variables, CALL_LIMIT);
        if evaluated.cost > self.budget {
            self.report_error(node, OUT_OF_BUDGET);
            return Err(Exhausted);
        }
        self.budget -= evaluated.cost;
        match evaluated.outcome {
            Ok(Value::Bool(true)) => Ok(()),
            Ok(_) => self.report_broken_rule(rule, variables, node),
            Err(fault) => {
                self.report_error(node, &message::evaluation_error(rule, &fault));
                if fault == EvalError::Cost { Err(Exhausted) } else { Ok(()) }
            }
        }
    }

    /// Reports an error that is not about the value: it shows the type instead, and is never tolerated.
    fn report_error(&mut self, node: &Node<'_>, detail: &str) {
        self.errors.push(FieldError::invalid(node.path.to_string(), node.kind, detail));
    }

    fn report_broken_rule<'a>(
        &mut self,
        rule: &'a Rule,
        variables: &[Result<Value<'a>, EvalError>],
        node: &Node<'_>,
    ) -> Step {
        let field = match rule.field_path.as_ref().filter(|_| self.profile.rules_have_reasons) {
            Some(below) => node.path.and_below(below),
            None => node.path.to_string(),
        };
        let expressed = if self.profile.rules_have_expressions {
            message::from_expression(rule, variables, &mut self.budget)
        } else {
            Ok(None)
        };
        let (error, result) = match expressed {
            Ok(detail) => {
                let detail = detail.unwrap_or_else(|| message::plain(rule));
                let value = message::shown(node.value, node.kind, self.profile);
                (message::error(rule, field, value, detail, self.profile), Ok(()))
            }
            Err(why) => {
                let value = Shown::Json(Json::from(node.kind));
                (FieldError { value, ..FieldError::invalid(field, Json::Null, why) }, Err(Exhausted))
            }
        };
        if !rule.uses_old_self && node.tolerance.applies() {
            self.warnings.push(error.text(self.profile));
        } else {
            self.errors.push(error);
        }
        result
    }
}

/// The value that a rule validates.
struct Node<'n> {
    value: &'n Json,
    kind: &'static str,
    tolerance: Tolerance<'n>,
    path: &'n Path<'n>,
}

const _: () = assert!(OLD_SELF == 1, "`oldSelf` is the second variable of a rule");
