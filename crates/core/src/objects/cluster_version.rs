//! The fields of a ClusterVersion.

use serde_json::Value;

use super::object::{list_at, text_at};

/// `spec.channel`; empty if there is none.
pub fn channel(cluster_version: &Value) -> &str {
    text_at(cluster_version, "/spec/channel")
}

/// The update that the administrator requests (`spec.desiredUpdate`); null if there is none.
pub fn requested_update(cluster_version: &Value) -> &Value {
    &cluster_version["spec"]["desiredUpdate"]
}

/// The version that the cluster has or is updating to (`status.desired`); empty if there is none.
pub fn desired_version(cluster_version: &Value) -> &str {
    text_at(cluster_version, "/status/desired/version")
}

/// `status.history`, newest first; empty if there is none.
pub fn history(cluster_version: &Value) -> &[Value] {
    list_at(cluster_version, "/status/history")
}
