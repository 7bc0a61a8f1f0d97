//! Faults that are objects: a webhook whose Service does not exist, and CRDs that conflict.

use serde_json::{Value, json};
use windtunnel_core::Write;
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_WEBHOOK_CONFIGURATIONS};

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::CrdFault;

/// A version of custom resources that no release serves.
const UNSERVED: &str = "v0";

/// The namespace of a webhook's missing Service.
const NAMESPACE: &str = "default";

/// Timeout of a webhook call, in seconds.
const TIMEOUT_SECONDS: i64 = 5;

impl Simulation {
    /// Creates a webhook that must approve these writes, with a Service that does not exist.
    pub(in crate::engine) fn put_webhook(&mut self, writes: &RequestFilter) -> Result<(), SessionError> {
        let configuration = webhook(writes);
        self.delete_if_there(&VALIDATING_WEBHOOK_CONFIGURATIONS, "", &webhook_name(writes))?;
        self.administer(&Write::create(&VALIDATING_WEBHOOK_CONFIGURATIONS, configuration))
    }

    pub(in crate::engine) fn remove_webhook(&mut self, writes: &RequestFilter) -> Result<(), SessionError> {
        self.delete_if_there(&VALIDATING_WEBHOOK_CONFIGURATIONS, "", &webhook_name(writes))
    }

    /// Adds a stored version that is not served to a CRD, or creates another CRD that takes its names.
    pub(in crate::engine) fn begin_crd_fault(
        &mut self,
        name: &str,
        fault: CrdFault,
    ) -> Result<(), SessionError> {
        match fault {
            CrdFault::StoredVersion => {
                self.check_object(&CUSTOM_RESOURCE_DEFINITIONS, name)?;
                self.store_versions(name, |stored| stored.push(json!(UNSERVED)))
            }
            CrdFault::NamesTaken if self.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name).is_some() => {
                let why = format!(
                    "CustomResourceDefinition {name} exists already, so no other one can take its names"
                );
                Err(SessionError::NoEffect(why))
            }
            CrdFault::NamesTaken => {
                let squatter = conflicting_crd(name).ok_or_else(|| {
                    let why = format!(
                        "expected the name of a CustomResourceDefinition, such as `backups.config.openshift.io`, found `{name}`"
                    );
                    SessionError::NoEffect(why)
                })?;
                self.administer(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, squatter))
            }
        }
    }

    pub(in crate::engine) fn end_crd_fault(&mut self, name: &str) -> Result<(), SessionError> {
        if let Some(squatter) = squatter_name(name) {
            self.delete_if_there(&CUSTOM_RESOURCE_DEFINITIONS, "", &squatter)?;
        }
        match self.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name) {
            Some(_) => self.store_versions(name, |_| ()),
            None => Ok(()),
        }
    }

    /// Writes `status.storedVersions`: the present ones without [`UNSERVED`], and those that `add` adds.
    fn store_versions(&mut self, name: &str, add: impl Fn(&mut Vec<Value>)) -> Result<(), SessionError> {
        let found = self.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name);
        let stored = found.map_or(&[][..], |crd| crd.list("/status/storedVersions"));
        let mut versions: Vec<Value> =
            stored.iter().filter(|version| *version != UNSERVED).cloned().collect();
        add(&mut versions);
        if versions == stored {
            return Ok(());
        }
        let status = json!({ "status": { "storedVersions": versions } });
        self.administer(&Write::merge_patch_status(&CUSTOM_RESOURCE_DEFINITIONS, "", name, status))
    }
}

/// The webhook configuration for these writes.
fn webhook(writes: &RequestFilter) -> Value {
    let name = webhook_name(writes);
    let mut webhook = json!({
        "name": format!("{name}.windtunnel.dev"),
        "clientConfig": { "service": { "namespace": NAMESPACE, "name": name, "path": "/validate" } },
        "rules": [rule(writes)],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    });
    if let Some(wanted) = &writes.name {
        let expression = match wanted.strip_suffix('*') {
            Some(beginning) => format!("request.name.startsWith({})", json!(beginning)),
            None => format!("request.name == {}", json!(wanted)),
        };
        webhook["matchConditions"] = json!([{ "name": "name", "expression": expression }]);
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [webhook],
    })
}

