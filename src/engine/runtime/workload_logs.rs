//! Lines for the logs of workloads whose programs are simulated outside their pods: one at the start of each container, and
//! those of operators about their ClusterOperators.

use serde_json::{Value, json};
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{CLUSTER_OPERATORS, PODS};
use windtunnel_core::{Key, Object};

use super::logs::IsRecorded;
use super::simulation::Simulation;
use crate::record::WriteEvent;

/// The file and line of an operator's message in openshift/library-go.
const STATUS_CONTROLLER: &str = "status_controller.go:230";
/// The source of lines that no real program prints.
const SOURCE: &str = "windtunnel:1";

impl Simulation {
    /// Prints that a container has started whose program is simulated outside of it.
    pub(super) fn print_start(&self, pod: &Object, key: &Key, container: &str) {
        if self.environment.payload_workloads == PayloadWorkloads::WithoutPods {
            return;
        }
        let spec = pod.list("/spec/containers").iter().find(|spec| spec["name"] == container);
        let image = spec.and_then(|spec| spec["image"].as_str()).unwrap_or_default();
        let line = format!("{container} of image {image} has started; it is simulated outside of its pod");
        let now = self.now();
        let line = klog(Severity::Info, now, SOURCE, line);
        self.exports.with_logs(|logs| logs.print(key, container, &line, now, IsRecorded::No));
    }

    /// Prints the change of a ClusterOperator by its operator, as library-go does.
    pub(super) fn print_operator_status(&self, write: &WriteEvent) {
        let is_logged = self.environment.payload_workloads == PayloadWorkloads::InPods
            && write.key.is_kind(&CLUSTER_OPERATORS)
            && write.by.starts_with("operator/");
        let Some(after) = write.after.as_ref().filter(|_| is_logged) else { return };
        let Some((pod, container)) = self.operator_log(&write.key.name) else { return };
        let before =
            write.before.as_ref().map(|before| before.list("/status/conditions")).unwrap_or_default();
        let changed: Vec<&Value> =
            after.list("/status/conditions").iter().filter(|condition| !before.contains(condition)).collect();
        if changed.is_empty() {
            return;
        }
        let diff = json!({ "status": { "conditions": changed } });
        let (now, line) = (self.now(), format!("clusteroperator/{} diff {diff}", write.key.name));
        let line = klog(Severity::Info, now, STATUS_CONTROLLER, line);
        self.exports.with_logs(|logs| logs.print(&pod, &container, &line, now, IsRecorded::No));
    }

    /// The log of the Deployment of an operator.
    fn operator_log(&self, cluster_operator: &str) -> Option<(Key, String)> {
        let components = self.environment.releases.values().flat_map(|release| release.components.iter());
        let mut operators = components.filter_map(|component| component.operator.as_ref());
        let facts = operators.find(|facts| facts.cluster_operator == cluster_operator)?;
        Some((PODS.key(&facts.namespace, &facts.deployment), facts.deployment.clone()))
    }
}
