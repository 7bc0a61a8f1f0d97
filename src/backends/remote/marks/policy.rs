//! A policy of the API server that marks what others create in the namespaces of a run.
//!
//! The run marks its own writes before it sends them. Pods and workloads that other clients create beside it, with
//! `kubectl` for example, need the same marks, so that simulated kubelets run them and no machine of the cluster does.
//! API servers without mutating admission policies (before Kubernetes 1.36) leave them alone.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use windtunnel_core::Rejection;

use super::stamp::{RUN, SIMULATED, toleration};
use crate::backends::remote::wire::Wire;
use crate::backends::{BackendError, ReportProgress};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy for kinds whose pod spec is in the same place.
struct Policy {
    name: &'static str,
    rules: Value,
    /// The fields from an object to its pod spec.
    place: &'static [&'static str],
}

fn policies() -> [Policy; 3] {
    let rule = |group: &str, operations: &[&str], resources: &[&str]| {
        json!({
            "apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": resources,
        })
    };
    let both = ["CREATE", "UPDATE"];
    [
        Policy {
            name: "windtunnel-pods",
            rules: json!([rule("", &["CREATE"], &["pods"])]),
            place: &["spec"],
        },
        Policy {
            name: "windtunnel-workloads",
            rules: json!([
                rule("apps", &both, &["daemonsets", "deployments", "replicasets", "statefulsets"]),
                rule("batch", &["CREATE"], &["jobs"]),
            ]),
            place: &["spec", "template", "spec"],
        },
        Policy {
            name: "windtunnel-cron-jobs",
            rules: json!([rule("batch", &both, &["cronjobs"])]),
            place: &["spec", "jobTemplate", "spec", "template", "spec"],
        },
    ]
}

/// Installs the policies of a run if the API server has the kind. They are removed with the objects of the run. Reports
/// it if the client may not install them; the run does not depend on them.
///
/// # Errors
/// The API server rejects a policy for another reason.
pub(in crate::backends) fn install(
    wire: &Arc<Wire>,
    run: &str,
    report: &ReportProgress,
) -> Result<(), BackendError> {
    if !is_served(wire) {
        return Ok(());
    }
    for policy in policies() {
        let Err(Rejection { code, message, .. }) = policy.install(wire, run) else { continue };
        let what = format!("pods that others create in this run will not be simulated: {message}");
        if code != 403 {
            return Err(BackendError::Failed(what));
        }
        report(&what);
        break;
    }
    Ok(())
}

/// Returns whether the API server has mutating admission policies in the version that is stable.
fn is_served(wire: &Arc<Wire>) -> bool {
    let Ok(kinds) = wire.get(GROUP).checked() else { return false };
    let mut kinds = kinds["resources"].as_array().into_iter().flatten();
    kinds.any(|kind| kind["name"] == "mutatingadmissionpolicies")
}

impl Policy {
    fn install(&self, wire: &Arc<Wire>, run: &str) -> Result<(), Rejection> {
        let metadata = json!({ "name": self.name, "labels": { RUN: run } });
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": { "matchLabels": { RUN: run } },
                    "resourceRules": self.rules,
                },
                "failurePolicy": "Fail",
                "reinvocationPolicy": "IfNeeded",
                "mutations": [
                    { "patchType": "JSONPatch", "jsonPatch": { "expression": self.toleration() } },
                    { "patchType": "JSONPatch", "jsonPatch": { "expression": self.node_selector() } },
                ],
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": { "policyName": self.name },
        });
        let create = |plural: &str, object: &Value| {
            wire.change(Method::POST, &format!("{GROUP}/{plural}"), object).checked().map(drop)
        };
        create("mutatingadmissionpolicies", &policy)?;
        create("mutatingadmissionpolicybindings", &binding)
    }

    /// The expression that adds the toleration, unless it is there.
    fn toleration(&self) -> String {
        let (spec, path) = (format!("object.{}", self.place.join(".")), self.place.join("/"));
        // An object in JSON is also a map in CEL.
        let value = toleration();
        format!(
            "!has({spec}.tolerations) ? [JSONPatch{{op: 'add', path: '/{path}/tolerations', value: [{value}]}}] : \
             {spec}.tolerations.exists(t, has(t.key) && t.key == '{SIMULATED}') ? [] : \
             [JSONPatch{{op: 'add', path: '/{path}/tolerations/-', value: {value}}}]"
        )
    }

    /// The expression that adds the node selector, or sets its key again.
    fn node_selector(&self) -> String {
        let (spec, path) = (format!("object.{}", self.place.join(".")), self.place.join("/"));
        let key = SIMULATED.replace('/', "~1");
        format!(
            "!has({spec}.nodeSelector) ? \
             [JSONPatch{{op: 'add', path: '/{path}/nodeSelector', value: {{'{SIMULATED}': 'true'}}}}] : \
             [JSONPatch{{op: 'add', path: '/{path}/nodeSelector/{key}', value: 'true'}}]"
        )
    }
}
