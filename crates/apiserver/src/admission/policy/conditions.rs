//! Validation of the `matchConditions` of webhooks and policies (`validateMatchConditions`).

use serde_json::{Value, json};

use super::expression::{ANY_MINOR, Declared, Wanted, compile_new, environment, field_error};
use super::{list, text};
use crate::field::{Cause, FieldError};
use crate::names;
use crate::repeats::repeated;

const MAX_CONDITIONS: usize = 64;

/// Validates conditions. Expressions in `known` were stored before and may use functions of any minor.
pub(in crate::admission) fn check(
    conditions: &Value,
    known: &[String],
    minor: u32,
    declared: Declared,
    at: &str,
) -> Vec<FieldError> {
    let conditions = list(conditions);
    let mut errors = Vec::new();
    if conditions.len() > MAX_CONDITIONS {
        let why = format!("must have at most {MAX_CONDITIONS} items");
        errors.push(FieldError::new(Cause::TooMany, at, json!(conditions.len()), why));
    }
    let is_repeated = repeated(conditions.iter().map(|condition| text(&condition["name"])));
    for (index, condition) in conditions.iter().enumerate() {
        let (name, at) = (text(&condition["name"]), format!("{at}[{index}]"));
        let expression = text(&condition["expression"]);
        errors.extend(check_expression(expression.trim(), known, minor, declared, &at));
        errors.extend(check_name(&name, &format!("{at}.name")));
        if !name.is_empty() && is_repeated[index] {
            errors.push(FieldError::new(Cause::Duplicate, format!("{at}.name"), json!(name), ""));
        }
    }
    errors
}

fn check_expression(
    source: &str,
    known: &[String],
    minor: u32,
    declared: Declared,
    at: &str,
) -> Option<FieldError> {
    let at = format!("{at}.expression");
    if source.is_empty() {
        return Some(FieldError::required(at, ""));
    }
    let minor = if known.iter().any(|stored| stored == source) { ANY_MINOR } else { minor };
    let why = compile_new(source, &environment(minor, declared), Wanted::Bool).err()?;
    Some(field_error(&at, source, &why))
}

fn check_name(name: &str, at: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let wrong = names::labels::label_key(name).into_iter();
    wrong.map(|why| FieldError::invalid(at, name, why)).collect()
}

/// The expressions of conditions.
pub(in crate::admission) fn expressions(conditions: &Value) -> Vec<String> {
    list(conditions).iter().map(|condition| text(&condition["expression"])).collect()
}
