//! Resource quantities.

/// A resource quantity, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CelQuantity(pub(crate) i128);

/// One, in billionths.
pub(crate) const UNIT: i128 = 1_000_000_000;
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
            shift = suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
            factor = Some(UNIT);
        }
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        let mut value: i128 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
        let mut scale = i32::try_from(fraction.len()).ok()? - shift;
        value = value.checked_mul(factor?)?;
        while scale < 0 && value != 0 {
            value = value.checked_mul(10)?;
            scale += 1;
        }
        let mut inexact = false;
        while scale > 0 && value != 0 {
            inexact = inexact || value % 10 != 0;
            value /= 10;
            scale -= 1;
        }
        Some(Self(sign * (value + i128::from(inexact))))
    }

    /// The whole number, if it is one.
    pub(crate) fn as_integer(self) -> Option<i64> {
        (self.0 % UNIT == 0).then(|| i64::try_from(self.0 / UNIT).ok()).flatten()
    }
}
