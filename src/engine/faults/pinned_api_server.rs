//! Clusters with a fixed kube-apiserver version, and scenarios that need an older one.

use semver::Version;
use serde_json::Value;

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;

impl Simulation {
    /// Makes the API server behave as Kubernetes 1.`minor`, or stores the reason why it cannot.
    pub(in crate::engine) fn serve_kubernetes(&mut self, minor: u32) {
        if let Err(why) = self.connection.serve_kubernetes(minor) {
            self.api_server.mismatch = Some(why);
        }
    }

    /// Turns a failure after a downgrade to an older minor into [`SessionError::Unsupported`] if this cluster's
    /// kube-apiserver stays at its version: the steps might pass with the older kube-apiserver.
    pub(in crate::engine) fn excuse_downgrade(&self, error: SessionError) -> SessionError {
        let Some(why) = &self.api_server.mismatch else { return error };
        let is_outcome = error.is_unmet() || matches!(error, SessionError::Refused { .. });
        let cluster_version = self.view.cluster_version();
        if is_outcome && cluster_version.is_some_and(|object| is_downgrade(&object.to_value())) {
            return SessionError::Unsupported(format!("{why}; the step failed: {error}"));
        }
        error
    }
}

/// Whether a ClusterVersion was or is to be downgraded to an older minor.
fn is_downgrade(cluster_version: &Value) -> bool {
    let line = |release: &Value| {
        let version = Version::parse(release["version"].as_str()?).ok()?;
        Some((version.major, version.minor))
    };
    // The history has the newest release first.
    let history = cluster_version["status"]["history"].as_array().into_iter().flatten();
    let desired = [&cluster_version["spec"]["desiredUpdate"], &cluster_version["status"]["desired"]];
    let lines: Vec<_> = desired.into_iter().chain(history).filter_map(line).collect();
    lines.iter().enumerate().any(|(index, newer)| lines[index + 1..].iter().any(|older| newer < older))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn detects_downgrades_to_an_older_minor() {
        let is_detected = |desired: &str, history: &[&str]| {
            let history: Vec<Value> = history.iter().map(|version| json!({ "version": version })).collect();
            is_downgrade(&json!({
                "spec": { "desiredUpdate": { "version": desired } },
                "status": { "desired": { "version": history[0]["version"] }, "history": history },
            }))
        };
        assert!(!is_detected("4.14.1", &["4.13.20"]));
        // Only to an older patch release.
        assert!(!is_detected("4.14.1", &["4.14.8", "4.13.20"]));
        assert!(is_detected("4.13.20", &["4.14.1"]));
        assert!(is_detected("4.13.20", &["4.14.1", "4.13.20"]));
        assert!(is_detected("4.14.1", &["4.14.1", "4.13.20", "4.14.1"]));
        assert!(!is_downgrade(&json!({})));
    }
}
