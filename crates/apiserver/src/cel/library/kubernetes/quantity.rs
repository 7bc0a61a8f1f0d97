//! Resource quantities, such as `500m` and `2Gi`.

use crate::cel::library::{Row, int, text};
use crate::cel::value::opaque::Opaque;
use crate::cel::value::quantity::CelQuantity;
use crate::cel::value::{EvalError, Outcome, Value};

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (28, "quantity(string) -> kubernetes.Quantity", quantity),
    (28, "isQuantity(string) -> bool", is_quantity),
    (28, "sign(kubernetes.Quantity) -> int", sign),
    (28, "kubernetes.Quantity: isGreaterThan(kubernetes.Quantity) -> bool", greater),
    (28, "kubernetes.Quantity: isLessThan(kubernetes.Quantity) -> bool", less),
    (28, "kubernetes.Quantity: compareTo(kubernetes.Quantity) -> int", compare),
    (28, "kubernetes.Quantity: asApproximateFloat() -> double", as_float),
    (28, "kubernetes.Quantity: asInteger() -> int", as_integer),
    (28, "kubernetes.Quantity: isInteger() -> bool", is_integer),
    (28, "kubernetes.Quantity: add(kubernetes.Quantity) -> kubernetes.Quantity", add),
    (28, "kubernetes.Quantity: add(int) -> kubernetes.Quantity", add),
    (28, "kubernetes.Quantity: sub(kubernetes.Quantity) -> kubernetes.Quantity", sub),
    (28, "kubernetes.Quantity: sub(int) -> kubernetes.Quantity", sub),
];

const WRONG: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

fn quantity<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match CelQuantity::parse(text(args, 0)) {
        Some(found) => Ok(Value::opaque(Opaque::Quantity(found))),
        None => Err(EvalError::new(if has_form(text(args, 0)) { WRONG_SUFFIX } else { WRONG })),
    }
}

/// Whether a text has the form of a quantity, so that only its suffix can be wrong.
fn has_form(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let (whole, suffix) = (text.len() - suffix.len(), suffix.strip_prefix('.').unwrap_or(suffix));
    let rest = suffix.trim_start_matches(|c: char| c.is_ascii_digit());
    let exponent = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    (whole > 0 || rest.len() < suffix.len()) && exponent.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_quantity<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(CelQuantity::parse(text(args, 0)).is_some()))
}

fn quantity_argument(args: &[Value<'_>], index: usize) -> Result<CelQuantity, EvalError> {
    match args.get(index) {
        Some(Value::Int(_)) => Ok(CelQuantity::whole(int(args, index))),
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Quantity(found) => Ok(*found),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn sign<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::try_from(quantity_argument(args, 0)?.nano().signum()).unwrap_or_default()))
}

fn greater<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(quantity_argument(args, 0)? > quantity_argument(args, 1)?))
}

fn less<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(quantity_argument(args, 0)? < quantity_argument(args, 1)?))
}

fn compare<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(quantity_argument(args, 0)?.cmp(&quantity_argument(args, 1)?) as i64))
}

#[expect(clippy::cast_precision_loss, reason = "the float is approximate by its name")]
fn as_float<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Double(quantity_argument(args, 0)?.nano() as f64 / 1e9))
}

fn as_integer<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let integer = quantity_argument(args, 0)?.as_integer();
    integer.map(Value::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
}

fn is_integer<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(quantity_argument(args, 0)?.as_integer().is_some()))
}

fn add<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let sum = quantity_argument(args, 0)?.add(quantity_argument(args, 1)?);
    Ok(Value::opaque(Opaque::Quantity(sum)))
}

fn sub<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let difference = quantity_argument(args, 0)?.add(quantity_argument(args, 1)?.negated());
    Ok(Value::opaque(Opaque::Quantity(difference)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::value::quantity::UNIT;

    #[test]
    fn only_quantities_without_decimals_are_integers() {
        let integer = |text| CelQuantity::parse(text).and_then(CelQuantity::as_integer);
        for (text, value) in [
            ("2", Some(2)),
            ("-1Gi", Some(-(1 << 30))),
            ("1e3", Some(1000)),
            ("1.5k", Some(1500)),
            ("2.0", None),
            ("1000m", None),
            ("0.5Ki", None),
            ("99Ti", Some(99 << 40)),
            ("1Pi", None),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("1000000000000000000", None),
        ] {
            assert_eq!(integer(text), value, "{text}");
        }
        let half = CelQuantity::parse("500m");
        assert_eq!(half.and_then(|half| half.add(half).as_integer()), None);
    }

    #[test]
    fn parses_quantities_like_kubernetes() {
        let nano = |text| CelQuantity::parse(text).map(CelQuantity::nano);
        for (text, value) in [
            ("1", Some(UNIT)),
            ("500m", Some(UNIT / 2)),
            ("-1.5Gi", Some(-(UNIT << 30) * 3 / 2)),
            ("1e3", Some(UNIT * 1000)),
            ("0.1n", Some(1)),
            ("1024Mi", Some(UNIT << 30)),
            (".5", Some(UNIT / 2)),
            ("", None),
            ("1.2.3", None),
            ("5Kb", None),
            ("abc", None),
            ("1e-2147483648", Some(1)),
            ("1e2147483647", None),
        ] {
            assert_eq!(nano(text), value, "{text}");
        }
    }

    #[test]
    fn sums_and_differences_do_not_overflow() {
        let least = CelQuantity::parse("-9999999999999999999999999999999999999G").unwrap();
        let sum = least.add(least);
        assert_eq!((sum.nano(), sum.negated().nano()), (i128::MIN, i128::MAX));
        let capped = CelQuantity::parse("9Ei").unwrap().nano();
        assert_eq!(capped, i128::from(i64::MAX) * UNIT, "larger amounts become the largest one");
    }
}
