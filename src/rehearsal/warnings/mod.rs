//! Findings that need no run.
//!
//! * `alerts.rs`: alerts that fire
//! * `certificates.rs`: certificates that end soon
//! * `kubelets.rs`: kubelets that are too old for a release on the way
//! * `risks.rs`: risks of conditional updates

mod alerts;
mod certificates;
mod kubelets;
mod risks;

use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::resources::{
    CERTIFICATE_SIGNING_REQUESTS, CLUSTER_OPERATORS, CLUSTER_VERSIONS, CUSTOM_RESOURCE_DEFINITIONS,
};
use windtunnel_openshift::release::Release;

pub use self::certificates::CertificateEnd;
use super::cause::Blamed;

/// Something in a cluster that an administrator should know before an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The object.
    pub cause: Blamed,
    /// What is the matter, and what to do.
    pub text: String,
}

/// What findings are made from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'e> {
    /// The objects of the cluster.
    pub objects: &'e [&'e Object],
    /// The body of Prometheus' answer about alerts, if there is one.
    pub alerts: Option<&'e str>,
    /// The ends of the certificates in Secrets.
    pub certificates: &'e [CertificateEnd],
}

/// Finds what to know before updates from a release to each of `targets` in turn.
pub fn warnings(evidence: &Evidence<'_>, from: &Version, targets: &[Version]) -> Vec<Warning> {
    let mut found = Vec::new();
    let hops: Vec<(&Version, &Version)> = [from].into_iter().chain(targets).zip(targets).collect();
    for object in evidence.objects {
        let mut texts = Vec::new();
        if CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object) {
            texts.extend(stored_version(object));
        } else if CLUSTER_VERSIONS.is_kind_of(object) && object.name() == "version" {
            texts.extend(targets.first().and_then(|target| edge(object, target)));
        } else if CERTIFICATE_SIGNING_REQUESTS.is_kind_of(object) {
            texts.extend(pending_request(object));
        } else if CLUSTER_OPERATORS.is_kind_of(object) {
            texts.extend(targets.last().and_then(|target| unknown_operator(object, target)));
        } else if object.text("/kind") == "APIRequestCount" {
            texts.extend(hops.iter().filter_map(|(from, to)| removed_api(object, from, to)));
        }
        found.extend(texts.into_iter().map(|text| Warning { cause: Blamed::object(object), text }));
    }
    found.extend(targets.first().into_iter().flat_map(|target| risks::find(evidence.objects, target)));
    found.extend(certificates::find(evidence));
    found.extend(kubelets::find(evidence.objects, from, targets));
    found.extend(evidence.alerts.into_iter().flat_map(alerts::find));
    found
}

/// An operator that the simulated release does not have.
fn unknown_operator(operator: &Object, target: &Version) -> Option<String> {
    let release = Release::nearest(target);
    release.operator(operator.name()).is_none().then(|| {
        format!(
            "windtunnel does not know this operator in {target}: the rehearsal shows nothing of its update"
        )
    })
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
            format!("{target} is a conditional update, with the risks {}", names.join(", "))
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
        let version = |text: &str| -> Version { text.parse().unwrap() };
        let of = |objects: &[Object], targets: &[&str]| {
            let objects: Vec<&Object> = objects.iter().collect();
            let targets: Vec<Version> = targets.iter().map(|target| version(target)).collect();
            let evidence = Evidence { objects: &objects, alerts: None, certificates: &[] };
            warnings(&evidence, &version("4.18.3"), &targets)
        };
        let found = of(&objects, &["4.19.1"]);
        let texts: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.cause, found.text)).collect();
        for (text, part) in texts.iter().zip([
            "has v1beta1, which",
            "7 requests in the last day, by old-client",
            "the risks Slow",
        ]) {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let older = of(&objects[1..2], &["4.18.9"]);
        assert!(older.is_empty(), "{older:?}");
        let second = of(&objects[1..2], &["4.18.9", "4.19.1"]);
        assert_eq!(second.len(), 1, "{second:?}");
    }
}
