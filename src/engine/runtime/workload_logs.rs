//! The lines that simulated operators print about their ClusterOperators.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_core::clock::Time;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{CLUSTER_OPERATORS, PODS};
use windtunnel_core::{Key, Object};
use windtunnel_openshift::environment::Environment;

use super::logs::IsRecorded;
use super::metrics::Exports;
use crate::engine::observer::Observer;
use crate::record::WriteEvent;

/// The file and line of an operator's message in openshift/library-go.
const STATUS_CONTROLLER: &str = "status_controller.go:230";

/// The logs of the operators of ClusterOperators.
pub(super) struct OperatorLogs {
    environment: Arc<Environment>,
    exports: Arc<Exports>,
}

impl Observer for OperatorLogs {
    /// Prints the change of a ClusterOperator by its operator, as library-go does.
    fn on_write(&mut self, write: &WriteEvent, now: Time) {
        let is_logged = self.environment.payload_workloads == PayloadWorkloads::InPods
            && write.key.is_kind(&CLUSTER_OPERATORS)
            && write.by.starts_with("operator/");
        let Some(after) = write.after.as_ref().filter(|_| is_logged) else { return };
        let Some((pod, container)) = self.operator_log(&write.key.name) else { return };
        let before = write.before.as_ref().map(Object::conditions).unwrap_or_default();
        let changed: Vec<&Value> =
            after.conditions().iter().filter(|condition| !before.contains(condition)).collect();
        if changed.is_empty() {
            return;
        }
        let diff = json!({ "status": { "conditions": changed } });
        let line = format!("clusteroperator/{} diff {diff}", write.key.name);
        let line = klog(Severity::Info, now, STATUS_CONTROLLER, line);
        self.exports.with_logs(|logs| logs.print(&pod, &container, &line, now, IsRecorded::No));
    }
}

impl OperatorLogs {
    pub(super) fn new(environment: Arc<Environment>, exports: Arc<Exports>) -> Self {
        Self { environment, exports }
    }

    /// The log of the Deployment of an operator.
    fn operator_log(&self, cluster_operator: &str) -> Option<(Key, String)> {
        let components = self.environment.releases.values().flat_map(|release| release.components.iter());
        let mut operators = components.filter_map(|component| component.operator.as_ref());
        let facts = operators.find(|facts| facts.cluster_operator == cluster_operator)?;
        Some((PODS.key(&facts.namespace, &facts.deployment), facts.deployment.clone()))
    }
}
