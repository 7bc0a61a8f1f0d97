//! Single values: paths, quantities, spans, times, versions, patterns.

use semver::Version;
use serde_json::{Value, json};
use windtunnel::plan::{self, FieldPath, LogMatch, TextMatch};
use windtunnel_core::clock::{after, parse_rfc3339, rfc3339, rfc3339_micro};
use windtunnel_core::jsonpath::JsonPath;
use windtunnel_core::quantity::{Quantity, canonical};
use windtunnel_core::selector::{is_valid, selector_matches};
use windtunnel_core::text::{
    clock_time, did_you_mean, go_duration, go_quote, parse_duration, parse_units, short_duration,
};
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::release::{Architecture, Release};

use super::{read_damaged, texts};
use crate::fuzz::checked_server::now;

fn object() -> Value {
    json!({ "metadata": { "name": "a", "annotations": { "a.b/c": "d" } }, "items": [1, -2, "x", null, [true]],
        "status": { "conditions": [{ "type": "Ready", "status": "True", "n": 1.5 }, { "type": "Failing" }] } })
}

#[test]
fn damaged_json_paths() {
    let valid = texts(&[
        ".status.conditions[?(@.type==\"Ready\")].status",
        ".items[-1:0:-2]",
        "..conditions[*]['type','status']",
        ".items[0,2,-1]",
        ".metadata.annotations.a\\.b/c",
        "$.status.conditions[?(@.n > 1 && @.type != $.metadata.name)]",
    ]);
    read_damaged("readers::values::damaged_json_paths", &valid, read_path);
}

/// A JSON path, applied to an object.
fn read_path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(path) = JsonPath::parse(&text) {
        let _ = path.find(&object()).len();
    }
}

/// The most quantities of an input, since each is compared with each.
const WORDS: usize = 20;

#[test]
fn damaged_quantities() {
    let valid = texts(&[
        "1 100m 1.5Gi -2k 0.000000001 1e3 .5",
        "9223372036854775807 -9223372036854775808 12E 8Ei 1n 1u",
        "+1.50 1e-9 999999999999999999999999 0Ki 00.10",
    ]);
    read_damaged("readers::values::damaged_quantities", &valid, read_quantities);
}

/// Quantities, separated by blanks.
fn read_quantities(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed: Vec<Quantity> =
        text.split(' ').take(WORDS).filter_map(|word| Quantity::parse(word).ok().flatten()).collect();
    for (one, word) in parsed.iter().zip(text.split(' ')) {
        let _ =
            (canonical(word), one.text(), one.number(), one.value(), one.milli_value(), one.whole_above());
        let _ = (one.rounded_up().text(), one.in_thousandths().text(), one.is_whole(), one.is_negative());
        for other in &parsed {
            let _ = (one.plus(*other).text(), one.minus(*other).text(), one.compare(*other));
            let _ = one.is_multiple_of(*other);
        }
    }
}

#[test]
fn damaged_spans() {
    let valid = texts(&[
        "90s",
        "1h 30m",
        "2 days",
        "250ms",
        "1h30m2d",
        "2024-01-01T00:00:00.123456789Z",
        "2024-02-29T23:59:60+05:30",
        "PT1H",
    ]);
    read_damaged("readers::values::damaged_spans", &valid, read_span);
}

/// A duration or a time.
fn read_span(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for span in [parse_duration(&text), parse_units(&text)].into_iter().flatten() {
        let _ = (short_duration(span), go_duration(span), clock_time(span));
        let at = after(now(), span);
        let _ = (rfc3339(at), rfc3339_micro(at));
    }
    if let Some(at) = parse_rfc3339(&text) {
        let _ = (rfc3339(at), rfc3339_micro(at));
    }
    let _ = (go_quote::quote(&text), did_you_mean(&text, ["advance", "expect", "update"]));
}

#[test]
fn damaged_versions() {
    let valid = texts(&[
        "4.16.1",
        "4.14.0-rc.1+amd64",
        "4.99.18446744073709551615",
        "5.0.2",
        "amd64",
        "0.0.0-0.nightly-2024-01-01",
    ]);
    read_damaged("readers::values::damaged_versions", &valid, read_version);
}

/// A version of a release, or the name of an architecture.
fn read_version(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Architecture::find(&text).map(Architecture::of_machines);
    let Ok(version) = text.parse::<Version>() else { return };
    let nearest = Release::nearest(&version);
    let _ = (nearest.as_status(), nearest.kubelet_version(), nearest.os_name(), nearest.kernel_version("a"));
    let _ = nearest.line();
    match Release::find(&version) {
        Ok(release) => drop(release.for_architecture(Architecture::Multi).multi_image()),
        Err(error) => drop(error.to_string()),
    }
    let _ = UpdateService::default();
}

#[test]
fn damaged_checks() {
    let valid = texts(&[
        "status.history[0].state",
        "metadata.annotations[\"a.b/c\"]",
        "status.conditions[*].message",
        "/^operator .* degraded$/i",
        "/a(b|c){2,3}/msx",
        r#"{"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "n", "operator": "NotIn", "values":
            ["1"]}]}"#,
        r#"{"matchExpressions": [{"key": "n", "operator": "Exists"}, {"key": "x",
            "operator": "DoesNotExist"}]}"#,
    ]);
    read_damaged("readers::values::damaged_checks", &valid, read_check);
}

/// The path, the pattern or the label selector of a check.
fn read_check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(path) = FieldPath::parse(&text) {
        let written = path.to_string();
        assert!(FieldPath::parse(&written).as_ref() == Ok(&path), "{text:?} is written as {written:?}");
    }
    let _ = (plan::path::validate(&text), plan::path::text_at(&object(), &text));
    let _ = TextMatch::parse(&text).map(|wanted| wanted.fits("The operator is degraded"));
    let _ = LogMatch::parse("default/a", &text);
    if let Ok(selector) = serde_json::from_str::<Value>(&text) {
        let _ = (is_valid(&selector), selector_matches(&selector, &json!({ "app": "a", "n": "2" })));
    }
}
