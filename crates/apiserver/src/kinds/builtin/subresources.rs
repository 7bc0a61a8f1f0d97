//! The subresources of built-in kinds, except `status`.

use windtunnel_core::Resource;

use crate::profile::since;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Subresource {
    /// The last part of the path.
    pub(crate) name: &'static str,
    /// Group, version and kind of the objects that it reads and writes.
    pub(crate) kind: (&'static str, &'static str, &'static str),
    /// Verbs, in the order of discovery.
    pub(crate) verbs: &'static [&'static str],
    /// The first minor that serves it.
    pub(crate) since: u32,
}

const CREATE: &[&str] = &["create"];
const GET: &[&str] = &["get"];
const UPDATE: &[&str] = &["update"];
const READ_AND_WRITE: &[&str] = &["get", "patch", "update"];
const CONNECT: &[&str] = &["create", "get"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];

const SCALE: Subresource =
    Subresource { name: "scale", kind: ("autoscaling", "v1", "Scale"), verbs: READ_AND_WRITE, since: 0 };

const fn core(name: &'static str, kind: &'static str, verbs: &'static [&'static str]) -> Subresource {
    Subresource { name, kind: ("", "v1", kind), verbs, since: 0 }
}

/// Subresources by group and plural.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &[Subresource])] = &[
    ("", "namespaces", &[core("finalize", "Namespace", UPDATE)]),
    ("", "nodes", &[core("proxy", "NodeProxyOptions", PROXY)]),
    ("", "pods", &[
        core("attach", "PodAttachOptions", CONNECT),
        core("binding", "Binding", CREATE),
        core("ephemeralcontainers", "Pod", READ_AND_WRITE),
        Subresource { name: "eviction", kind: ("policy", "v1", "Eviction"), verbs: CREATE, since: 0 },
        core("exec", "PodExecOptions", CONNECT),
        core("log", "Pod", GET),
        core("portforward", "PodPortForwardOptions", CONNECT),
        core("proxy", "PodProxyOptions", PROXY),
        Subresource { since: since::POD_RESIZE_PART, ..core("resize", "Pod", READ_AND_WRITE) },
    ]),
    ("", "replicationcontrollers", &[SCALE]),
    ("", "serviceaccounts", &[
        Subresource { name: "token", kind: ("authentication.k8s.io", "v1", "TokenRequest"), verbs: CREATE, since: 0 },
    ]),
    ("", "services", &[core("proxy", "ServiceProxyOptions", PROXY)]),
    ("apps", "deployments", &[SCALE]),
    ("apps", "replicasets", &[SCALE]),
    ("apps", "statefulsets", &[SCALE]),
    ("certificates.k8s.io", "certificatesigningrequests", &[
        Subresource {
            name: "approval",
            kind: ("certificates.k8s.io", "v1", "CertificateSigningRequest"),
            verbs: READ_AND_WRITE,
            since: 0,
        },
    ]),
];

/// The subresources of a kind, except `status`.
pub(super) fn of(resource: &Resource) -> &'static [Subresource] {
    let found =
        TABLE.iter().find(|(group, plural, _)| *group == resource.group && *plural == resource.plural);
    found.map_or(&[], |(.., subresources)| subresources)
}
