//! Which unknown metrics decide the result of an expression.

use std::collections::BTreeSet;

use super::{Binary, Expr, Metrics, Selector, Value, evaluate};

/// Returns reasons why the result of an expression is unknown: those that `why_missing` returns for its
/// selectors. Selectors whose samples cannot change the result do not count: `a and b` needs no `b` without
/// samples of `a`, and `a or on () b` needs no `b` if there are samples of `a`.
pub fn missing_metrics(
    expr: &Expr,
    metrics: &dyn Metrics,
    why_missing: &dyn Fn(&Selector) -> Option<String>,
) -> BTreeSet<String> {
    let of = |part: &Expr| missing_metrics(part, metrics, why_missing);
    match expr {
        Expr::Number(_) | Expr::Text(_) => BTreeSet::new(),
        Expr::Select(selector) => why_missing(selector).into_iter().collect(),
        Expr::Binary(binary) => {
            let (left, right) = (of(&binary.left), of(&binary.right));
            if left.is_empty() && decides_left(binary, metrics)
                || right.is_empty() && decides_right(binary, metrics)
            {
                return BTreeSet::new();
            }
            left.into_iter().chain(right).collect()
        }
        Expr::Aggregate(aggregate) => of(&aggregate.operand),
        Expr::Call(_, arguments) => arguments.iter().flat_map(of).collect(),
        Expr::Negative(operand) => of(operand),
    }
}

/// Returns whether the left side alone gives the result, whatever the right side is.
fn decides_left(binary: &Binary, metrics: &dyn Metrics) -> bool {
    match is_empty(&binary.left, metrics) {
        Some(true) => binary.operator != "or",
        Some(false) => binary.operator == "or" && matches_everything(binary),
        None => false,
    }
}

/// Returns whether all samples of a cluster match each other. The label `_id` is that of a cluster in
/// Telemeter; no sample in a cluster has it.
fn matches_everything(binary: &Binary) -> bool {
    binary.matching.on && binary.matching.labels.iter().all(|label| label == "_id")
}

/// Returns whether the right side alone gives the result.
fn decides_right(binary: &Binary, metrics: &dyn Metrics) -> bool {
    !matches!(binary.operator.as_str(), "or" | "unless") && is_empty(&binary.right, metrics) == Some(true)
}

/// Returns whether an expression has no samples; `None` if it is a number or has an error.
fn is_empty(expr: &Expr, metrics: &dyn Metrics) -> Option<bool> {
    match evaluate(expr, metrics) {
        Ok(Value::Vector(samples)) => Some(samples.is_empty()),
        Ok(Value::Scalar(_)) | Err(_) => None,
    }
}

/// Returns whether no sample in the result can have a value other than 0, whatever the samples are for which
/// `why_missing` returns a reason: `0 * a` is 0 or has no samples.
pub fn is_zero_or_empty(
    expr: &Expr,
    metrics: &dyn Metrics,
    why_missing: &dyn Fn(&Selector) -> Option<String>,
) -> bool {
    let of = |part: &Expr| is_zero_or_empty(part, metrics, why_missing);
    if missing_metrics(expr, metrics, why_missing).is_empty() {
        return match evaluate(expr, metrics) {
            Ok(Value::Scalar(number)) => number == 0.0,
            Ok(Value::Vector(samples)) => samples.iter().all(|sample| sample.value == 0.0),
            Err(_) => false,
        };
    }
    match expr {
        Expr::Binary(binary) => match binary.operator.as_str() {
            "*" => of(&binary.left) || of(&binary.right),
            "or" => of(&binary.left) && of(&binary.right),
            "and" | "unless" => of(&binary.left),
            _ => false,
        },
        Expr::Aggregate(aggregate) => {
            !matches!(aggregate.operator.as_str(), "group" | "count") && of(&aggregate.operand)
        }
        Expr::Call(name, arguments) => {
            matches!(name.as_str(), "label_replace" | "max_over_time") && arguments.first().is_some_and(of)
        }
        Expr::Negative(operand) => of(operand),
        Expr::Number(_) | Expr::Text(_) | Expr::Select(_) => false,
    }
}
