//! A cluster whose kube-apiserver stays what it is, and a scenario that is about an older one.

use semver::Version;
use serde_json::Value;
use windtunnel_core::resources::CLUSTER_VERSIONS;

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;

impl Simulation {
    /// Has the API server behave as Kubernetes 1.`minor` does, or notes why it does not.
    pub(in crate::engine) fn serve_kubernetes(&mut self, minor: u32) {
        if let Err(why) = self.door.serve_kubernetes(minor) {
            self.unserved = Some(why);
        }
    }

    /// What does not hold after a release of an older minor was asked for may hold where its kube-apiserver comes with it: that is
    /// no failure of a cluster that cannot have that.
    pub(in crate::engine) fn blamed(&self, error: SessionError) -> SessionError {
        let Some(why) = &self.unserved else { return error };
        let is_outcome = matches!(error, SessionError::Unmet(_) | SessionError::Refused { .. });
        let cluster_version = self.view.get(&CLUSTER_VERSIONS, "", "version");
        if is_outcome && cluster_version.is_some_and(|object| goes_back(&object.to_value())) {
            return SessionError::Unable(format!("{why}; it ended so: {error}"));
        }
        error
    }
}

/// Whether a ClusterVersion is, was, or is to be brought to a minor older than it had.
fn goes_back(cluster_version: &Value) -> bool {
    let line = |release: &Value| {
        let version = Version::parse(release["version"].as_str()?).ok()?;
        Some((version.major, version.minor))
    };
    // The newest stands first.
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
    fn who_goes_back_by_a_minor_is_told_from_who_does_not() {
        let told = |desired: &str, history: &[&str]| {
            let history: Vec<Value> = history.iter().map(|version| json!({ "version": version })).collect();
            goes_back(&json!({
                "spec": { "desiredUpdate": { "version": desired } },
                "status": { "desired": { "version": history[0]["version"] }, "history": history },
            }))
        };
        assert!(!told("4.14.1", &["4.13.20"]));
        // By a patch alone.
        assert!(!told("4.14.1", &["4.14.8", "4.13.20"]));
        assert!(told("4.13.20", &["4.14.1"]));
        assert!(told("4.13.20", &["4.14.1", "4.13.20"]));
        assert!(told("4.14.1", &["4.14.1", "4.13.20", "4.14.1"]));
        assert!(!goes_back(&json!({})));
    }
}
