//! Findings that need no run.

use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::resources::{
    CERTIFICATE_SIGNING_REQUESTS, CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS,
};
use windtunnel_openshift::release::Release;

use super::cause::Blamed;

/// Something in a cluster that an administrator should know before an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The object.
    pub cause: Blamed,
    /// What is the matter, and what to do.
    pub text: String,
}

/// Finds what to know before an update from a release to `target`.
pub fn warnings(objects: &[&Object], from: &Version, target: &Version) -> Vec<Warning> {
    let mut found = Vec::new();
    for object in objects {
        let text = if CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) {
            stored_version(object)
        } else if CLUSTER_VERSIONS.is_kind_of(object) && object.name() == "version" {
            edge(object, target)
        } else if CERTIFICATE_SIGNING_REQUESTS.is_kind_of(object) {
            pending_request(object)
        } else if object.text("/kind") == "APIRequestCount" {
            removed_api(object, from, target)
        } else {
            None
        };
        found.extend(text.map(|text| Warning { cause: Blamed::object(object), text }));
    }
    found
}

/// A version in `status.storedVersions` that the definition does not have any more. The API server rejects definitions without
/// a stored version, so that no operator can update it.
fn stored_version(definition: &Object) -> Option<String> {
    let versions = definition.list("/spec/versions");
    let has = |name: &str| versions.iter().any(|version| version["name"] == name);
    let stored = definition.list("/status/storedVersions").iter().filter_map(|version| version.as_str());
    let gone: Vec<&str> = stored.filter(|version| !has(version)).collect();
    (!gone.is_empty()).then(|| {
        format!(
            "status.storedVersions has {}, which spec.versions lacks: objects may still be stored in it, and the next change of the \
             definition is rejected; migrate them, then remove the version from the status",
            gone.join(", ")
        )
    })
}

/// A request for a certificate without an approval or a denial.
fn pending_request(request: &Object) -> Option<String> {
    let is_pending = request.conditions().is_empty() && request.text("/status/certificate").is_empty();
    is_pending.then(|| {
        format!(
            "the request of {} for {} waits for an approval: a node without it does not join, or loses its connection",
            request.text("/spec/username"),
            request.text("/spec/signerName")
        )
    })
}

/// A target that the cluster does not know as an update.
fn edge(version: &Object, target: &Version) -> Option<String> {
    let target = target.to_string();
    let available = version.list("/status/availableUpdates").iter().any(|update| update["version"] == target);
    if available {
        return None;
    }
    let conditional = version.list("/status/conditionalUpdates").iter();
    let known = conditional.into_iter().find(|update| update["release"]["version"] == target);
    Some(match known {
        Some(update) => {
            let risks = update["risks"].as_array().map_or(&[][..], Vec::as_slice);
            let names: Vec<&str> = risks.iter().filter_map(|risk| risk["name"].as_str()).collect();
            format!(
                "{target} is a conditional update, with the risks {}: `windtunnel risks` evaluates them",
                names.join(", ")
            )
        }
        None => {
            let channel = Some(version.text("/spec/channel")).filter(|channel| !channel.is_empty());
            let channel =
                channel.map_or_else(|| "no channel".to_owned(), |channel| format!("channel {channel}"));
            format!("{target} is not among the available updates of the cluster, in {channel}")
        }
    })
}

/// An API that the cluster serves and the target does not, and that somebody has asked for in the last day.
fn removed_api(count: &Object, from: &Version, target: &Version) -> Option<String> {
    let (_, minor) = count.text("/status/removedInRelease").split_once('.')?;
    let removed: u32 = minor.parse().ok()?;
    let [before, served] = [from, target].map(|version| Release::nearest(version).kubernetes_minor);
    let requests = count.number("/status/requestCount").unwrap_or_default();
    if removed <= before || removed > served || requests == 0 {
        return None;
    }
    let hours = count.list("/status/last24h").iter();
    let nodes = hours.flat_map(|hour| hour["byNode"].as_array().into_iter().flatten());
    let users = nodes.flat_map(|node| node["byUser"].as_array().into_iter().flatten());
    let mut names: Vec<&str> = users.filter_map(|user| user["username"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Some(format!(
        "Kubernetes 1.{removed} removed this API, {target} has 1.{served}, and it had {requests} requests in the last day, by {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_finding_names_its_object() {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "barrels.example.com" },
            "spec": { "versions": [{ "name": "v1" }] },
            "status": { "storedVersions": ["v1beta1", "v1"] },
        });
        let count = json!({
            "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount",
            "metadata": { "name": "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io" },
            "status": {
                "removedInRelease": "1.32", "requestCount": 7,
                "last24h": [{ "byNode": [{ "byUser": [{ "username": "old-client" }] }] }],
            },
        });
        let version = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
            "spec": { "channel": "stable-4.18" },
            "status": { "conditionalUpdates": [{ "release": { "version": "4.19.1" }, "risks": [{ "name": "Slow" }] }] },
        });
        let objects = [definition, count, version].map(Object::new);
        let found = warnings(
            &objects.iter().collect::<Vec<_>>(),
            &"4.18.3".parse().unwrap(),
            &"4.19.1".parse().unwrap(),
        );
        let texts: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.cause, found.text)).collect();
        for (text, part) in texts.iter().zip([
            "has v1beta1, which",
            "7 requests in the last day, by old-client",
            "the risks Slow",
        ]) {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let older = warnings(
            &objects[1..2].iter().collect::<Vec<_>>(),
            &"4.18.3".parse().unwrap(),
            &"4.18.9".parse().unwrap(),
        );
        assert!(older.is_empty(), "{older:?}");
    }
}
