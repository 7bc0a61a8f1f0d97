//! The `/metrics` page of the cluster-version operator in the text format of Prometheus.

use std::fmt::Write as _;

use windtunnel_core::View;
use windtunnel_core::clock::Time;
use windtunnel_core::text::go_float;

use super::{Counted, Moment, operator};
use crate::promql::{Sample, SampleCollector};

/// The `Content-Type` of the text format.
pub const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The operator's metrics at a moment, from the cluster's objects and its counters.
pub fn exposition(view: &View, counted: Counted<'_>, now: Time) -> String {
    let moment = Moment { counted, operator_runs: true, ..Moment::of(view, now) };
    let mut families: Vec<&Family> = FAMILIES.iter().collect();
    families.sort_by_key(|(name, ..)| *name);
    let mut text = String::new();
    for (name, kind, help) in families {
        let mut taken = SampleCollector::all();
        operator::collect(name, &moment, &mut taken);
        let mut lines: Vec<String> = taken.into_samples().iter().map(|of| line(name, of)).collect();
        if lines.is_empty() {
            continue;
        }
        lines.sort();
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{}", lines.join("\n"));
    }
    text
}

/// Name, type and help.
type Family = (&'static str, &'static str, &'static str);

/// The metrics that the operator exports itself. `up` is missing because the scraper adds it.
const FAMILIES: &[Family] = &[
    (
        "cluster_version",
        "gauge",
        "Releases of the cluster by type. The value is the start time in seconds since the epoch.",
    ),
    ("cluster_version_available_updates", "gauge", "Number of recommended updates, by channel and upstream."),
    ("cluster_version_capability", "gauge", "Whether each known capability is enabled."),
    (
        "cluster_version_conditional_update_condition_seconds",
        "gauge",
        "Last transition times of the conditions of conditional updates.",
    ),
    (
        "cluster_version_operator_update_retrieval_timestamp_seconds",
        "gauge",
        "Time of the last successful retrieval of updates.",
    ),
    (operator::PAYLOAD, "gauge", "Numbers of applied and pending manifests of the payload."),
    ("cluster_version_risk_conditions", "gauge", "Whether risks of updates apply: 1, 0, or -1 if unknown."),
    (
        "cluster_operator_condition_transitions",
        "gauge",
        "Number of transitions of each condition of cluster operators.",
    ),
    ("cluster_operator_conditions", "gauge", "Conditions of cluster operators; 1 is True."),
    (
        operator::PAYLOAD_ERRORS,
        "counter",
        "Failed attempts to apply a manifest, by the version of the payload.",
    ),
    ("cluster_operator_up", "gauge", "Whether each cluster operator is available."),
    (operator::INSTALLER, "gauge", "How the cluster was installed."),
];

/// One line, without the labels that a scrape adds.
fn line(name: &str, sample: &Sample) -> String {
    let own = sample.labels.iter().filter(|(label, _)| operator::TARGET.iter().all(|(of, _)| of != label));
    let labels: Vec<String> = own.map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    let value = go_float::format_g(sample.value);
    if labels.is_empty() {
        format!("{name} {value}")
    } else {
        format!("{name}{{{}}} {value}", labels.join(","))
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_core::{Change, ChangeKind, Object};

    use super::*;

    #[test]
    fn exports_every_metric_of_the_operator() {
        let mut exported: Vec<&str> = FAMILIES.iter().map(|(name, ..)| *name).chain(["up"]).collect();
        let mut known: Vec<&str> = operator::METRICS.iter().map(|(name, ..)| *name).collect();
        exported.sort_unstable();
        known.sort_unstable();
        assert_eq!(exported, known);
    }

    #[test]
    fn samples_follow_their_help_and_type_without_scrape_labels() {
        let object = Object::new(json!({
            "metadata": { "name": "version" },
            "spec": { "channel": "stable-\"4\"" },
            "status": {
                "capabilities": { "knownCapabilities": ["b", "a"], "enabledCapabilities": ["b"] },
                "history": [{ "state": "Completed", "version": "4.18.1", "image": "i",
                              "startedTime": "2024-01-15T08:00:00Z", "completionTime": "2024-01-15T09:00:00Z" }],
            },
        }));
        let mut view = View::default();
        let key = CLUSTER_VERSIONS.key("", "version");
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        let text = exposition(&view, Counted::default(), Time::default());
        for wanted in [
            "# TYPE cluster_version_capability gauge\ncluster_version_capability{name=\"a\"} 0\ncluster_version_capability{name=\"b\"} 1\n# HELP",
            "\ncluster_version_available_updates{channel=\"stable-\\\"4\\\"\"} 0\n",
            "\ncluster_version{image=\"i\",type=\"current\",version=\"4.18.1\"} 1.7053056e+09\n",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        assert!(!text.contains("job=") && !text.contains("cluster_operator_up"), "{text}");
    }
}
