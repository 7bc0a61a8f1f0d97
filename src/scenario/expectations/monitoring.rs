//! `alert` and `metric`: expectations about Prometheus.

use windtunnel_core::alert::AlertState;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::promql;

use crate::plan::{AlertMatch, MetricMatch};
use crate::scenario::reader::Reader;

/// Parses `alert: {name: ClusterOperatorDown, state: firing, labels: {name: etcd}}`.
pub(in crate::scenario) fn alert(reader: &mut Reader<'_>, node: &Node) -> Option<AlertMatch> {
    let map = reader.map(node, "an alert", &["name", "state", "labels", "annotations"])?;
    let name = map.required(reader, "name", "such as `ClusterOperatorDown`");
    let name = name.and_then(|node| reader.text(node, "an alert's name such as `ClusterOperatorDown`"));
    let states = [AlertState::Pending.as_str(), AlertState::Firing.as_str()];
    let state = map.get("state").and_then(|node| reader.word(node, &states)).and_then(AlertState::named);
    let mut texts = |key, what| {
        let entries = map.get(key).and_then(|node| reader.entries(node, what)).unwrap_or_default();
        let texts = entries.iter().filter_map(|(name, text)| {
            Some((name.scalar().unwrap_or_default().to_owned(), reader.text_match(text)?))
        });
        texts.collect()
    };
    let (labels, annotations) =
        (texts("labels", "labels by name"), texts("annotations", "annotations by name"));
    Some(AlertMatch { name: name?, state, labels, annotations })
}

/// Parses `metric: {query: "cluster_version_available_updates", value: 2}`.
pub(in crate::scenario) fn metric(reader: &mut Reader<'_>, node: &Node) -> Option<MetricMatch> {
    let map = reader.map(node, "a metric", &["query", "value"])?;
    let at = map.required(reader, "query", "PromQL, such as `cluster_operator_up{name=\"etcd\"}`")?;
    let query = reader.text(at, "PromQL such as `cluster_operator_up{name=\"etcd\"}`")?;
    let parsed = promql::parse(&query);
    let expr = parsed.map_err(|error| reader.error(at, format!("this is not valid PromQL: {error}"))).ok();
    let value = match map.get("value") {
        None => None,
        Some(at) => {
            let number = match &at.kind {
                Kind::Number(number) => number.as_f64(),
                _ => None,
            };
            if number.is_none() {
                reader.error(at, format!("expected a number, found {}", at.describe()));
            }
            Some(number?)
        }
    };
    Some(MetricMatch { query, expr: expr?, value })
}
