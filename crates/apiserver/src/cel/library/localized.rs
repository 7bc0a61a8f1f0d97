//! Numbers in the English form that the function `format` gives them.

/// A number with decimals, and with commas between groups of three digits (`%f`).
pub(super) fn fixed(number: f64, precision: usize) -> String {
    special(number).unwrap_or_else(|| {
        let text = format!("{:.precision$}", number.abs());
        let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
        let sign = if number.is_sign_negative() { "-" } else { "" };
        format!("{sign}{}{decimals}", grouped(whole))
    })
}

/// A number in scientific notation (`%e`). A real server uses the precision as the smallest width.
pub(super) fn scientific(number: f64, width: usize) -> String {
    let text = special(number).unwrap_or_else(|| {
        let text = format!("{number:.6e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let sign = if exponent < 0 { "⁻" } else { "" };
        format!("{digits}×10{sign}{}", raised(&format!("{:02}", exponent.abs())))
    });
    format!("{text:>width$}")
}

fn special(number: f64) -> Option<String> {
    match number {
        number if number.is_nan() => Some("NaN".to_owned()),
        number if number == f64::INFINITY => Some("∞".to_owned()),
        number if number == f64::NEG_INFINITY => Some("-∞".to_owned()),
        _ => None,
    }
}

fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Digits as superscripts.
fn raised(digits: &str) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digits.bytes().filter_map(|digit| RAISED.get(usize::from(digit.wrapping_sub(b'0')))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_exponents_are_raised() {
        assert_eq!(fixed(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(fixed(-999.5, 0), "-1,000");
        assert_eq!(scientific(0.000_12, 3), "1.200000×10⁻⁰⁴");
        assert_eq!(scientific(0.0, 6), "0.000000×10⁰⁰");
        assert_eq!(fixed(f64::NEG_INFINITY, 6), "-∞");
    }
}
