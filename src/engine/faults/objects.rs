//! Faults that are objects of somebody else: a webhook that nobody answers, definitions that clash.

use serde_json::{Value, json};
use windtunnel_core::requests::faults::Requests;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_WEBHOOK_CONFIGURATIONS};
use windtunnel_core::{Write, resources};

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::CrdFault;

/// A version of custom resources that no release serves.
const UNSERVED: &str = "v0";

/// Where the Service of a webhook would be.
const NAMESPACE: &str = "default";

/// Seconds until a webhook is given up.
const PATIENCE: i64 = 5;

impl Simulation {
    /// Puts a webhook there that must be asked about these writes, by a Service that does not exist.
    pub(in crate::engine) fn put_webhook(&mut self, writes: &Requests) -> Result<(), SessionError> {
        let configuration = webhook(writes);
        self.delete_if_there(&VALIDATING_WEBHOOK_CONFIGURATIONS, "", &webhook_name(writes))?;
        self.administer(&Write::create(&VALIDATING_WEBHOOK_CONFIGURATIONS, configuration))
    }

    pub(in crate::engine) fn remove_webhook(&mut self, writes: &Requests) -> Result<(), SessionError> {
        self.delete_if_there(&VALIDATING_WEBHOOK_CONFIGURATIONS, "", &webhook_name(writes))
    }

    /// Has a definition clash with another one.
    pub(in crate::engine) fn clash(&mut self, name: &str, fault: CrdFault) -> Result<(), SessionError> {
        match fault {
            CrdFault::StoredVersion => {
                self.check_object(&CUSTOM_RESOURCE_DEFINITIONS, name)?;
                self.store_versions(name, |stored| stored.push(json!(UNSERVED)))
            }
            CrdFault::NamesTaken if self.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name).is_some() => {
                let why = format!("definition {name} is there, so that nobody can take its names any more");
                Err(SessionError::Pointless(why))
            }
            CrdFault::NamesTaken => {
                let squatter = squatter(name).ok_or_else(|| {
                    let why = format!(
                        "expected a definition such as `backups.config.openshift.io`, found `{name}`"
                    );
                    SessionError::Pointless(why)
                })?;
                self.administer(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, squatter))
            }
        }
    }

    pub(in crate::engine) fn end_clash(&mut self, name: &str) -> Result<(), SessionError> {
        if let Some(squatter) = squatter_name(name) {
            self.delete_if_there(&CUSTOM_RESOURCE_DEFINITIONS, "", &squatter)?;
        }
        match self.view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name) {
            Some(_) => self.store_versions(name, |_| ()),
            None => Ok(()),
        }
    }

    /// Writes the versions that objects were stored in: those that are served, and what `add` adds.
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

/// The configuration of a webhook for these writes.
fn webhook(writes: &Requests) -> Value {
    let name = webhook_name(writes);
    let mut webhook = json!({
        "name": format!("{name}.windtunnel.dev"),
        "clientConfig": { "service": { "namespace": NAMESPACE, "name": name, "path": "/validate" } },
        "rules": [rule(writes)],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": PATIENCE,
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

/// The rule that has it asked about these writes, by whatever name.
fn rule(writes: &Requests) -> Value {
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

/// What the configuration for these writes is called, which is also a name for a Service.
fn webhook_name(writes: &Requests) -> String {
    let parts = [&writes.verb, &writes.kind, &writes.subresource, &writes.name];
    let said = parts.into_iter().flatten().filter(|part| !part.is_empty());
    let joined = said.fold("unreachable".to_owned(), |name, part| format!("{name}-{part}"));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let plain = joined.to_ascii_lowercase().replace(|letter| !is_plain(letter), "-");
    plain[..plain.len().min(60)].trim_matches('-').to_owned()
}

/// A definition that has the plural of another as its short name.
fn squatter(name: &str) -> Option<Value> {
    let (plural, group) = name.split_once('.')?;
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": squatter_name(name)?,
            // Groups of Kubernetes are protected by this.
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

    fn writes(kind: &str, name: &str, subresource: Option<&str>) -> Requests {
        Requests {
            verb: Some("update".to_owned()),
            kind: Some(kind.to_owned()),
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            subresource: subresource.map(str::to_owned),
            by: None,
        }
    }

    #[test]
    fn a_webhook_is_asked_about_what_is_said() {
        let webhook = |writes: &Requests| webhook(writes)["webhooks"][0].clone();
        let of_status = webhook(&writes("ClusterOperator", "d*", Some("status")));
        assert_eq!(of_status["rules"][0]["resources"], json!(["clusteroperators/status"]));
        assert_eq!(of_status["rules"][0]["operations"], json!(["UPDATE"]));
        assert_eq!(of_status["matchConditions"][0]["expression"], "request.name.startsWith(\"d\")");
        let of_all = webhook(&writes("Deployment", "", None));
        assert_eq!(of_all["rules"][0]["resources"], json!(["deployments", "deployments/*"]));
        assert_eq!(of_all["rules"][0]["apiGroups"], json!(["apps"]));
        assert_eq!(of_all["matchConditions"], Value::Null);
        assert_eq!(webhook(&Requests::default())["rules"][0]["resources"], json!(["*/*"]));
    }

    #[test]
    fn names_are_those_of_services() {
        assert_eq!(webhook_name(&Requests::default()), "unreachable");
        let name = webhook_name(&writes("ClusterOperator", "dns.*", Some("status")));
        assert_eq!(name, "unreachable-update-clusteroperator-status-dns");
    }
}
