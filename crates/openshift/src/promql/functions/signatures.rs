//! The functions with the types of their arguments and results.

use std::fmt;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::promql) enum Kind {
    Scalar,
    Vector,
    Range,
    Text,
}

/// The name of the type in Prometheus.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Range => "range vector",
            Self::Text => "string",
        })
    }
}

/// The types of a function.
#[derive(Debug)]
pub(in crate::promql) struct Signature {
    /// The arguments. If the function takes more, they have the type of the last one.
    pub(in crate::promql) arguments: &'static [Kind],
    pub(in crate::promql) minimum: usize,
    /// `None` for any number.
    pub(in crate::promql) maximum: Option<usize>,
    pub(in crate::promql) returns: Kind,
}

use Kind::{Range, Scalar, Text, Vector};

const fn exactly(arguments: &'static [Kind]) -> Signature {
    Signature { arguments, minimum: arguments.len(), maximum: Some(arguments.len()), returns: Vector }
}

const fn optional(arguments: &'static [Kind]) -> Signature {
    Signature { minimum: arguments.len() - 1, ..exactly(arguments) }
}

/// Returns the types of a function; `None` if there is no such function.
pub(in crate::promql) fn signature(name: &str) -> Option<Signature> {
    Some(match name {
        "time" | "pi" => Signature { returns: Scalar, ..exactly(&[]) },
        "scalar" => Signature { returns: Scalar, ..exactly(&[Vector]) },
        "vector" => exactly(&[Scalar]),
        "abs" | "absent" | "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "ceil" | "cos"
        | "cosh" | "deg" | "exp" | "floor" | "ln" | "log10" | "log2" | "rad" | "sgn" | "sin" | "sinh"
        | "sort" | "sort_desc" | "sqrt" | "tan" | "tanh" | "timestamp" => exactly(&[Vector]),
        "clamp" => exactly(&[Vector, Scalar, Scalar]),
        "clamp_max" | "clamp_min" => exactly(&[Vector, Scalar]),
        "round" => optional(&[Vector, Scalar]),
        "day_of_month" | "day_of_week" | "day_of_year" | "days_in_month" | "hour" | "minute" | "month"
        | "year" => optional(&[Vector]),
        "histogram_quantile" => exactly(&[Scalar, Vector]),
        "label_replace" => exactly(&[Vector, Text, Text, Text, Text]),
        "label_join" => Signature { maximum: None, ..exactly(&[Vector, Text, Text]) },
        "absent_over_time" | "avg_over_time" | "changes" | "count_over_time" | "delta" | "deriv"
        | "idelta" | "increase" | "irate" | "last_over_time" | "max_over_time" | "min_over_time"
        | "present_over_time" | "rate" | "resets" | "stddev_over_time" | "stdvar_over_time"
        | "sum_over_time" => exactly(&[Range]),
        "predict_linear" => exactly(&[Range, Scalar]),
        "quantile_over_time" => exactly(&[Scalar, Range]),
        _ => return None,
    })
}
