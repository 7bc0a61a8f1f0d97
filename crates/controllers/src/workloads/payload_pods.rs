//! The workloads of a release payload that run without pods.

use std::sync::Arc;

use serde_json::json;
use windtunnel_core::Object;

use crate::PayloadWorkloads;
use crate::environment::NodeEnvironment;
use crate::owners;

/// Which workloads of a payload run without pods.
#[derive(Debug, Clone, Default)]
pub(super) struct PayloadPods {
    workloads: PayloadWorkloads,
    environment: Option<Arc<dyn NodeEnvironment>>,
}

impl PayloadPods {
    pub(super) fn new(workloads: PayloadWorkloads) -> Self {
        Self { workloads, environment: None }
    }

    /// Moves to another environment.
    pub(super) fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.environment = Some(Arc::clone(environment));
    }

    /// Whether workloads of a payload run without pods unless they run a process.
    pub(super) fn is_without_pods(&self) -> bool {
        self.workloads == PayloadWorkloads::WithoutPods
    }

    /// Whether a workload runs without pods because it belongs to the payload.
    pub(super) fn runs_without_pods(&self, workload: &Object) -> bool {
        self.is_without_pods() && owners::is_of_payload(workload) && !self.runs_process(workload)
    }

    /// Whether a container of a workload runs a process of its own, which needs a pod.
    fn runs_process(&self, workload: &Object) -> bool {
        let Some(environment) = self.environment.as_ref().filter(|environment| environment.has_processes())
        else {
            return false;
        };
        let template = &workload["spec"]["template"];
        let metadata = json!({ "namespace": workload.namespace(), "name": workload.name() });
        let pod = Object::new(json!({ "metadata": metadata, "spec": template["spec"] }));
        let mut names =
            pod.list("/spec/containers").iter().filter_map(|container| container["name"].as_str());
        names.any(|name| environment.has_process(&pod, name))
    }
}
