//! The types of expressions, which the parser checks.

use super::binary::is_comparison;
use super::functions::{Kind, Signature, signature};
use super::{Binary, Expr};

/// Returns the type of an expression.
pub(super) fn kind(expr: &Expr) -> Kind {
    match expr {
        Expr::Number(_) => Kind::Scalar,
        Expr::Text(_) => Kind::Text,
        Expr::Select(_) | Expr::Subquery(_) if expr.is_range() => Kind::Range,
        Expr::Select(_) | Expr::Subquery(_) | Expr::Aggregate(_) => Kind::Vector,
        Expr::Call(name, _) => signature(name).map_or(Kind::Vector, |signature| signature.returns),
        Expr::Negative(operand) => kind(operand),
        Expr::Binary(binary) => match (kind(&binary.left), kind(&binary.right)) {
            (Kind::Scalar, Kind::Scalar) => Kind::Scalar,
            _ => Kind::Vector,
        },
    }
}

/// Returns the name of the type of an expression that a range query cannot evaluate.
pub fn unfit_for_range_query(expr: &Expr) -> Option<String> {
    let kind = kind(expr);
    (!matches!(kind, Kind::Scalar | Kind::Vector)).then(|| kind.to_string())
}

/// # Errors
/// The expression has another type.
pub(super) fn expect(wanted: Kind, expr: &Expr, context: &str) -> Result<(), String> {
    let found = kind(expr);
    if found == wanted {
        return Ok(());
    }
    Err(format!("expected type {wanted} in {context}, found {found}"))
}

/// # Errors
/// The number of arguments or the type of one is wrong.
pub(super) fn arguments(name: &str, signature: &Signature, arguments: &[Expr]) -> Result<(), String> {
    let Signature { arguments: kinds, minimum, maximum, .. } = signature;
    let found = arguments.len();
    if found < *minimum || maximum.is_some_and(|maximum| found > maximum) {
        let takes = match maximum {
            Some(maximum) if maximum == minimum => format!("{minimum}"),
            Some(maximum) => format!("{minimum} to {maximum}"),
            None => format!("at least {minimum}"),
        };
        return Err(format!("{name} takes {takes} arguments, found {found}"));
    }
    for (place, argument) in arguments.iter().enumerate() {
        let wanted = kinds.get(place).or(kinds.last());
        wanted.map_or(Ok(()), |wanted| expect(*wanted, argument, &format!("call to {name}")))?;
    }
    Ok(())
}

/// # Errors
/// A sign is before a text or a range.
pub(super) fn signed(operand: Expr) -> Result<Expr, String> {
    match kind(&operand) {
        Kind::Scalar | Kind::Vector => Ok(operand),
        other => Err(format!("a sign needs a scalar or an instant vector, found {other}")),
    }
}

/// # Errors
/// The operator does not take these operands or modifiers.
pub(super) fn binary(binary: Binary) -> Result<Expr, String> {
    let operator = binary.operator.as_str();
    let kinds = [kind(&binary.left), kind(&binary.right)];
    let is_set = matches!(operator, "and" | "or" | "unless");
    let (has_scalar, scalars) = (kinds.contains(&Kind::Scalar), kinds == [Kind::Scalar; 2]);
    let matching = &binary.matching;
    let copied = matching.group_left.as_ref().or(matching.group_right.as_ref());
    if let Some(other) = kinds.into_iter().find(|kind| !matches!(kind, Kind::Scalar | Kind::Vector)) {
        return Err(format!(
            "binary expression must contain only scalar and instant vector types, found {other}"
        ));
    }
    if binary.returns_bool && !is_comparison(operator) {
        return Err("bool modifier can only be used on comparison operators".to_owned());
    }
    if is_comparison(operator) && scalars && !binary.returns_bool {
        return Err("comparisons between scalars must use BOOL modifier".to_owned());
    }
    if is_set && has_scalar {
        return Err(format!("set operator {operator:?} not allowed in binary scalar expression"));
    }
    if is_set && copied.is_some() {
        return Err(format!("no grouping allowed for {operator:?} operation"));
    }
    if has_scalar && (matching.on || !matching.labels.is_empty()) {
        return Err("vector matching only allowed between instant vectors".to_owned());
    }
    let twice = copied.into_iter().flatten().find(|label| matching.on && matching.labels.contains(label));
    if let Some(label) = twice {
        return Err(format!("label {label:?} must not occur in ON and GROUP clause at once"));
    }
    Ok(Expr::Binary(Box::new(binary)))
}
