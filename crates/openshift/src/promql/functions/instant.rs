//! Functions of the samples of one moment.

use crate::promql::Sample;
use crate::promql::Value;
use crate::promql::sample::nameless;

/// # Errors
/// Equal labels in the result, or an unknown function.
pub(super) fn call(
    name: &str,
    mut samples: Vec<Sample>,
    parameters: &[Value],
) -> Result<Vec<Sample>, String> {
    if matches!(name, "sort" | "sort_desc") {
        samples.sort_by(|a, b| {
            let order = a.value.total_cmp(&b.value);
            let order = if name == "sort_desc" { order.reverse() } else { order };
            a.value.is_nan().cmp(&b.value.is_nan()).then(order)
        });
        return Ok(samples);
    }
    let numbers = super::numbers(parameters);
    if let ("clamp", [lowest, highest]) = (name, numbers.as_slice())
        && lowest > highest
    {
        return Ok(Vec::new());
    }
    let function =
        function(name, &numbers).ok_or_else(|| format!("{name} does not support these arguments"))?;
    nameless(samples, function)
}

/// The function of one number.
type Function = Box<dyn Fn(f64) -> f64>;

fn function(name: &str, parameters: &[f64]) -> Option<Function> {
    let number = |place: usize| parameters.get(place).copied();
    Some(match name {
        "clamp" => {
            let (lowest, highest) = (number(0)?, number(1)?);
            Box::new(move |value| least(greatest(value, lowest), highest))
        }
        "clamp_min" => {
            let lowest = number(0)?;
            Box::new(move |value| greatest(value, lowest))
        }
        "clamp_max" => {
            let highest = number(0)?;
            Box::new(move |value| least(value, highest))
        }
        "round" => {
            // The reciprocal keeps multiples of decimal fractions exact.
            let per_unit = 1.0 / number(0).unwrap_or(1.0);
            Box::new(move |value| (value * per_unit + 0.5).floor() / per_unit)
        }
        _ => Box::new(of_one(name)?),
    })
}

/// The larger number; NaN if either is.
fn greatest(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.max(other) }
}

/// The smaller number; NaN if either is.
fn least(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.min(other) }
}

/// The functions without further arguments.
fn of_one(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => f64::acosh,
        "asin" => f64::asin,
        "asinh" => f64::asinh,
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => f64::to_degrees,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "rad" => f64::to_radians,
        "sgn" => |value| {
            if value > 0.0 {
                1.0
            } else if value < 0.0 {
                -1.0
            } else {
                value
            }
        },
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}
