//! The kinds that the server has without a CustomResourceDefinition, in one table for each family of API
//! groups.

mod cluster;
mod core;
mod deprecations;
mod extensions;
mod metadata;
mod subresources;
mod workloads;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use windtunnel_core::Resource;
use windtunnel_core::requests::aggregated::AggregatedKind;

use super::view::View;
use super::{Dependents, Generation, Kind, Rules, StatusMetadata, defaults, validation};
use crate::names::NameRule;
use crate::store::TableId;
pub(crate) use subresources::Subresource;

/// The common rules: names are DNS subdomains, there is no status and no generation, and updates may
/// overwrite.
const PLAIN: Rules = Rules {
    names: NameRule::Subdomain,
    status: false,
    status_metadata: StatusMetadata::Taken,
    generation: Generation::None,
    unconditional_update: true,
    create_on_update: false,
    stored: true,
    verbs: &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    dependents: Dependents::Deleted,
};
/// A status, and a generation that counts changes of the specification.
const SPEC_AND_STATUS: Rules = Rules { status: true, generation: Generation::Specification, ..PLAIN };
/// A generation that counts changes of the specification.
const COUNTED: Rules = Rules { generation: Generation::Specification, ..PLAIN };
/// A generation that also counts lists and maps without elements.
const COUNTED_EXACTLY: Rules = Rules { generation: Generation::ExactSpecification, ..PLAIN };
/// A status, but no generation.
const STATUS: Rules = Rules { status: true, ..PLAIN };
/// A status, and a generation that counts changes of the specification; a status write cannot change metadata.
const SPEC_AND_SEPARATE_STATUS: Rules = Rules { status_metadata: StatusMetadata::Ignored, ..SPEC_AND_STATUS };
/// Reviews: the server answers them on creation and does not store them.
const REVIEW: Rules = Rules { stored: false, verbs: &["create"], ..PLAIN };
/// An update of an absent object creates it.
const UPSERT: Rules = Rules { create_on_update: true, ..PLAIN };
/// Updates require the resource version.
const CONDITIONAL: Rules = Rules { unconditional_update: false, ..PLAIN };
/// Status and generation. A deletion orphans dependents by default, because the version is older than the
/// garbage collector.
const ORPHANING: Rules = Rules { dependents: Dependents::Orphaned, ..SPEC_AND_STATUS };
/// A generation; updates require the resource version.
const COUNTED_CONDITIONAL: Rules = Rules { unconditional_update: false, ..COUNTED };

/// The Kubernetes minors that serve a row.
type Minors = RangeInclusive<u32>;

/// A kind in one of its versions. The first row of a plural is the storage version.
struct Row {
    resource: Resource,
    rules: Rules,
    short_names: &'static [&'static str],
    minors: Minors,
}

/// Rows of a table: scope, group, version, kind, plural, rules, short names and, unless all minors serve it,
/// the minors.
macro_rules! rows {
    ($($scope:ident $group:expr, $version:literal, $kind:literal, $plural:literal, $rules:expr, $short:expr
       $(, $minors:expr)?;)*) => {
        &[$(Row {
            resource: Resource::$scope($group, $version, $kind, $plural),
            rules: $rules,
            short_names: &$short,
            minors: rows!(@minors $($minors)?),
        }),*]
    };
    (@minors) => { 0..=u32::MAX };
    (@minors $minors:expr) => { $minors };
}
use rows;

const TABLES: [&[Row]; 4] = [core::ROWS, workloads::ROWS, cluster::ROWS, extensions::ROWS];

/// Kinds that `kubectl get all` returns.
const ALL: [&str; 9] = [
    "pods",
    "replicationcontrollers",
    "services",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "horizontalpodautoscalers",
    "jobs",
];

/// Further categories, by plural.
const CATEGORIES: [(&str, &str); 9] = [
    ("cronjobs", "all"),
    ("customresourcedefinitions", "api-extensions"),
    ("apiservices", "api-extensions"),
    ("validatingwebhookconfigurations", "api-extensions"),
    ("mutatingwebhookconfigurations", "api-extensions"),
    ("validatingadmissionpolicies", "api-extensions"),
    ("validatingadmissionpolicybindings", "api-extensions"),
    ("mutatingadmissionpolicies", "api-extensions"),
    ("mutatingadmissionpolicybindings", "api-extensions"),
];

