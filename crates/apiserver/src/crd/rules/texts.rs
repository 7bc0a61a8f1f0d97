//! Rules and their costs in the server's error messages.

use serde_json::{Value, json};

use crate::field::Shown;
use crate::gotext;

/// A rule as Go prints its type.
pub(super) fn show(rule: &Value) -> Shown {
    let text = |field: &str| rule[field].as_str().unwrap_or_default();
    let json = |field: &str| rule.get(field).unwrap_or(&Value::Null).to_string();
    let quoted = |field: &str| json!(text(field)).to_string();
    let pointer = |field: &str, go_type: &str| match rule.get(field).filter(|value| !value.is_null()) {
        Some(_) => format!("(*{go_type})(0xc000000000)"),
        None => format!("(*{go_type})(nil)"),
    };
    Shown::Raw {
        json: format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
            quoted("rule"),
            quoted("message"),
            quoted("messageExpression"),
            json("reason"),
            quoted("fieldPath"),
            json("optionalOldSelf")
        ),
        go: format!(
            "apiextensions.ValidationRule{{Rule:{}, Message:{}, MessageExpression:{}, Reason:{}, FieldPath:{}, \
             OptionalOldSelf:{}}}",
            gotext::quote(text("rule")),
            gotext::quote(text("message")),
            gotext::quote(text("messageExpression")),
            pointer("reason", "apiextensions.FieldValueErrorReason"),
            gotext::quote(text("fieldPath")),
            pointer("optionalOldSelf", "bool")
        ),
    }
}

/// The message about a cost that exceeds its limit (`getCostErrorMessage`).
#[expect(clippy::cast_precision_loss, reason = "the factor is printed with few digits")]
pub(super) fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    let advice = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and \
                  strings are declared";
    format!("{what} exceeds budget by factor of {factor} ({advice})")
}
