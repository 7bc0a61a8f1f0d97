//! Finds published insights: in the data of a ConfigMap, one YAML document each, or in an UpdateStatus.

use serde_json::Value;

/// Namespace of the ConfigMap.
pub const NAMESPACE: &str = "openshift-update-status-controller";
/// Name of the ConfigMap. The controller publishes insights once an administrator has created it.
pub const CONFIG_MAP: &str = "status-api-cm-prototype";
/// Name of the UpdateStatus.
pub const UPDATE_STATUS: &str = "cluster";
/// Prefix of the data keys of insights: `usc.<informer>.<uid>`.
pub const KEY_PREFIX: &str = "usc.";
/// The part of data keys that marks the insights of other producers: `usc.x.<informer>.<uid>`.
pub const PRODUCERS: &str = "x";
/// The informer names of the controller: the control plane, the nodes, and the mark of other producers.
pub const RESERVED_NAMES: [&str; 3] = ["cpi", "ni", PRODUCERS];

/// Returns the insights of the ConfigMap as pairs of data key and YAML document, ordered by key.
pub fn documents(config_map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let data = config_map["data"].as_object().into_iter().flatten();
    data.filter(|(key, _)| key.starts_with(KEY_PREFIX))
        .map(|(key, document)| (key.as_str(), document.as_str().unwrap_or_default()))
}

/// Returns the insights in the status of an UpdateStatus, each with its ConfigMap key without the prefix:
/// `<informer>.<uid>`, or `x.<informer>.<uid>` for informers of other producers.
pub fn insights_in_status(status: &Value) -> impl Iterator<Item = (String, &Value)> {
    let pools = status["workerPools"].as_array().into_iter().flatten();
    let parts = std::iter::once(&status["controlPlane"]).chain(pools);
    let informers = parts.flat_map(|part| part["informers"].as_array().into_iter().flatten());
    informers.flat_map(|informer| {
        let name = informer["name"].as_str().unwrap_or_default();
        let mark = if RESERVED_NAMES.contains(&name) { String::new() } else { format!("{PRODUCERS}.") };
        let insights = informer["insights"].as_array().into_iter().flatten();
        insights.map(move |insight| {
            let uid = insight["uid"].as_str().unwrap_or_default();
            (format!("{mark}{name}.{uid}"), insight)
        })
    })
}

/// Returns the type of an insight, and its content. The content is in the member that [`member`] names.
pub fn content(insight: &Value) -> Option<(&str, &Value)> {
    let kind = insight["type"].as_str()?;
    insight.get(member(kind)).map(|content| (kind, content))
}

/// Returns the name of the member with the content of insights of a type: `clusterVersion` for `ClusterVersion`.
pub fn member(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}
