//! Absolute or relative numbers like `maxUnavailable` and `minAvailable` (`IntOrString`).

use serde_json::Value;

/// An absolute number, or a percentage of `all`, rounded up or down.
///
/// # Errors
/// The text is not a percentage.
pub(super) fn resolve_int_or_percent(value: &Value, all: i64, up: bool) -> Result<i64, String> {
    if let Some(number) = value.as_i64() {
        return Ok(number);
    }
    let text = value.as_str().unwrap_or_default();
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<i64>().ok());
    let percent = percent.ok_or_else(|| "invalid type: string is not a percentage".to_owned())?;
    Ok((percent.saturating_mul(all) + if up { 99 } else { 0 }).div_euclid(100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percentages_are_rounded_and_numbers_are_not() {
        let check = |value: Value, up, expected| {
            assert_eq!(resolve_int_or_percent(&value, 3, up), Ok(expected), "{value}");
        };
        check(json!("50%"), true, 2);
        check(json!("50%"), false, 1);
        check(json!("0%"), true, 0);
        check(json!("100%"), false, 3);
        check(json!("1%"), true, 1);
        check(json!(7), true, 7);
        assert!(resolve_int_or_percent(&json!("x"), 3, true).is_err());
    }
}