/// The webhook rule for these writes, whatever the object's name.
fn rule(writes: &RequestFilter) -> Value {
    let resource = writes.kind.as_deref().and_then(resources::by_kind);
    let (group, plural) = resource.map_or(("*", "*"), |resource| (&*resource.group, &*resource.plural));
    let resources = match writes.subresource.as_deref() {
        Some("") => vec![plural.to_owned()],
        Some(subresource) => vec![format!("{plural}/{subresource}")],
        // `*/*` is everything, but `pods/*` is not the pods themselves.
        None if plural == "*" => vec!["*/*".to_owned()],
        None => vec![plural.to_owned(), format!("{plural}/*")],
    };
    let operation = match writes.verb.as_deref() {
        Some("create") => "CREATE",
        Some("update" | "patch") => "UPDATE",
        Some("delete") => "DELETE",
        _ => "*",
    };
    json!({ "apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": resources })
}

/// The name of the webhook configuration for these writes, which is also a valid Service name.
fn webhook_name(writes: &RequestFilter) -> String {
    let fields = [&writes.verb, &writes.kind, &writes.subresource, &writes.name];
    let parts = fields.into_iter().flatten().filter(|part| !part.is_empty());
    let joined = parts.fold("unreachable".to_owned(), |name, part| format!("{name}-{part}"));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let plain = joined.to_ascii_lowercase().replace(|letter| !is_plain(letter), "-");
    plain[..plain.len().min(60)].trim_matches('-').to_owned()
}

/// A CRD whose short name is the plural of another CRD.
fn conflicting_crd(name: &str) -> Option<Value> {
    let (plural, group) = name.split_once('.')?;
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": squatter_name(name)?,
            // Kubernetes protects its own groups with this annotation.
            "annotations": { "api-approved.kubernetes.io": "unapproved, for a test" },
        },
        "spec": {
            "group": group, "scope": "Namespaced", "versions": [version],
            "names": {
                "plural": format!("other-{plural}"), "singular": format!("other-{plural}-one"),
                "kind": format!("Other{plural}"), "listKind": format!("Other{plural}List"), "shortNames": [plural],
            },
        },
    }))
}

fn squatter_name(name: &str) -> Option<String> {
    name.contains('.').then(|| format!("other-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(kind: &str, name: &str, subresource: Option<&str>) -> RequestFilter {
        RequestFilter {
            verb: Some("update".to_owned()),
            kind: Some(kind.to_owned()),
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            subresource: subresource.map(str::to_owned),
            by: None,
        }
    }

    #[test]
    fn webhook_rules_match_the_described_writes() {
        let webhook = |writes: &RequestFilter| webhook(writes)["webhooks"][0].clone();
        let of_status = webhook(&writes("ClusterOperator", "d*", Some("status")));
        assert_eq!(of_status["rules"][0]["resources"], json!(["clusteroperators/status"]));
        assert_eq!(of_status["rules"][0]["operations"], json!(["UPDATE"]));
        assert_eq!(of_status["matchConditions"][0]["expression"], "request.name.startsWith(\"d\")");
        let of_all = webhook(&writes("Deployment", "", None));
        assert_eq!(of_all["rules"][0]["resources"], json!(["deployments", "deployments/*"]));
        assert_eq!(of_all["rules"][0]["apiGroups"], json!(["apps"]));
        assert_eq!(of_all["matchConditions"], Value::Null);
        assert_eq!(webhook(&RequestFilter::default())["rules"][0]["resources"], json!(["*/*"]));
    }

    #[test]
    fn webhook_names_are_valid_service_names() {
        assert_eq!(webhook_name(&RequestFilter::default()), "unreachable");
        let name = webhook_name(&writes("ClusterOperator", "dns.*", Some("status")));
        assert_eq!(name, "unreachable-update-clusteroperator-status-dns");
    }
}
