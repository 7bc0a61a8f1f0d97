//! Quantities (`resource.Quantity`) such as `500m`, `1Gi` and `2e3`: their order and their canonical form.

mod spelling;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
const NUMERIC: &str = "unable to parse numeric part of quantity";
/// Decimal suffixes and their powers of ten.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// Binary suffixes; each is 1024 times the previous one.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Billionths, the smallest unit, in one.
const NANOS: i128 = 1_000_000_000;

/// An amount, and the format that it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    nanos: i128,
    format: Format,
    /// Go holds it as a big decimal, not as a 64-bit number with a power of ten.
    is_big: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// Returns the form in which Go writes a quantity: its own spelling if `ParseQuantity` takes that for
/// canonical, such as `+1`, `5.` and `1E3`; otherwise the canonical form.
///
/// # Errors
/// The message of `resource.ParseQuantity`.
pub fn canonical(text: &str) -> Result<String, String> {
    let parsed = Quantity::parse(text)?;
    // Quantities out of range stay unchanged.
    Ok(match parsed {
        Some(quantity) if !spelling::of(text).is_kept() => quantity.text(),
        _ => text.to_owned(),
    })
}

impl Quantity {
    /// Parses a quantity; `None` if it is out of range.
    ///
    /// # Errors
    /// The message of `resource.ParseQuantity`.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_suffix = suffix.bytes().all(|b| b"eEinumkKMGTP+-0123456789".contains(&b));
        if fraction.contains('.') || !is_suffix || text.is_empty() {
            return Err(FORMAT.to_owned());
        }
        let (format, ten, binary) = read_suffix(suffix).ok_or(SUFFIX)?;
        let spelling = spelling::of(text);
        // Go takes missing digits for a zero, unless a big decimal has to parse them.
        if (number.is_empty() || number == ".") && spelling.is_big() {
            return Err(NUMERIC.to_owned());
        }
        let mut power = ten.saturating_add(9);
        let mut nanos: i128 = 0;
        let digits = whole.len().saturating_add(fraction.len());
        if digits > 30 || !(-40..=40).contains(&power) {
            return Ok(None);
        }
        for digit in whole.bytes().chain(fraction.bytes()) {
            nanos = nanos * 10 + i128::from(digit - b'0');
        }
        power -= i32::try_from(fraction.len()).unwrap_or(0);
        let Some(mut nanos) = 1024_i128.checked_pow(binary).and_then(|factor| nanos.checked_mul(factor))
        else {
            return Ok(None);
        };
        while power > 0 {
            let Some(more) = nanos.checked_mul(10) else { return Ok(None) };
            nanos = more;
            power -= 1;
        }
        while power < 0 {
            // Amounts finer than a billionth are rounded up.
            nanos = nanos / 10 + i128::from(nanos % 10 != 0);
            power += 1;
        }
        let is_big = spelling.is_big();
        Ok(Some(Self { nanos: if negative { -nanos } else { nanos }, format, is_big }))
    }

    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: Format::Decimal, is_big: false };
    /// One.
    pub const ONE: Self = Self { nanos: NANOS, format: Format::Decimal, is_big: false };

    /// The quantity of an integer.
    pub fn whole(number: i64) -> Self {
        Self { nanos: i128::from(number) * NANOS, format: Format::Decimal, is_big: false }
    }

    /// The sum, in the format of `self` unless that is zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format, is_big: self.is_big || other.is_big }
    }

    /// The difference, in the format of `self`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos), ..self }
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is less than another one.
    pub fn is_less(self, other: Self) -> bool {
        self.nanos < other.nanos
    }

    /// Whether it is more than another one.
    pub fn is_more(self, other: Self) -> bool {
        self.nanos > other.nanos
    }

    /// Converts the quantity to a floating-point number, for ratios.
    #[expect(clippy::cast_precision_loss, reason = "ratios are printed with six digits")]
    pub fn number(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// Whether it is less than zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Compares two amounts; their formats do not matter.
    pub fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// Whether it is an integer.
    pub fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }

    /// The integer that is not less (`Value`).
    #[must_use]
    pub fn whole_above(self) -> i128 {
        self.nanos.div_euclid(NANOS) + i128::from(self.nanos.rem_euclid(NANOS) != 0)
    }

    /// The integer that is not less, as Go's 64-bit `Value` returns it: too large ones wrap, or are 0.
    pub fn value(self) -> i64 {
        self.narrow(self.whole_above())
    }

    /// The thousandths, rounded up, as Go's 64-bit `MilliValue` returns them.
    pub fn milli_value(self) -> i64 {
        const MILLI: i128 = NANOS / 1000;
        self.narrow(self.nanos.div_euclid(MILLI) + i128::from(self.nanos.rem_euclid(MILLI) != 0))
    }

    #[expect(clippy::cast_possible_truncation, reason = "Go takes the low 64 bits as well")]
    fn narrow(self, number: i128) -> i64 {
        if self.is_big { number as i64 } else { i64::try_from(number).unwrap_or(0) }
    }

    /// Whether it is a whole number of times another one, both rounded up to integers.
    pub fn is_multiple_of(self, other: Self) -> bool {
        let unit = other.whole_above();
        unit != 0 && self.whole_above() % unit == 0
    }

    /// Rounds up to an integer.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        Self { nanos: self.whole_above().saturating_mul(NANOS), ..self }
    }

    /// Rounds up to thousandths.
    #[must_use]
    pub fn in_thousandths(self) -> Self {
        const MILLI: i128 = NANOS / 1000;
        let up = i128::from(self.nanos > 0 && self.nanos % MILLI != 0);
        Self { nanos: (self.nanos / MILLI + up).saturating_mul(MILLI), ..self }
    }

    /// The canonical form.
    pub fn text(self) -> String {
        let small = self.nanos.unsigned_abs() < 1024 * NANOS.unsigned_abs();
        if self.format == Format::Binary && !small && self.is_whole() {
            let (mut number, mut suffix) = (self.nanos / NANOS, "");
            for name in BINARY {
                if number % 1024 != 0 {
                    break;
                }
                number /= 1024;
                suffix = name;
            }
            return format!("{number}{suffix}");
        }
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let (mut number, mut power) = (self.nanos, -9);
        while number % 10 == 0 {
            number /= 10;
            power += 1;
        }
        while power % 3 != 0 || power > 18 {
            number *= 10;
            power -= 1;
        }
        match DECIMAL.iter().find(|(_, ten)| *ten == power) {
            Some(_) if self.format == Format::Exponent && power != 0 => format!("{number}e{power}"),
            Some((suffix, _)) => format!("{number}{suffix}"),
            None => number.to_string(),
        }
    }
}

/// The format, power of ten and power of 1024 of a suffix.
fn read_suffix(suffix: &str) -> Option<(Format, i32, u32)> {
    if let Some((_, ten)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::Decimal, *ten, 0));
    }
    if let Some(index) = BINARY.iter().position(|name| *name == suffix) {
        return Some((Format::Binary, 0, u32::try_from(index).ok()? + 1));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Format::Exponent, exponent.parse().ok()?, 0))
}