/// All built-in kinds in all their versions. `table` allocates a table for each plural.
pub(crate) fn all(mut table: impl FnMut() -> TableId) -> Vec<Kind> {
    let mut tables: BTreeMap<(String, String), (TableId, Resource)> = BTreeMap::new();
    let mut kinds = Vec::new();
    for row in TABLES.into_iter().flatten() {
        let resource = &row.resource;
        // Events of both groups are the same objects.
        let group = if resource.plural == "events" { "" } else { &resource.group };
        let (table, storage) = tables
            .entry((group.to_owned(), resource.plural.to_string()))
            .or_insert_with(|| (table(), resource.clone()));
        kinds.push(Kind {
            list_kind: format!("{}List", resource.kind),
            singular: resource.kind.to_lowercase(),
            short_names: row.short_names.iter().map(|&name| name.to_owned()).collect(),
            categories: categories(&resource.plural),
            table: *table,
            rules: row.rules,
            minors: row.minors.clone(),
            view: View::of(resource, storage),
            validators: validation::of(&resource.group, &resource.plural),
            defaults: defaults::of(group, &resource.plural),
            subresources: subresources::of(resource),
            deprecation: deprecations::of(resource),
            metadata: metadata::of(&resource.group, &resource.plural),
            custom: None,
            resource: resource.clone(),
        });
    }
    kinds
}

/// A kind of an aggregated API server, in a table.
pub(crate) fn aggregated(kind: AggregatedKind, table: TableId) -> Kind {
    let AggregatedKind { resource, short_names, verbs, shows } = kind;
    Kind {
        list_kind: format!("{}List", resource.kind),
        singular: resource.kind.to_lowercase(),
        short_names: short_names.iter().map(|&name| name.to_owned()).collect(),
        categories: Vec::new(),
        table,
        rules: Rules { stored: shows.is_some(), verbs, ..PLAIN },
        minors: 0..=u32::MAX,
        view: shows.map_or(View::Computed, View::Alias),
        validators: None,
        defaults: None,
        subresources: &[],
        deprecation: None,
        metadata: metadata::of(&resource.group, &resource.plural),
        custom: None,
        resource,
    }
}

fn categories(plural: &str) -> Vec<String> {
    let all = ALL.contains(&plural).then_some("all");
    let other = CATEGORIES.iter().find(|(name, _)| *name == plural).map(|(_, category)| *category);
    all.into_iter().chain(other).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(group: &str, plural: &str, minor: u32) -> String {
        let kinds = all(|| 0);
        let served =
            kinds.iter().filter(|kind| kind.is_resource(group, plural) && kind.minors.contains(&minor));
        served.map(|kind| kind.resource.version.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn serves_each_version_only_in_its_minors() {
        for (group, plural, minor, versions) in [
            ("policy", "poddisruptionbudgets", 24, "v1 v1beta1"),
            ("policy", "poddisruptionbudgets", 25, "v1"),
            ("autoscaling", "horizontalpodautoscalers", 25, "v2 v1 v2beta2"),
            ("autoscaling", "horizontalpodautoscalers", 26, "v2 v1"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas", 28, "v1beta3 v1beta2"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas", 31, "v1 v1beta3"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas", 32, "v1"),
            ("networking.k8s.io", "servicecidrs", 32, ""),
            ("networking.k8s.io", "servicecidrs", 33, "v1"),
        ] {
            let mut found: Vec<String> = served(group, plural, minor).split(' ').map(str::to_owned).collect();
            let mut wanted: Vec<String> = versions.split(' ').map(str::to_owned).collect();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{group} {plural} 1.{minor}");
        }
    }

    #[test]
    fn events_of_both_groups_share_one_table() {
        let mut next = 0;
        let kinds = all(|| {
            next += 1;
            next
        });
        let tables: Vec<_> =
            kinds.iter().filter(|kind| kind.resource.plural == "events").map(|kind| kind.table).collect();
        assert_eq!(tables.len(), 3);
        assert!(tables.iter().all(|table| *table == tables[0]));
    }
}
