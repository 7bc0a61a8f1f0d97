//! Tests of quantities: their spelling, order and values.

use super::*;

#[test]
fn formats_quantities_canonically() {
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
        ("+3", "+3"),
        ("5.", "5."),
        ("1E3", "1E3"),
        ("+1Mi", "+1Mi"),
        ("005", "005"),
        ("1E4", "10e3"),
        ("+8Gi", "8Gi"),
        ("+1Ei", "1Ei"),
        ("+0", "0"),
        ("Gi", "0"),
        ("-.", "0"),
        ("+0.5", "500m"),
        ("+1234567890123456789", "1234567890123456789"),
        ("0Gi", "0"),
        ("15500M", "15500M"),
        ("1E", "1E"),
    ] {
        assert_eq!(canonical(text).unwrap(), form, "{text}");
    }
}

#[test]
fn rejects_malformed_quantities_with_the_messages_of_kubernetes() {
    for (text, why) in [
        ("", FORMAT),
        ("x", FORMAT),
        ("Ei", NUMERIC),
        (".Pi", NUMERIC),
        ("e", SUFFIX),
        ("1.2.3", FORMAT),
        ("1 Gi", FORMAT),
        ("1GiB", FORMAT),
        ("1mm", SUFFIX),
    ] {
        assert_eq!(canonical(text).unwrap_err(), why, "{text}");
    }
}

#[test]
fn quantities_out_of_range_stay_unchanged() {
    for text in ["1e2147483647", "1e-2147483648", "1e41"] {
        assert_eq!(canonical(text).unwrap(), text);
    }
}

#[test]
fn values_beyond_64_bits_are_those_of_go() {
    let value = |text: &str| Quantity::parse(text).unwrap().unwrap().value();
    assert_eq!(value("1.5"), 2);
    assert_eq!(value("100e18"), 0);
    assert_eq!(value("9223372036854775808"), i64::MIN);
    assert_eq!(Quantity::parse("1.5").unwrap().unwrap().milli_value(), 1500);
}

#[test]
fn rounds_up_to_thousandths() {
    let round = |text: &str| Quantity::parse(text).unwrap().unwrap().in_thousandths().text();
    assert_eq!(round("0.0001"), "1m");
    assert_eq!(round("1Gi"), "1Gi");
}

#[test]
fn amounts_at_the_ends_of_the_range_have_a_text() {
    let quantity = |text: &str| Quantity::parse(text).unwrap().unwrap();
    let (most, least) =
        (quantity("170141183460469231731687303715"), quantity("-170141183460469231731687303715"));
    assert_eq!(least.minus(most).text(), "-170141183460469231731687303715884105728n");
    let most = most.plus(most);
    assert_eq!(most.text(), "170141183460469231731687303715884105727n");
    assert_eq!(most.rounded_up().text(), most.text());
    assert_eq!(most.in_thousandths().text(), most.text());
}
