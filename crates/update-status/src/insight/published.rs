//! Where insights are published, and how they are found there: the data of one ConfigMap, a YAML document for each.

use serde_json::Value;

/// Namespace of the ConfigMap.
pub const NAMESPACE: &str = "openshift-update-status-controller";
/// Name of the ConfigMap. An administrator who creates it asks for insights to be published.
pub const CONFIG_MAP: &str = "status-api-cm-prototype";
/// Name of the UpdateStatus.
pub const UPDATE_STATUS: &str = "cluster";
/// Data keys with this prefix are insights: `usc.<informer>.<uid>`.
pub const KEY_PREFIX: &str = "usc.";

/// The insights of the ConfigMap as data key and YAML document, in order of the keys.
pub fn documents(config_map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let data = config_map["data"].as_object().into_iter().flatten();
    data.filter(|(key, _)| key.starts_with(KEY_PREFIX))
        .map(|(key, document)| (key.as_str(), document.as_str().unwrap_or_default()))
}

/// The insights of the status of an UpdateStatus, each under the key that it has in the ConfigMap but for the prefix: `<informer>.<uid>`.
pub fn in_status(status: &Value) -> impl Iterator<Item = (String, &Value)> {
    let pools = status["workerPools"].as_array().into_iter().flatten();
    let parts = std::iter::once(&status["controlPlane"]).chain(pools);
    let informers = parts.flat_map(|part| part["informers"].as_array().into_iter().flatten());
    informers.flat_map(|informer| {
        let name = informer["name"].as_str().unwrap_or_default();
        let insights = informer["insights"].as_array().into_iter().flatten();
        insights
            .map(move |insight| (format!("{name}.{}", insight["uid"].as_str().unwrap_or_default()), insight))
    })
}

/// The type of an insight, and the member of its envelope that is named after it.
pub fn content(insight: &Value) -> Option<(&str, &Value)> {
    let kind = insight["type"].as_str()?;
    let mut letters = kind.chars();
    let member: String = letters.next()?.to_lowercase().chain(letters).collect();
    insight.get(&member).map(|content| (kind, content))
}
