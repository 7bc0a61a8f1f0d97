//! Messages about broken rules.

use serde_json::Value as Json;

use super::compile::Rule;
use crate::cel::value::{EvalError, Value};
use crate::field::{Cause, FieldError, Shown};
use crate::profile::Profile;

/// Maximum length of the message of an expression, in bytes.
const LONGEST: usize = 5 << 10;
/// Cost limit of one evaluation.
pub(super) const CALL_LIMIT: u64 = 1_000_000;

/// The message of a `messageExpression`, or `None` for the message in the rule.
///
/// # Errors
/// The budget or the cost limit is exceeded; the message of the server.
pub(super) fn from_expression<'a>(
    rule: &'a Rule,
    variables: &[Result<Value<'a>, EvalError>],
    budget: &mut u64,
) -> Result<Option<String>, String> {
    let Some(Ok(program)) = &rule.expression else { return Ok(None) };
    let evaluated = program.run(variables, CALL_LIMIT);
    if evaluated.cost > *budget {
        return Err(
            "messageExpression evaluation failed due to running out of cost budget, no further validation \
                    rules will be run"
                .to_owned(),
        );
    }
    *budget -= evaluated.cost;
    match evaluated.outcome {
        Ok(Value::String(text)) => {
            let text = text.trim();
            let usable = !text.is_empty() && text.len() <= LONGEST && !text.contains('\n');
            Ok(usable.then(|| text.to_owned()))
        }
        Err(EvalError::Cost) => {
            Err("no further validation rules will be run due to call cost exceeds limit for \
                                 messageExpression"
                .to_owned())
        }
        _ => Ok(None),
    }
}

/// The message in the rule.
pub(super) fn plain(rule: &Rule) -> String {
    match rule.message.trim() {
        "" => format!("failed rule: {}", rule.display_text()),
        message => message.to_owned(),
    }
}

/// The message for an error during evaluation.
pub(super) fn evaluation_error(rule: &Rule, fault: &EvalError) -> String {
    let (text, words) = (fault.text(), rule.display_text());
    match fault {
        EvalError::Cost => {
            format!(
                "'{text}': no further validation rules will be run due to call cost exceeds limit for rule: {words}"
            )
        }
        EvalError::Error(text) if text.starts_with("no such overload") => {
            let why =
                "call arguments did not match a supported operator, function or macro signature for rule";
            format!("'{text}': {why}: {words}")
        }
        EvalError::Error(_) => format!("{text} evaluating rule: {words}"),
    }
}

/// The value in the error of a broken rule.
pub(super) fn shown(value: &Json, kind: &str, profile: &Profile) -> Shown {
    if !profile.rules_show_values {
        return Shown::Json(Json::from(kind));
    }
    match value {
        Json::Object(_) | Json::Array(_) => Shown::Nothing,
        scalar => Shown::Json(scalar.clone()),
    }
}

pub(super) fn error(
    rule: &Rule,
    field: String,
    value: Shown,
    detail: String,
    profile: &Profile,
) -> FieldError {
    let reason = if profile.rules_have_reasons { rule.reason.as_str() } else { "" };
    match reason {
        "FieldValueForbidden" => FieldError::forbidden(field, detail),
        "FieldValueRequired" => FieldError::required(field, detail),
        "FieldValueDuplicate" => FieldError { cause: Cause::Duplicate, field, value, detail: String::new() },
        _ => FieldError { cause: Cause::Invalid, field, value, detail },
    }
}
