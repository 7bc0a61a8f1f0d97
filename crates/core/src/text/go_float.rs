//! Formats floating-point numbers like Go, with the fewest digits that identify the number.

/// Formats like `%v`: with an exponent below 1e-4 and from 1e21 on.
pub fn format_v(value: f64) -> String {
    written(value, 1e21)
}

/// Formats like `strconv.FormatFloat(value, 'g', -1, 64)`: with an exponent below 1e-4 and from 1e6 on.
pub fn format_g(value: f64) -> String {
    written(value, 1e6)
}

fn written(value: f64, exponent_from: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..exponent_from).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |positive| ('-', positive));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_exponents_in_the_same_range_as_go() {
        for (value, as_general, as_plain) in [
            (0.0, "0", "0"),
            (0.5, "0.5", "0.5"),
            (999_999.0, "999999", "999999"),
            (1e6, "1e+06", "1000000"),
            (1_705_305_613.0, "1.705305613e+09", "1705305613"),
            (1e21, "1e+21", "1e+21"),
            (0.000_05, "5e-05", "5e-05"),
            (-2e22, "-2e+22", "-2e+22"),
        ] {
            assert_eq!((format_g(value).as_str(), format_v(value).as_str()), (as_general, as_plain));
        }
    }
}
