//! The parts of random requests.

use windtunnel_apiserver::Method;

#[rustfmt::skip]
pub(in crate::fuzz) const METHODS: &[Method] = &[
    Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete, Method::Other,
];
#[rustfmt::skip]
pub(in crate::fuzz) const PREFIXES: &[&str] = &[
    "/api/v1", "/api/v1/namespaces/default", "/api/v1/watch", "/apis/apps/v1/namespaces/default",
    "/apis/apiextensions.k8s.io/v1", "/apis/example.io/v1", "/apis/example.io/v2/namespaces/default",
    "/apis", "",
];
#[rustfmt::skip]
pub(in crate::fuzz) const PLURALS: &[&str] = &[
    "configmaps", "pods", "namespaces", "nodes", "deployments", "customresourcedefinitions", "versions",
    "leases", "version", "%zz", "",
];
/// Existing collections, each several times as likely as the invalid ones from the lists above.
#[rustfmt::skip]
pub(in crate::fuzz) const COLLECTIONS: &[&str] = &[
    "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods", "/api/v1/namespaces",
    "/api/v1/nodes", "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.io/v1/versions",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
];
#[rustfmt::skip]
pub(in crate::fuzz) const NAMES: &[&str] = &[
    "a", "a", "version", "version", "versions.example.io", "default", "b%2Fc", "\u{e9}", "",
];
#[rustfmt::skip]
pub(in crate::fuzz) const SUBRESOURCES: &[&str] = &[
    "", "", "", "status", "finalize", "no/such",
];
#[rustfmt::skip]
pub(in crate::fuzz) const TYPES: &[&str] = &[
    "", "", "application/json", "application/merge-patch+json", "application/json-patch+json",
    "application/json-patch+json; charset=utf-8", "application/yaml", "text/x",
];
#[rustfmt::skip]
pub(in crate::fuzz) const ACCEPTS: &[&str] = &[
    "", "*/*", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", ";;,=", "application/yaml",
];
#[rustfmt::skip]
pub(in crate::fuzz) const OPTIONS: &[&str] = &[
    "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch",
    "watch", "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds", "dryRun", "fieldValidation",
    "propagationPolicy", "gracePeriodSeconds",
];
#[rustfmt::skip]
pub(in crate::fuzz) const WORDS: &[&str] = &[
    "true", "0", "1", "-1", "9223372036854775807", "18446744073709551616", "101", "All", "Strict", "Exact",
    "NotOlderThan", "Orphan", "a in (b,", "!a", "a>1", "metadata.name=a", "status.phase!=", "bogus",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "%", "\u{0}", "\u{1F980}", "/", "Namespaced", "v1", "object",
];
/// Fields that the server knows, so that random bodies get further than the first check.
#[rustfmt::skip]
pub(in crate::fuzz) const FIELDS: &[&str] = &[
    "metadata", "spec", "status", "data", "apiVersion", "kind", "name", "namespace", "generateName", "uid",
    "resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
    "ownerReferences", "labels", "annotations", "managedFields", "group", "names", "plural", "scope",
    "versions", "schema", "openAPIV3Schema", "type", "properties", "items", "additionalProperties", "enum",
    "default", "pattern", "allOf", "not", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-embedded-resource", "storedVersions", "conditions",
];
