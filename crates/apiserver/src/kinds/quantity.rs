//! Quantities (`resource.Quantity`): `500m`, `1Gi`, `2e3`; their order, and the one form in which the API writes each.

use std::cmp::Ordering;

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
/// Decimal suffixes with the power of ten of each.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// Binary suffixes; each is 1024 times the one before.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The smallest unit that is kept.
const NANOS: i128 = 1_000_000_000;

/// A quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// The canonical form of a text.
///
/// # Errors
/// The words of `resource.ParseQuantity`.
pub(crate) fn canonical(text: &str) -> Result<String, String> {
    // What is beyond the range of quantities stays as it was given.
    Ok(Quantity::parse(text)?.map_or_else(|| text.to_owned(), Quantity::text))
}

impl Quantity {
    /// Reads a quantity; `None` if it is larger than any machine has.
    ///
    /// # Errors
    /// The words of `resource.ParseQuantity`.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, String> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_suffix = suffix.bytes().all(|b| b"eEinumkKMGTP+-0123456789".contains(&b));
        if number.is_empty() || number == "." || fraction.contains('.') || !is_suffix {
            return Err(FORMAT.to_owned());
        }
        let (format, ten, binary) = read_suffix(suffix).ok_or(SUFFIX)?;
        let mut power = ten + 9;
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
            // What is finer than a billionth is rounded up.
            nanos = nanos / 10 + i128::from(nanos % 10 != 0);
            power += 1;
        }
        Ok(Some(Self { nanos: if negative { -nanos } else { nanos }, format }))
    }

    pub(crate) const ZERO: Self = Self { nanos: 0, format: Format::Decimal };
    pub(crate) const ONE: Self = Self { nanos: NANOS, format: Format::Decimal };

    /// A whole number of something.
    pub(crate) fn whole(number: i64) -> Self {
        Self { nanos: i128::from(number) * NANOS, format: Format::Decimal }
    }

    /// The sum, in the form of the first unless that is nothing.
    pub(crate) fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos), ..self }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nanos == 0
    }

    pub(crate) fn is_less(self, other: Self) -> bool {
        self.nanos < other.nanos
    }

    pub(crate) fn is_more(self, other: Self) -> bool {
        self.nanos > other.nanos
    }

    /// As a number with a fraction, for ratios.
    #[expect(clippy::cast_precision_loss, reason = "what a ratio is told with has six digits")]
    pub(crate) fn number(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// Whether it is a number without fraction.
    pub(crate) fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }

    /// The same with thousandths as the smallest unit, rounded up.
    pub(crate) fn in_thousandths(self) -> Self {
        const MILLI: i128 = NANOS / 1000;
        let up = i128::from(self.nanos > 0 && self.nanos % MILLI != 0);
        Self { nanos: (self.nanos / MILLI + up) * MILLI, ..self }
    }

    /// The form that the API writes.
    pub(crate) fn text(self) -> String {
        let small = self.nanos.abs() < 1024 * NANOS;
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

/// Format, power of ten and power of 1024 of a suffix.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_has_one_form() {
        for (text, form) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1", "1"),
            ("1000", "1k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("100Ki", "100Ki"),
            ("2e3", "2e3"),
            ("0.0001", "100u"),
            ("0.0000000001", "1n"),
            ("-1500m", "-1500m"),
            ("+3", "3"),
            ("0Gi", "0"),
            ("15500M", "15500M"),
            ("1E", "1E"),
        ] {
            assert_eq!(canonical(text).unwrap(), form, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_in_the_words_of_the_parser() {
        for (text, why) in [
            ("", FORMAT),
            ("x", FORMAT),
            ("1.2.3", FORMAT),
            ("1 Gi", FORMAT),
            ("1GiB", FORMAT),
            ("1mm", SUFFIX),
        ] {
            assert_eq!(canonical(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn resources_are_kept_in_thousandths() {
        let round = |text: &str| Quantity::parse(text).unwrap().unwrap().in_thousandths().text();
        assert_eq!(round("0.0001"), "1m");
        assert_eq!(round("1Gi"), "1Gi");
    }
}
