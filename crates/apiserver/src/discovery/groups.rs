//! API groups, in the order of discovery.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::kinds::catalog::Catalog;

/// A group and its versions, in order of preference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Empty for the core group.
    pub(crate) name: String,
    pub(crate) versions: Vec<String>,
}

/// The built-in groups in order (`apiVersionPriorities` of the aggregator). Other groups follow by name.
const ORDER: [&str; 24] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "lifecycle.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether Kubernetes itself serves the group.
pub(crate) fn is_builtin_group(name: &str) -> bool {
    ORDER.contains(&name)
}

/// All groups with served kinds, the core group first.
pub(crate) fn groups(catalog: &Catalog) -> Vec<Group> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in catalog.served() {
        let versions = found.entry(kind.resource.group.to_string()).or_default();
        if !versions.iter().any(|version| *version == kind.resource.version) {
            versions.push(kind.resource.version.to_string());
        }
    }
    let rank = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|(name, versions)| Group { name, versions: sorted_versions(versions) })
        .collect();
    groups.sort_by(|left, right| (rank(&left.name), &left.name).cmp(&(rank(&right.name), &right.name)));
    groups
}

/// Sorts versions: stable before beta before alpha, higher before lower, other names last
/// (`version.CompareKubeAwareVersionStrings`).
pub(crate) fn sorted_versions(mut versions: Vec<String>) -> Vec<String> {
    versions.sort_by_cached_key(|version| {
        let parsed = parse(version);
        (parsed.is_none(), parsed, version.clone())
    });
    versions
}

fn parse(version: &str) -> Option<(u8, Reverse<u32>, Reverse<u32>)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, tail) = rest.split_at(digits);
    let (stage, minor) = match tail {
        "" => (0, 0),
        _ => match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(minor), _) => (1, minor.parse().ok()?),
            (_, Some(minor)) => (2, minor.parse().ok()?),
            _ => return None,
        },
    };
    Some((stage, Reverse(major.parse().ok()?), Reverse(minor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_by_preference() {
        let versions =
            ["v1alpha1", "foo", "v10", "v1beta2", "v2", "v1beta10", "v1", "bar"].map(str::to_owned);
        let order = ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"];
        assert_eq!(sorted_versions(versions.into()), order);
    }
}
