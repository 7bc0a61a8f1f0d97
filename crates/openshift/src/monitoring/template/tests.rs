//! Tests of templates.

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use super::expand;
use crate::monitoring::metrics::Moment;
use crate::promql::{NAME, Sample};

fn sample(labels: &[(&str, &str)], value: f64) -> Sample {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Sample { labels, value }
}

fn expanded(template: &str, value: f64) -> String {
    let view = View::default();
    let given = [
        sample(&[(NAME, "fruit"), ("name", "apple")], 3.0),
        sample(&[(NAME, "fruit"), ("name", "pear")], 0.0),
    ];
    let moment = Moment { given: &given, ..Moment::of(&view, Time::constant(1_704_067_200, 0)) };
    expand(template, &sample(&[("name", "version"), ("reason", "Slow")], value), &moment)
}

#[test]
fn values_labels_and_queries_are_inserted() {
    for (template, text) in [
        ("{{ $labels.name }} {{$labels.none}}is {{ $value }}", "version is 2"),
        ("{{ .Labels.reason }} {{ .Value }}", "Slow 2"),
        ("{{ query \"fruit == 3\" | first | label \"name\" }}", "apple"),
        ("{{ query `fruit{name=\"pear\"}` | first | value }}", "0"),
        ("{{ query \"vegetable\" | first | label \"name\" }}!", "!"),
        ("{{ with query \"fruit > 5\" }}many{{ else }}few{{ end }}", "few"),
        ("{{ with $found := \"fruit\" | query }}{{ len $found }}{{ end }}", "2"),
        ("{{ range query \"fruit\" }}{{ .Labels.name }}={{ .Value }} {{ end }}", "apple=3 pear=0 "),
        (
            "{{ range $at, $one := \"fruit\" | query }}{{ $at }}{{ label \"name\" $one }}{{ end }}",
            "0apple1pear",
        ),
        ("a {{- \" b \" -}} c", "a b c"),
        ("{{ $x := 3 }}{{ if gt $x 2.5 }}{{ $x }}{{ end }}", "3"),
        ("{{ \"{{ $value }}\" }}", "{{ $value }}"),
    ] {
        assert_eq!(expanded(template, 2.0), text, "{template}");
    }
}

#[test]
fn conditions_select_a_branch() {
    let template = "{{ if eq $labels.name \"version\" }}oc adm upgrade{{ else if $labels.name }}oc get{{ else }}?{{ end }}.";
    assert_eq!(expanded(template, 1.0), "oc adm upgrade.");
    assert_eq!(expanded(&template.replace("\"version\"", "\"dns\" \"etcd\""), 1.0), "oc get.");
    assert_eq!(expanded(&template.replace("$labels.name", "$labels.none"), 1.0), "?.");
    let nested = "{{ with $url := \"fruit\" | query }}{{ if ne (len (label \"name\" (first $url ) ) ) 0}} or \
                  {{ label \"name\" (first $url ) }}{{ end }}{{ end }}";
    assert_eq!(expanded(nested, 1.0), " or apple");
    let ranged = "{{ range $one := query \"fruit\" }}{{ if and (eq (label \"name\" $one) \"pear\") \
                  (eq (value $one) 0.0) }}{{ label \"name\" $one }}.{{ end }}{{ end }}";
    assert_eq!(expanded(ranged, 1.0), "pear.");
}

#[test]
fn numbers_are_shown_as_prometheus_shows_them() {
    for (function, value, text) in [
        ("humanizeDuration", 0.0, "0s"),
        ("humanizeDuration", 0.0125, "12.5ms"),
        ("humanizeDuration", 59.5, "59.5s"),
        ("humanizeDuration", 3661.0, "1h 1m 1s"),
        ("humanizeDuration", -93_784.0, "-1d 2h 3m 4s"),
        ("humanizeTimestamp", 1_704_067_200.0, "2024-01-01 00:00:00 +0000 UTC"),
        ("humanizePercentage", 0.12345, "12.35%"),
        ("humanize", 1_234_567.0, "1.235M"),
        ("humanize", 0.5, "500m"),
        ("humanize", 999.0, "999"),
        ("humanize1024", 1_048_576.0, "1Mi"),
        ("humanize1024", 0.5, "0.5"),
    ] {
        assert_eq!(expanded(&format!("{{{{ $value | {function} }}}}"), value), text, "{function} {value}");
    }
}

#[test]
fn what_is_not_understood_stays_as_it_is() {
    for template in [
        "{{ pathPrefix }} {{ $unknown }}",
        "{{ if pathPrefix }}a{{ else }}b{{ end }}",
        "{{ if $value }}open",
        "{{ end }}",
        "{{ $value",
        "{{ $value | humanizeDuration 3 }}",
        "{{ query \"fruit ==\" }}",
        "{{ ( $value }} {{ eq $value }} {{ }} {{ | }} {{ $ }} {{ $value | \"a\" }}",
        "{{ range $value }}{{ end }}",
    ] {
        assert_eq!(expanded(template, 1.0), template);
    }
    let deep = format!("{{{{ {}$value{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(expanded(&deep, 1.0), deep);
    assert_eq!(expanded("{{ $value }} {{ pathPrefix }}", 1.0), "1 {{ pathPrefix }}");
}
