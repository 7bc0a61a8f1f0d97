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
        Expr::Call(name, arguments) => {
            let unknown = changed_over_time(name, arguments).filter(|metric| {
                let now = metrics.now();
                metrics.scrapes(metric, now, now).is_none()
            });
            let unknown =
                unknown.map(|metric| format!("needs earlier samples of metric {metric}, which are unknown"));
            arguments.iter().flat_map(of).chain(unknown).collect()
        }
        Expr::Aggregate(_) | Expr::Subquery(_) | Expr::Negative(_) => {
            expr.parts().into_iter().flat_map(of).collect()
        }
    }
}

/// Returns the metric of a function whose result is about changes in a range, so that the current samples alone say
/// nothing about it.
fn changed_over_time<'a>(function: &str, arguments: &'a [Expr]) -> Option<&'a str> {
    let counts = matches!(
        function,
        "delta" | "deriv" | "idelta" | "increase" | "irate" | "predict_linear" | "rate" | "resets"
    );
    match arguments.first() {
        Some(Expr::Select(selector)) if counts => Some(selector.metric()),
        _ => None,
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
        Ok(_) | Err(_) => None,
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
            Ok(_) | Err(_) => false,
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
            !matches!(aggregate.operator.as_str(), "group" | "count" | "count_values")
                && of(&aggregate.operand)
        }
        Expr::Call(name, arguments) => {
            let keeps_zero = matches!(
                name.as_str(),
                "abs"
                    | "avg_over_time"
                    | "ceil"
                    | "floor"
                    | "increase"
                    | "label_join"
                    | "label_replace"
                    | "last_over_time"
                    | "max_over_time"
                    | "min_over_time"
                    | "rate"
                    | "sgn"
                    | "sum_over_time"
            );
            keeps_zero && arguments.first().is_some_and(of)
        }
        Expr::Negative(operand) => of(operand),
        Expr::Subquery(subquery) => of(&subquery.operand),
        Expr::Number(_) | Expr::Text(_) | Expr::Select(_) => false,
    }
}
