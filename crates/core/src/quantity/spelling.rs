//! The spelling of a quantity: how Go holds the amount, and whether it keeps the text (`resource.ParseQuantity`).

use super::{Format, read_suffix};

/// The most digits that always fit in 64 bits.
const DIGITS: usize = 18;

/// The form in which Go holds a quantity, by its text.
pub(super) struct Spelling {
    /// The digits without the leading zeros of the integer; `None` if the amount is a big decimal.
    digits: Option<String>,
    /// The power of ten, or of two for a binary suffix.
    power: i32,
    format: Format,
}

/// Reads the spelling of a valid quantity.
pub(super) fn of(text: &str) -> Spelling {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (format, ten, binary) = read_suffix(suffix).unwrap_or((Format::Decimal, 0, 0));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    if format == Format::Binary {
        let power = binary * 10;
        let length = whole.len() + (power * 3 / 10) as usize;
        let is_small = fraction.is_empty() && length < 15;
        return Spelling { digits: is_small.then(|| whole.to_owned()), power: power.cast_signed(), format };
    }
    let power = ten.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
    let is_small = whole.len() + fraction.len() <= DIGITS && power >= -9;
    Spelling { digits: is_small.then(|| format!("{whole}{fraction}")), power, format }
}

impl Spelling {
    /// Whether Go holds the amount as a big decimal.
    pub(super) fn is_big(&self) -> bool {
        self.digits.is_none()
    }

    /// Whether Go writes the text again as it was given.
    pub(super) fn is_kept(&self) -> bool {
        let Some(digits) = &self.digits else { return false };
        if self.format == Format::Binary {
            return self.power % 10 == 0 && digits.parse().is_ok_and(|number: u64| !number.is_multiple_of(8));
        }
        self.power % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
    }
}
