//! Built-in kinds that run pods or keep them running: apps, batch, autoscaling and policy.

use super::{
    Generation, ORPHANING, PLAIN, Resource, Row, Rules, SPEC_AND_STATUS, STATUS, StatusMetadata, rows,
};
use crate::names::NameRule;

const DEPLOYMENT: Rules = Rules {
    generation: Generation::SpecificationAndAnnotations,
    status_metadata: StatusMetadata::TakenButLabels,
    ..SPEC_AND_STATUS
};
const BUDGET: Rules = Rules { names: NameRule::PathSegment, unconditional_update: false, ..SPEC_AND_STATUS };
const STATEFUL_SET: Rules = Rules { names: NameRule::StatefulSet, ..SPEC_AND_STATUS };

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = rows! {
    namespaced "apps", "v1", "ControllerRevision", "controllerrevisions", PLAIN, [];
    namespaced "apps", "v1", "DaemonSet", "daemonsets", SPEC_AND_STATUS, ["ds"];
    namespaced "apps", "v1", "Deployment", "deployments", DEPLOYMENT, ["deploy"];
    namespaced "apps", "v1", "ReplicaSet", "replicasets", SPEC_AND_STATUS, ["rs"];
    namespaced "apps", "v1", "StatefulSet", "statefulsets", STATEFUL_SET, ["sts"];
    namespaced "batch", "v1", "CronJob", "cronjobs", SPEC_AND_STATUS, ["cj"];
    namespaced "batch", "v1beta1", "CronJob", "cronjobs", ORPHANING, ["cj"], 0..=24;
    namespaced "batch", "v1", "Job", "jobs", ORPHANING, [];
    namespaced "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", STATUS, ["hpa"];
    namespaced "autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", STATUS, ["hpa"];
    namespaced "autoscaling", "v2beta2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", STATUS, ["hpa"], 0..=25;
    namespaced "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", BUDGET, ["pdb"];
    namespaced "policy", "v1beta1", "PodDisruptionBudget", "poddisruptionbudgets", BUDGET, ["pdb"], 0..=24;
};
