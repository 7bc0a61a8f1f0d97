//! The groups and versions that APIServices delegate to other servers (`kube-aggregator`). There is no cluster network here, so none
//! of them can be reached: discovery lists them, and their paths answer 503.

use std::cmp::Reverse;

use serde_json::Value;

use super::{Group, groups, kinds, sorted_versions};
use crate::kinds::catalog::Catalog;
use crate::store::{Store, TableId};

/// A group and a version of another server.
struct Delegated {
    group: String,
    version: String,
    /// Groups with a higher priority come first.
    priority: i64,
}

/// All groups: those with served kinds, then those of other servers. A group may have versions of both.
pub(crate) fn all_groups(catalog: &Catalog, store: &Store) -> Vec<Group> {
    let mut all = groups(catalog);
    for Delegated { group, version, .. } in delegated(catalog, store) {
        match all.iter_mut().find(|known| known.name == group) {
            Some(known) => {
                let mut versions = std::mem::take(&mut known.versions);
                versions.push(version);
                known.versions = sorted_versions(versions);
            }
            None => all.push(Group { name: group, versions: vec![version] }),
        }
    }
    all
}

/// Whether another server has a group and version.
pub(crate) fn is_delegated(catalog: &Catalog, store: &Store, group: &str, version: &str) -> bool {
    let has_kinds = kinds(catalog, group, version).next().is_some();
    let name = format!("{version}.{group}");
    let service = (!has_kinds).then(|| store.get(table(catalog)?, "", &name)).flatten();
    service.is_some_and(|entry| has_service(&entry.served().tree()))
}

/// The groups and versions of other servers that this one does not serve itself, those of a high priority first.
fn delegated(catalog: &Catalog, store: &Store) -> Vec<Delegated> {
    let services = table(catalog).into_iter().flat_map(|table| store.list(table, ""));
    let mut found: Vec<Delegated> = services
        .filter_map(|(_, _, entry)| {
            let service = entry.served().tree();
            let text = |field: &str| service["spec"][field].as_str().unwrap_or_default().to_owned();
            let (group, version) = (text("group"), text("version"));
            let is_own = kinds(catalog, &group, &version).next().is_some();
            let priority = service["spec"]["groupPriorityMinimum"].as_i64().unwrap_or(0);
            (has_service(&service) && !is_own).then_some(Delegated { group, version, priority })
        })
        .collect();
    found.sort_by(|left, right| {
        (Reverse(left.priority), &left.group).cmp(&(Reverse(right.priority), &right.group))
    });
    found
}

fn has_service(api_service: &Value) -> bool {
    !api_service["spec"]["service"].is_null()
}

fn table(catalog: &Catalog) -> Option<TableId> {
    catalog.find("apiregistration.k8s.io", "v1", "apiservices").map(|kind| kind.table)
}
