//! Built-in kinds of the core group, and the events that it shares with `events.k8s.io`.

use super::{
    COUNTED, Dependents, ORPHANING, PLAIN, REVIEW, Resource, Row, Rules, SPEC_AND_STATUS, STATUS, UPSERT,
    rows,
};
use crate::names::NameRule;

/// Namespaces have no `deletecollection`: deleting one deletes all objects in it.
const NAMESPACE: Rules = Rules {
    names: NameRule::Label,
    verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
    ..STATUS
};
/// The server computes component statuses, so they are read-only.
const COMPONENT_STATUS: Rules = Rules { verbs: &["get", "list"], ..PLAIN };
const SERVICE: Rules = Rules { names: NameRule::Service, create_on_update: true, ..STATUS };
const POD: Rules = SPEC_AND_STATUS;
/// Only their `events.k8s.io` form has rules for names.
const LEGACY_EVENT: Rules = Rules { names: NameRule::PathSegment, ..EVENT };
const EVENT: Rules = Rules { dependents: Dependents::Unsupported, ..UPSERT };
const CONTROLLER: Rules = Rules { names: NameRule::GeneratedSubdomain, ..ORPHANING };

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = rows! {
    namespaced "", "v1", "Binding", "bindings", REVIEW, [];
    cluster    "", "v1", "ComponentStatus", "componentstatuses", COMPONENT_STATUS, ["cs"];
    namespaced "", "v1", "ConfigMap", "configmaps", PLAIN, ["cm"];
    namespaced "", "v1", "Endpoints", "endpoints", UPSERT, ["ep"];
    namespaced "", "v1", "Event", "events", LEGACY_EVENT, ["ev"];
    namespaced "", "v1", "LimitRange", "limitranges", UPSERT, ["limits"];
    cluster    "", "v1", "Namespace", "namespaces", NAMESPACE, ["ns"];
    cluster    "", "v1", "Node", "nodes", STATUS, ["no"];
    namespaced "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", STATUS, ["pvc"];
    cluster    "", "v1", "PersistentVolume", "persistentvolumes", STATUS, ["pv"];
    namespaced "", "v1", "Pod", "pods", POD, ["po"];
    namespaced "", "v1", "PodTemplate", "podtemplates", COUNTED, [];
    namespaced "", "v1", "ReplicationController", "replicationcontrollers", CONTROLLER, ["rc"];
    namespaced "", "v1", "ResourceQuota", "resourcequotas", STATUS, ["quota"];
    namespaced "", "v1", "Secret", "secrets", PLAIN, [];
    namespaced "", "v1", "ServiceAccount", "serviceaccounts", PLAIN, ["sa"];
    namespaced "", "v1", "Service", "services", SERVICE, ["svc"];
    namespaced "events.k8s.io", "v1", "Event", "events", EVENT, ["ev"];
    namespaced "events.k8s.io", "v1beta1", "Event", "events", EVENT, ["ev"], 0..=24;
};
