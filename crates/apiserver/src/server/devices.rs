//! Access to devices as an administrator, which only the label of a namespace allows (`AuthorizedForAdmin`).

use serde_json::Value;

use crate::call::RequestInfo;
use crate::field::FieldError;
use crate::store::{Store, TableId};

/// The label of namespaces whose claims may have access as an administrator.
const LABEL: &str = "resource.kubernetes.io/admin-access";
const GROUP: &str = "resource.k8s.io";
const RESULTS: &str = "/status/allocation/devices/results";

/// The error about access in a new claim or template, or in the first allocation of a claim, that the namespace does
/// not allow. `namespaces` is the table of namespaces.
pub(crate) fn check_admin_access(
    store: &Store,
    namespaces: TableId,
    info: &RequestInfo<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let Some(at) = asked(info, object, old) else { return Vec::new() };
    let namespace = store.get(namespaces, "", &info.path.namespace);
    if namespace.is_some_and(|found| found.served()["metadata"]["labels"][LABEL] == "true") {
        return Vec::new();
    }
    let why =
        format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
    vec![FieldError::forbidden(at, why)]
}

/// The path of the first access that a write asks for.
fn asked(info: &RequestInfo<'_>, object: &Value, old: Option<&Value>) -> Option<String> {
    let (pointer, owner, path) = match (old, &*info.path.subresource) {
        (None, _) if info.kind.is_resource(GROUP, "resourceclaims") => {
            ("/spec/devices/requests", "/exactly", "spec.devices.requests")
        }
        (None, _) if info.kind.is_resource(GROUP, "resourceclaimtemplates") => {
            ("/spec/spec/devices/requests", "/exactly", "spec.devices.requests")
        }
        (Some(old), "status") if info.kind.is_resource(GROUP, "resourceclaims") => {
            if first(old, RESULTS, "").is_some() {
                return None;
            }
            (RESULTS, "", "status.allocation.devices.results")
        }
        _ => return None,
    };
    first(object, pointer, owner).map(|index| format!("{path}[{index}].adminAccess"))
}

/// The index of the first element with access.
fn first(object: &Value, list: &str, owner: &str) -> Option<usize> {
    let has_access = |one: &Value| one.pointer(owner).is_some_and(|owner| owner["adminAccess"] == true);
    object.pointer(list)?.as_array()?.iter().position(has_access)
}
