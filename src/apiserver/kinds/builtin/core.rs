//! The core group, and the events that it shares with a group of their own.

use super::{COUNTED, PLAIN, REVIEW, Resource, Row, Rules, SPEC_AND_STATUS, STATUS, UPSERT, rows};
use crate::apiserver::names::NameRule;

const NAMESPACE: Rules = Rules { names: NameRule::Label, ..STATUS };
const SERVICE: Rules = Rules { names: NameRule::Service, create_on_update: true, ..STATUS };
const POD: Rules = SPEC_AND_STATUS;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = rows! {
    namespaced "", "v1", "Binding", "bindings", REVIEW, [];
    cluster    "", "v1", "ComponentStatus", "componentstatuses", PLAIN, ["cs"];
    namespaced "", "v1", "ConfigMap", "configmaps", PLAIN, ["cm"];
    namespaced "", "v1", "Endpoints", "endpoints", UPSERT, ["ep"];
    namespaced "", "v1", "Event", "events", UPSERT, ["ev"];
    namespaced "", "v1", "LimitRange", "limitranges", UPSERT, ["limits"];
    cluster    "", "v1", "Namespace", "namespaces", NAMESPACE, ["ns"];
    cluster    "", "v1", "Node", "nodes", STATUS, ["no"];
    namespaced "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", STATUS, ["pvc"];
    cluster    "", "v1", "PersistentVolume", "persistentvolumes", STATUS, ["pv"];
    namespaced "", "v1", "Pod", "pods", POD, ["po"];
    namespaced "", "v1", "PodTemplate", "podtemplates", COUNTED, [];
    namespaced "", "v1", "ReplicationController", "replicationcontrollers", SPEC_AND_STATUS, ["rc"];
    namespaced "", "v1", "ResourceQuota", "resourcequotas", STATUS, ["quota"];
    namespaced "", "v1", "Secret", "secrets", PLAIN, [];
    namespaced "", "v1", "ServiceAccount", "serviceaccounts", PLAIN, ["sa"];
    namespaced "", "v1", "Service", "services", SERVICE, ["svc"];
    namespaced "events.k8s.io", "v1", "Event", "events", UPSERT, ["ev"];
    namespaced "events.k8s.io", "v1beta1", "Event", "events", UPSERT, ["ev"], 0..=24;
};
