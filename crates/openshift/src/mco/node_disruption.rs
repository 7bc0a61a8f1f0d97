//! Node disruption policies: what a change of a file, a unit or the SSH keys requires on the nodes
//! (`spec.nodeDisruptionPolicy` of MachineConfiguration `cluster`).

use serde_json::{Value, json};
use windtunnel_core::View;
use windtunnel_core::resources::MACHINE_CONFIGURATIONS;

use crate::manifests::MajorMinor;

/// The first minor in which an administrator can set policies in every feature set.
pub(super) const FIRST: MajorMinor = (4, 17);
/// The first minor that reloads the container runtime for its signature policies.
const RUNTIME_POLICIES: MajorMinor = (4, 18);
/// The first minor with policies for credential providers and the registry of release images.
const CREDENTIAL_PROVIDERS: MajorMinor = (4, 22);

/// The policies in effect: those of the status, or else those that the operator would write there.
pub(super) fn effective(view: &View, line: MajorMinor) -> Value {
    let Some(object) = view.get(&MACHINE_CONFIGURATIONS, "", "cluster") else { return defaults(line) };
    match &object["status"]["nodeDisruptionPolicyStatus"]["clusterPolicies"] {
        policies @ Value::Object(_) => policies.clone(),
        _ => merged(&object["spec"]["nodeDisruptionPolicy"], line),
    }
}

/// The policies of an administrator and the defaults of a minor. A policy replaces the default with the same path or name.
pub(super) fn merged(own: &Value, line: MajorMinor) -> Value {
    let mut merged = defaults(line);
    for (list, key) in [("files", "path"), ("units", "name")] {
        let mut policies = merged[list].as_array().cloned().unwrap_or_default();
        for policy in own[list].as_array().into_iter().flatten() {
            match policies.iter_mut().find(|other| other[key] == policy[key]) {
                Some(other) => *other = policy.clone(),
                None => policies.push(policy.clone()),
            }
        }
        if !policies.is_empty() {
            merged[list] = Value::Array(policies);
        }
    }
    if own["sshkey"]["actions"].as_array().is_some_and(|actions| !actions.is_empty()) {
        merged["sshkey"] = own["sshkey"].clone();
    }
    merged
}

fn defaults(line: MajorMinor) -> Value {
    let act = |kind: &str| json!({ "type": kind });
    let reload = || json!({ "type": "Reload", "reload": { "serviceName": "crio.service" } });
    let restart = |service: &str| json!({ "type": "Restart", "restart": { "serviceName": service } });
    let file = |path: &str, actions: &[Value]| json!({ "path": path, "actions": actions });
    let trust = "coreos-update-ca-trust.service";
    let mut files = vec![
        file("/var/lib/kubelet/config.json", &[act("None")]),
        file("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", &[reload()]),
        file("/etc/containers/policy.json", &[reload()]),
        file("/etc/containers/registries.conf", &[act("Special")]),
        file("/etc/containers/registries.d", &[reload()]),
    ];
    if line >= RUNTIME_POLICIES {
        files.push(file("/etc/crio/policies", &[reload()]));
    }
    files.extend([
        file("/etc/nmstate/openshift", &[act("None")]),
        file(
            "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
            &[restart(trust), restart("crio.service")],
        ),
    ]);
    let mut policies = json!({ "sshkey": { "actions": [act("None")] } });
    if line >= CREDENTIAL_PROVIDERS {
        let dropin = "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf";
        let registry = "iri-registry.service";
        files.extend([
            file("/etc/kubernetes/credential-providers", &[restart("kubelet.service")]),
            file(dropin, &[act("DaemonReload"), restart("kubelet.service")]),
            file("/etc/iri-registry", &[restart(registry)]),
            file("/usr/local/bin/load-registry-image.sh", &[restart(registry)]),
            file("/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", &[restart(trust)]),
        ]);
        let actions = [act("DaemonReload"), restart(registry)];
        policies["units"] = json!([{ "name": registry, "actions": actions }]);
    }
    policies["files"] = Value::Array(files);
    policies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_administrators_policy_replaces_a_default_or_is_added() {
        let own = json!({
            "files": [
                { "path": "/etc/containers/policy.json", "actions": [{ "type": "Reboot" }] },
                { "path": "/etc/own", "actions": [{ "type": "Drain" }] },
            ],
            "units": [{ "name": "own.service", "actions": [{ "type": "None" }] }],
        });
        let merged = merged(&own, (4, 18));
        let of = |path: &str| {
            let files = merged["files"].as_array().unwrap();
            let mut found = files.iter().filter(|policy| policy["path"] == path);
            let policy = found.next().unwrap()["actions"][0]["type"].clone();
            assert_eq!(found.next(), None, "{path}");
            policy
        };
        assert_eq!(of("/etc/containers/policy.json"), "Reboot");
        assert_eq!(of("/etc/own"), "Drain");
        assert_eq!(of("/var/lib/kubelet/config.json"), "None");
        assert_eq!(merged["units"], own["units"]);
        assert_eq!(merged["sshkey"]["actions"][0]["type"], "None");
        assert!(
            defaults((4, 17))["files"]
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one["path"] != "/etc/crio/policies")
        );
    }
}
