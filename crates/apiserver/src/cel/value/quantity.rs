//! Resource quantities.

use std::cmp::Ordering;

/// A resource quantity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CelQuantity {
    /// The value, in billionths.
    nano: i128,
    /// Whether Go keeps it in a form that is no integer to it, not even for `2.0`: at the scale of its decimals or of a
    /// suffix such as `m`, or as a big number.
    is_fraction: bool,
}

/// One, in billionths.
pub(crate) const UNIT: i128 = 1_000_000_000;
/// The largest amount with a binary suffix, in billionths; larger ones become this one.
const MOST: i128 = i64::MAX as i128 * UNIT;
/// The number of decimal digits that always fit into Go's small form (`maxInt64Factors`).
const SMALL_DIGITS: usize = 18;
/// The largest exponent that is read.
const LARGEST_EXPONENT: i64 = 1_000_000;
/// Suffixes and their factors, in billionths.
const SUFFIXES: [(&str, i128); 16] = [
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("", UNIT),
    ("k", UNIT * 1_000),
    ("M", UNIT * 1_000_000),
    ("G", UNIT * 1_000_000_000),
    ("T", UNIT * 1_000_000_000_000),
    ("P", UNIT * 1_000_000_000_000_000),
    ("E", UNIT * 1_000_000_000_000_000_000),
    ("Ki", UNIT << 10),
    ("Mi", UNIT << 20),
    ("Gi", UNIT << 30),
    ("Ti", UNIT << 40),
    ("Pi", UNIT << 50),
    ("Ei", UNIT << 60),
];

impl CelQuantity {
    /// Parses a quantity (`resource.ParseQuantity`). Parts below a billionth are rounded up.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let mut factor = SUFFIXES.iter().find(|(name, _)| *name == suffix).map(|(_, factor)| *factor);
        let mut shift = 0;
        if factor.is_none() {
            shift = i64::from(suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?);
            factor = Some(UNIT);
        }
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        // Go computes the power of ten, which takes forever.
        if shift > LARGEST_EXPONENT {
            return None;
        }
        let digits_after_point = i64::try_from(fraction.len()).ok()? - shift;
        let mut scale = digits_after_point;
        let mut value: i128 =
            if significant.is_empty() { 0 } else { significant.parse().unwrap_or(i128::MAX) };
        value = value.saturating_mul(factor?);
        while scale < 0 && value != 0 && value < i128::MAX {
            value = value.saturating_mul(10);
            scale += 1;
        }
        let mut inexact = false;
        while scale > 0 && value != 0 {
            inexact = inexact || value % 10 != 0;
            value /= 10;
            scale -= 1;
        }
        // Binary suffixes multiply the digits, decimal ones move the point.
        let decimals = digits_after_point - exponent(suffix);
        let is_big = !is_small(whole.trim_start_matches('0'), fraction, suffix);
        let most = if suffix.ends_with('i') { MOST } else { i128::MAX };
        let nano = sign * value.saturating_add(i128::from(inexact)).min(most);
        Some(Self { nano, is_fraction: decimals > 0 || is_big })
    }

    /// A whole number.
    pub(crate) fn whole(number: i64) -> Self {
        Self { nano: i128::from(number) * UNIT, is_fraction: false }
    }

    /// The whole number, if it is written as one (`AsInt64`).
    pub(crate) fn as_integer(self) -> Option<i64> {
        (!self.is_fraction).then(|| i64::try_from(self.nano / UNIT).ok()).flatten()
    }

    /// The value, in billionths.
    pub(crate) fn nano(self) -> i128 {
        self.nano
    }

    /// The sum. A zero takes the scale of the other summand.
    pub(crate) fn add(self, other: Self) -> Self {
        let is_fraction = match (self.nano, other.nano) {
            (_, 0) => self.is_fraction,
            (0, _) => other.is_fraction,
            _ => self.is_fraction || other.is_fraction,
        };
        Self { nano: self.nano.saturating_add(other.nano), is_fraction }
    }

    /// The quantity with the other sign.
    pub(crate) fn negated(self) -> Self {
        Self { nano: self.nano.saturating_neg(), ..self }
    }
}

/// Whether Go keeps a quantity as a small number, by its digits and its suffix (`ParseQuantity`).
fn is_small(whole: &str, fraction: &str, suffix: &str) -> bool {
    let Some(place) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix) else {
        return whole.len() + fraction.len() <= SMALL_DIGITS;
    };
    // A suffix takes about three digits for each ten powers of two, and Go reserves one more.
    let reserved = (place + 1) * 3 + 1;
    fraction.is_empty() && whole.len() + reserved <= 15
}

/// The power of ten of a decimal suffix.
fn exponent(suffix: &str) -> i64 {
    match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => 0,
    }
}

impl PartialEq for CelQuantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for CelQuantity {}

impl PartialOrd for CelQuantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CelQuantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}
