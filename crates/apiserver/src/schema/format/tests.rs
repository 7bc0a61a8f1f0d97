//! Texts that each format accepts and rejects.

use super::*;

fn check(name: &str, good: &[&str], bad: &[&str]) {
    let format = NamedFormat::find(name).unwrap_or_else(|| panic!("{name} is no format")).format;
    for text in good {
        assert!(format.accepts(text), "{name} takes {text:?}");
    }
    for text in bad {
        assert!(!format.accepts(text), "{name} refuses {text:?}");
    }
}

#[test]
fn dates_times_and_durations() {
    let good = [
        "2024-01-02T03:04:05.123+02:00",
        "2024-01-02t03:04:05z",
        "2024-02-29T23:59:59Z",
        "2024-01-02T03:04:05+99:99",
    ];
    let bad = [
        "2024-01-02",
        "2024-01-02 03:04:05Z",
        "2024-01-02T24:00:00Z",
        "2024-01-02T03:04:60Z",
        "2023-02-29T00:00:00Z",
        "",
    ];
    check("date-time", &good, &bad);
    check("datetime", &good, &bad);
    check("date", &["2024-02-29"], &["2023-02-29", "2024-1-2", "20240102", "2024-W01-1", ""]);
    check(
        "duration",
        &["1h30m", "-1.5h", "0", "22 ns", "3 days", "1 week", "2 Hours", "x 5 minutes"],
        &["", "5", "bad", "3 years"],
    );
}

#[test]
fn internet_names_and_addresses() {
    check(
        "uri",
        &["http://a.b/c?d#e", "/only/a/path", "mailto:x@y"],
        &["", "a/b", "http://[::1", ":x", "//\u{1}"],
    );
    check(
        "hostname",
        &["a", "a-b", "example.com", "1.example.com", "a-b.example", "☃.net"],
        &["", "-a", "ab-c", "a.b", "a.example1", "a..com", "x_y.com", "a.com."],
    );
    check(
        "ipv4",
        &["1.2.3.4", "01.02.003.4", "::ffff:1.2.3.4"],
        &["1.2.3.256", "1.2.3", "::1", "1.2.3.4.5", "1..2.3"],
    );
    check("ipv6", &["::1", "::ffff:1.2.3.4", "FE80::1"], &["1.2.3.4", "::1%eth0", "1::2::3", ""]);
    check(
        "cidr",
        &["10.0.0.0/8", "010.0.0.0/08", "::/0", "::ffff:1.2.3.4/128"],
        &["10.0.0.1/33", "10.0.0.1", "10.0.0.1/+8", "::/129", "1.2.3/8"],
    );
    check(
        "mac",
        &["01:23:45:67:89:ab", "01-23-45-67-89-AB-cd-ef", "0123.4567.89ab", "0123.4567.89ab.cdef"],
        &["01:23:45:67:89", "01:23-45:67:89:ab", "0123456789ab", "0g:23:45:67:89:ab"],
    );
    check(
        "email",
        &["a@b", "Bob <bob@example.com>", "\"a b\"@c.d", "a.b+c@d", "a@b (remark)", "a@[1.2.3.4]"],
        &["", "a", "a@", "@b", "a b@c", ".a@b", "a..b@c", "a@b, c@d", "<a@b", "\"\"@b"],
    );
}

#[test]
fn kubernetes_names_are_enforced_since_1_35() {
    let long = "a".repeat(64);
    check("k8s-short-name", &["a", "a-1", "1"], &["", "A", "a.b", "-a", "a-", &long]);
    check("k8s-long-name", &["a", "a.b-c.1", &long], &["", "A.b", "a..b", "a.-b", &"a.".repeat(127)]);
    let since =
        |name: &str| (24..=36).find(|minor| NamedFormat::find(name).unwrap().format.is_enforced_by(*minor));
    assert_eq!(
        (since("k8s-short-name"), since("k8s-long-name"), since("uuid")),
        (Some(35), Some(35), Some(24))
    );
}

#[test]
fn numbers_and_codes() {
    check("byte", &["aGVsbG8=", "YQ==", "++//"], &["aGVsbG8", "", "a===", "-_-_", "YQ==YQ=="]);
    check("password", &["", "anything"], &[]);
    check(
        "bsonobjectid",
        &["507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011"],
        &["", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
    );
    check(
        "isbn10",
        &["0321751043", "0-8044-2957-X", "0 321 75104 3"],
        &["0321751044", "978-0321751041", "080442957x", ""],
    );
    check("isbn13", &["978-0321751041", "9780321751041"], &["978-0321751042", "0321751043"]);
    check("isbn", &["0321751043", "978-0321751041"], &["0321751044", "x"]);
    check(
        "creditcard",
        &["4111-1111-1111-1111", "4111 1111 1111 1111", "5555555555554444", "371449635398431"],
        &["4111-1111-1111-1112", "9111111111111111", ""],
    );
    check("ssn", &["111-22-3333", "111 22 3333"], &["111223333", "111-22-333", "111-22-33333", ""]);
    check("hexcolor", &["#fff", "FFFFFF", "#aB1"], &["#ffff", "fffg", "##fff", ""]);
    check(
        "rgbcolor",
        &["rgb(0,255,9)", "rgb( 1 , 2 ,3 )"],
        &["rgb(256,0,0)", "rgb(01,2,3)", "rgb(1,2)", "rgb (1,2,3)", "rgb(+1,2,3)", "1,2,3"],
    );
}

#[test]
fn uuids_need_their_version_and_variant() {
    let uuid = |version: &str, variant: &str| format!("123e4567-e89b-{version}2d3-{variant}456-426614174000");
    let (v1, v3, v4, v5) = (uuid("1", "a"), uuid("3", "1"), uuid("4", "B"), uuid("5", "8"));
    check(
        "uuid",
        &[&v1, &v3, &v4, &v1.to_uppercase(), &v1.replace('-', ""), &v1.replacen('-', "", 1)],
        &["123", "", &format!("{v1}0"), &v1.replace('1', "g"), &v1.replacen('-', "--", 1)],
    );
    check("uuid3", &[&v3, &uuid("3", "a")], &[&v1, &v4]);
    check("uuid4", &[&v4], &[&v1, &uuid("4", "1"), &v5]);
    check("uuid5", &[&v5], &[&v4, &uuid("5", "c")]);
}

#[test]
fn formats_of_numbers_are_enforced_since_1_36_and_unknown_ones_never() {
    for name in ["int32", "int64", "float", "double"] {
        let format = NamedFormat::find(name).unwrap().format;
        assert_eq!((24..=36).find(|minor| format.is_enforced_by(*minor)), Some(36), "{name}");
    }
    for name in ["nonsense", "uint8", ""] {
        assert!(NamedFormat::find(name).is_none(), "{name}");
    }
}
