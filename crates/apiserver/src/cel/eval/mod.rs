//! Evaluates expressions and counts their cost like cel-go.

pub(super) mod cost;
mod loops;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::library::{Overload, operators};
use super::syntax::{Access, Apply, Element, Entry, Kind, Literal, Node};
use super::value::{EvalError, Key, List, Map, Outcome, Value};

/// Costs of creating lists, maps and messages.
pub(super) const LIST_COST: u64 = 10;
pub(super) const MAP_COST: u64 = 30;
pub(super) const MESSAGE_COST: u64 = 40;

/// The value of an expression or its error, and the cost.
#[derive(Debug)]
pub(crate) struct Evaluated<'a> {
    pub(crate) outcome: Outcome<'a>,
    pub(crate) cost: u64,
}

pub(super) fn run<'a>(node: &'a Node, globals: &[Result<Value<'a>, EvalError>], limit: u64) -> Evaluated<'a> {
    let mut eval = Eval { globals, locals: Vec::new(), cost: 0, limit };
    let outcome = eval.node(node);
    Evaluated { outcome, cost: eval.cost }
}

struct Eval<'a, 'v> {
    globals: &'v [Result<Value<'a>, EvalError>],
    locals: Vec<Value<'a>>,
    cost: u64,
    limit: u64,
}

