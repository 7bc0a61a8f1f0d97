//! The fields of a ClusterVersion.

use serde_json::Value;

use super::object::{list_at, text_at};
use crate::text_of;

/// The version that the cluster has or is updating to (`status.desired`); empty if there is none.
pub fn desired_version(cluster_version: &Value) -> &str {
    text_at(cluster_version, "/status/desired/version")
}

/// The entry of `status.history` for the current or last update. `None` without a history.
pub fn newest_entry(cluster_version: &Value) -> Option<&Value> {
    list_at(cluster_version, "/status/history").first()
}

/// The version of the last update that was completed. `None` if there is none in `status.history`.
pub fn completed_version(cluster_version: &Value) -> Option<&str> {
    let mut history = list_at(cluster_version, "/status/history").iter();
    history.find(|entry| text_of(entry, "state") == "Completed")?["version"].as_str()
}
