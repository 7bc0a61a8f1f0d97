//! Names of schemas and operations.

use crate::facts::Type;
use crate::kinds::Kind;

/// The package of `ObjectMeta`, `Status` and similar types.
pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The schema name of a built-in type.
pub(super) fn schema(of: &Type) -> String {
    format!("{}.{}", package(of.group, of.version), of.name)
}

fn package(group: &str, version: &str) -> String {
    match group {
        "meta" => META.to_owned(),
        "apiextensions" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}"),
        "apiregistration" => format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{version}"),
        _ => format!("io.k8s.api.{group}.{version}"),
    }
}

/// The schema name of a kind, or of another type in its group and version, such as its list.
pub(super) fn of_kind(kind: &Kind, name: &str) -> String {
    let resource = &kind.resource;
    if kind.custom.is_some() {
        let mut parts: Vec<&str> = resource.group.split('.').collect();
        parts.reverse();
        return format!("{}.{}.{name}", parts.join("."), resource.version);
    }
    of_builtin(&resource.group, &resource.version, name)
}

/// The schema name of a built-in type, given its API group.
pub(super) fn of_builtin(group: &str, version: &str, name: &str) -> String {
    let group = if group.is_empty() { "core" } else { first(group) };
    format!("{}.{name}", package(group, version))
}

fn first(group: &str) -> &str {
    group.split('.').next().unwrap_or(group)
}

/// Group and version in operation ids: `CoreV1`, `RbacAuthorizationV1`, `ExampleComV1`.
pub(super) fn group_version(kind: &Kind) -> String {
    let resource = &kind.resource;
    let group = match &*resource.group {
        "" => "core",
        group if kind.custom.is_none() => group.strip_suffix(".k8s.io").unwrap_or(group),
        group => group,
    };
    group.split(['.', '-']).chain([&*resource.version]).map(capital).collect()
}

/// Capitalizes a word.
pub(super) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// Group and version in the tags of operations: `core_v1`.
pub(super) fn tag(kind: &Kind) -> String {
    let text = group_version(kind);
    let version = capital(&kind.resource.version);
    let group = text.strip_suffix(&version).unwrap_or(&text);
    let mut chars = group.chars();
    let group: String = chars.next().map(|c| c.to_ascii_lowercase()).into_iter().chain(chars).collect();
    format!("{group}_{}", kind.resource.version)
}
