//! Which objects of a cluster belong to the platform, and which to its users.

use std::collections::BTreeSet;

use windtunnel_core::Object;
use windtunnel_core::resources::NAMESPACES;

/// Whether an operator of the release, or the release itself, made an object: by its annotations, or by its owner.
pub(crate) fn is_of_openshift(object: &Object) -> bool {
    let mut owners = object.list("/metadata/ownerReferences").iter();
    is_of_release(object)
        || owners.any(|owner| {
            let version = owner["apiVersion"].as_str().unwrap_or_default();
            version.split('/').next().is_some_and(|group| group.ends_with(".openshift.io"))
        })
}

/// Whether the release itself has an object.
fn is_of_release(object: &Object) -> bool {
    let annotations = object["metadata"]["annotations"].as_object();
    annotations.into_iter().flatten().any(|(key, _)| key.starts_with("include.release.openshift.io/"))
}

/// The namespaces of a cluster.
#[derive(Debug)]
pub(crate) struct Namespaces {
    of_release: BTreeSet<String>,
    /// Namespaces with the name of the platform in which users have installed operators.
    of_operators: BTreeSet<String>,
}

impl Namespaces {
    /// Finds out from all objects of a cluster which namespaces are of its users.
    pub(crate) fn of<'o>(objects: impl IntoIterator<Item = &'o Object>) -> Self {
        let (mut of_release, mut of_operators) = (BTreeSet::new(), BTreeSet::new());
        for object in objects {
            if NAMESPACES.is_kind_of(object) && is_of_release(object) {
                of_release.insert(object.name().to_owned());
            }
            // OLM copies the version of an operator into the namespaces that it watches.
            let is_copy = object.label("olm.copiedFrom").is_some();
            if ["ClusterServiceVersion", "Subscription"].contains(&object.text("/kind")) && !is_copy {
                of_operators.insert(object.namespace().to_owned());
            }
        }
        Self { of_release, of_operators }
    }

    /// Whether a namespace belongs to the release.
    pub(crate) fn is_of_release(&self, name: &str) -> bool {
        self.of_release.contains(name)
    }

    /// Whether users of the cluster have the namespace: its name is not of the platform, or an operator was installed there.
    pub(crate) fn is_users(&self, name: &str) -> bool {
        let is_named_as_platform =
            name == "openshift" || ["openshift-", "kube-"].iter().any(|start| name.starts_with(start));
        !is_named_as_platform || self.of_operators.contains(name) && !self.of_release.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_of_installed_operators_are_of_users() {
        let object = |kind: &str, namespace: &str, name: &str, labels: serde_json::Value| {
            let version = if kind == "Namespace" { "v1" } else { "operators.coreos.com/v1alpha1" };
            let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
            Object::new(json!({ "apiVersion": version, "kind": kind, "metadata": metadata }))
        };
        let release = json!({ "include.release.openshift.io/self-managed-high-availability": "true" });
        let mut dns = object("Namespace", "", "openshift-dns", json!({})).to_value();
        dns["metadata"]["annotations"] = release;
        let objects = [
            Object::new(dns),
            object("ClusterServiceVersion", "openshift-logging", "logging.v6", json!({})),
            object(
                "ClusterServiceVersion",
                "openshift-ingress",
                "logging.v6",
                json!({ "olm.copiedFrom": "x" }),
            ),
            object("ClusterServiceVersion", "openshift-dns", "odd", json!({})),
        ];
        let found = Namespaces::of(&objects);
        let users = ["shop", "default", "openshift-logging"];
        let others = ["openshift", "openshift-dns", "openshift-ingress", "kube-system"];
        assert!(users.iter().all(|name| found.is_users(name)));
        assert!(others.iter().all(|name| !found.is_users(name)));
    }
}