impl<'a> Eval<'a, '_> {
    fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::Cost) } else { Ok(()) }
    }

    fn node(&mut self, node: &'a Node) -> Outcome<'a> {
        match &node.kind {
            Kind::Literal(literal) => Ok(value_of(literal)),
            Kind::Global(number) => {
                self.charge(1)?;
                self.globals.get(*number).cloned().unwrap_or_else(|| Err(EvalError::new("no such attribute")))
            }
            Kind::Local(depth) => {
                self.charge(1)?;
                self.locals.get(*depth).cloned().ok_or_else(|| EvalError::new("no such attribute"))
            }
            Kind::TypeName(name) => Ok(Value::Type(Cow::Borrowed(name))),
            Kind::Select { operand, field, how } => self.select(operand, field, *how),
            Kind::Apply(apply) => self.apply(apply),
            Kind::And(left, right) => self.logic(left, right, false),
            Kind::Or(left, right) => self.logic(left, right, true),
            Kind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.node(condition)? {
                    Value::Bool(true) => self.node(yes),
                    Value::Bool(false) => self.node(no),
                    _ => Err(EvalError::no_overload()),
                }
            }
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(name, fields) => self.message(name, fields),
            Kind::Loop(inner) => self.run_loop(inner),
            Kind::Ident(name) => Err(EvalError::new(format!("no such attribute: {name}"))),
            Kind::Call { function, .. } => Err(EvalError::new(format!("no such overload: {function}"))),
        }
    }

    fn select(&mut self, operand: &'a Node, field: &str, how: Access) -> Outcome<'a> {
        let operand = self.node(operand)?;
        if how != Access::Presence {
            self.charge(1)?;
        }
        let (subject, optional) = match &operand {
            Value::Optional(None) => (None, true),
            Value::Optional(Some(inner)) => (Some(&**inner), true),
            other => (Some(other), false),
        };
        let found = match subject {
            Some(Value::Map(map)) => map.field(field),
            Some(Value::List(_)) => return Err(EvalError::new("unsupported index type 'string' in list")),
            // Any other value has no fields.
            _ => None,
        };
        match how {
            Access::Presence => Ok(Value::Bool(found.is_some())),
            Access::Value if !optional => {
                found.unwrap_or_else(|| Err(EvalError::new(format!("no such key: {field}"))))
            }
            _ => Ok(found.transpose()?.map_or(Value::Optional(None), Value::some)),
        }
    }

    /// `&&` and `||`: one operand may decide the result even if the other one fails.
    fn logic(&mut self, left: &'a Node, right: &'a Node, decides: bool) -> Outcome<'a> {
        let first = self.truth(left);
        match first {
            Ok(found) if found == decides => return Ok(Value::Bool(decides)),
            Err(EvalError::Cost) => return Err(EvalError::Cost),
            _ => {}
        }
        match (first, self.truth(right)) {
            (_, Ok(found)) if found == decides => Ok(Value::Bool(decides)),
            (_, Err(EvalError::Cost)) => Err(EvalError::Cost),
            (Err(fault), _) | (_, Err(fault)) => Err(fault),
            _ => Ok(Value::Bool(!decides)),
        }
    }

    fn truth(&mut self, node: &'a Node) -> Result<bool, EvalError> {
        match self.node(node)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(EvalError::no_overload()),
        }
    }

    fn apply(&mut self, apply: &'a Apply) -> Outcome<'a> {
        let mut args = Vec::with_capacity(apply.args.len());
        for arg in &apply.args {
            args.push(self.node(arg)?);
        }
        let Some(overload) = apply.overloads.iter().find(|overload| overload.takes(&args)) else {
            // An index is no call: it qualifies values of any type.
            self.charge(1)?;
            return match &*apply.function.name {
                "_[_]" if !matches!(args.first(), Some(Value::Optional(_))) => operators::index(&args),
                "_[_]" | "_[?_]" => operators::optional_index(&args),
                name => Err(no_overload(name, &args)),
            };
        };
        let outcome = match (&apply.regex, args.first()) {
            (Some(regex), Some(Value::String(text))) => Ok(Value::Bool(regex.is_match(text))),
            _ => (overload.run)(&args),
        };
        self.charge_call(&apply.function.name, overload, &args, outcome.as_ref().ok())?;
        outcome
    }

    fn charge_call(
        &mut self,
        name: &str,
        overload: &Overload,
        args: &[Value<'a>],
        result: Option<&Value<'a>>,
    ) -> Result<(), EvalError> {
        self.charge(cost::call_cost(name, overload, args, result))
    }

    /// The value of an element; `None` if it is optional and absent.
    fn element(&mut self, element: &'a Element) -> Result<Option<Value<'a>>, EvalError> {
        let value = self.node(&element.value)?;
        match value {
            Value::Optional(inner) if element.optional => Ok(inner.map(|inner| (*inner).clone())),
            other => Ok(Some(other)),
        }
    }

    fn list(&mut self, items: &'a [Element]) -> Outcome<'a> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.extend(self.element(item)?);
        }
        self.charge(LIST_COST)?;
        Ok(Value::list(values))
    }

    fn map(&mut self, entries: &'a [Entry]) -> Outcome<'a> {
        let mut map = BTreeMap::new();
        for entry in entries {
            let key = self.node(&entry.key)?;
            let key = key.as_key().ok_or_else(|| EvalError::new("unsupported key type"))?;
            if let Some(value) = self.element(&entry.value)?
                && map.insert(key, value).is_some()
            {
                return Err(EvalError::new("Failed with repeated key"));
            }
        }
        self.charge(MAP_COST)?;
        Ok(Value::Map(Map::Made(Rc::new(map))))
    }

    fn message(&mut self, _name: &str, fields: &'a [(String, Element)]) -> Outcome<'a> {
        let mut map = BTreeMap::new();
        for (name, element) in fields {
            if let Some(value) = self.element(element)? {
                map.insert(Key::String(name.clone()), value);
            }
        }
        self.charge(MESSAGE_COST)?;
        Ok(Value::Map(Map::Made(Rc::new(map))))
    }
}

fn value_of(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Cow::Borrowed(text)),
        Literal::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
    }
}

/// The error of a call whose run-time arguments match no overload.
fn no_overload(function: &str, args: &[Value<'_>]) -> EvalError {
    let operator = function.starts_with(['_', '!', '-', '@']);
    if operator {
        return EvalError::no_overload();
    }
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    EvalError::new(format!("no such overload: {function}({})", types.join(", ")))
}

/// The elements that a loop iterates over: for a map its keys.
fn elements<'a>(range: &Value<'a>) -> Result<List<'a>, EvalError> {
    match range {
        Value::List(list) => Ok(list.clone()),
        Value::Map(map) => Ok(List::Made(Rc::new(map.keys()), None)),
        other => Err(EvalError::new(format!("got '{}', expected iterable type", other.type_name()))),
    }
}
