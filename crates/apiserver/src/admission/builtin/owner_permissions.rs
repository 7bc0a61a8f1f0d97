//! Rejects owner references that would let a user delete an object, or keep an owner from being deleted, without a permission
//! for that (`OwnerReferencesPermissionEnforcement`).

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster, Permission,
};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Resource, text_of};

use crate::gotext::quote;

/// All kinds, in rules.
const ALL: Resource = Resource::cluster("*", "*", "*", "*");
/// The subresource that represents blocking the deletion of an object.
const FINALIZERS: &str = "finalizers";

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnerReferencesPermissionEnforcement;

impl AdmissionPlugin for OwnerReferencesPermissionEnforcement {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_pod_status = request.is_of(&PODS) && request.subresource == "status";
        let writes = [AdmissionOperation::Create, AdmissionOperation::Update].contains(&request.operation);
        let Some(object) = object.filter(|_| writes && !is_pod_status) else { return Ok(()) };
        let (new, old) = (owners(object), request.old.map(owners).unwrap_or_default());
        if new == old {
            return Ok(());
        }
        // Who creates an object may give it owners: the object could as well not be there.
        if request.operation != AdmissionOperation::Create && !may_delete(request, cluster) {
            return Err(denied("cannot set an ownerRef on a resource you can't delete"));
        }
        let blocking = new.iter().filter(|owner| blocks(owner) && !did_block(old, owner));
        check_blocking(request, blocking, cluster)
    }
}

fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn blocks(owner: &Value) -> bool {
    owner["blockOwnerDeletion"] == true
}

fn did_block(old: &[Value], owner: &Value) -> bool {
    old.iter().rfind(|old| old["uid"] == owner["uid"]).is_some_and(blocks)
}

/// The rejection by authorizers that give no reason.
fn denied(why: &str) -> AdmissionRejection {
    AdmissionRejection::Forbidden(format!("{why}: , <nil>"))
}

fn may_delete(request: &AdmissionRequest<'_>, cluster: &mut dyn AdmittingCluster) -> bool {
    let permission = Permission {
        verb: "delete",
        resource: request.resource,
        subresource: request.subresource,
        namespace: request.namespace,
        name: request.name,
    };
    cluster.allows(request.user, permission)
}

/// Rejects references that block the deletion of owners whose finalizers the user may not change.
fn check_blocking<'a>(
    request: &AdmissionRequest<'_>,
    owners: impl Iterator<Item = &'a Value>,
    cluster: &mut dyn AdmittingCluster,
) -> Result<(), AdmissionRejection> {
    let mut owners = owners.peekable();
    let permission =
        Permission { verb: "update", resource: &ALL, subresource: FINALIZERS, namespace: "", name: "*" };
    if owners.peek().is_none() || cluster.allows(request.user, permission) {
        return Ok(());
    }
    for owner in owners {
        for kind in kinds(owner, cluster)? {
            let namespace = if kind.namespaced { request.namespace } else { "" };
            let permission =
                Permission { resource: &kind, namespace, name: text_of(owner, "name"), ..permission };
            if !cluster.allows(request.user, permission) {
                return Err(denied(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
                ));
            }
        }
    }
    Ok(())
}

/// The kinds of an owner.
fn kinds(owner: &Value, cluster: &dyn AdmittingCluster) -> Result<Vec<Resource>, AdmissionRejection> {
    let (version, kind) = (text_of(owner, "apiVersion"), text_of(owner, "kind"));
    let kinds = cluster.kinds(version, kind);
    if kinds.is_empty() {
        let missing = format!("no matches for kind {} in version {}", quote(kind), quote(version));
        return Err(AdmissionRejection::Forbidden(format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind {kind}: \
             {missing}"
        )));
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{CONFIG_MAPS, NODES};

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn object(owners: &[(&str, bool)]) -> Value {
        let owners: Value = owners
            .iter()
            .map(|(kind, blocks)| {
                json!({ "apiVersion": "v1", "kind": kind, "name": "o", "uid": kind, "blockOwnerDeletion": blocks })
            })
            .collect();
        json!({ "metadata": { "name": "a", "namespace": "n", "ownerReferences": owners } })
    }

    fn check(permissions: &[&str], new: &[(&str, bool)], old: Option<&[(&str, bool)]>) -> Result<(), String> {
        let node = (NODES, json!({ "metadata": { "name": "o" } }));
        let mut cluster = Cluster::new(36).with([node]).allowing(permissions);
        let (new, old) = (object(new), old.map(object));
        let plugin = OwnerReferencesPermissionEnforcement;
        cluster.validate(&plugin, &CONFIG_MAPS, "", &new, old.as_ref()).map_err(|why| match why {
            AdmissionRejection::Forbidden(text) => text,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn changed_owners_need_the_permission_to_delete_the_object() {
        let owner: &[(&str, bool)] = &[("Node", false)];
        assert_eq!(check(&[], owner, None), Ok(()));
        assert_eq!(check(&[], owner, Some(owner)), Ok(()));
        let expected = "cannot set an ownerRef on a resource you can't delete: , <nil>";
        assert_eq!(check(&[], owner, Some(&[])), Err(expected.to_owned()));
        assert_eq!(check(&["delete configmaps a"], owner, Some(&[])), Ok(()));
    }

    #[test]
    fn blocking_owners_need_the_permission_to_change_their_finalizers() {
        let owner: &[(&str, bool)] = &[("Node", true)];
        let expected = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: \
                        , <nil>";
        assert_eq!(check(&[], owner, None), Err(expected.to_owned()));
        assert_eq!(check(&["update nodes/finalizers o"], owner, None), Ok(()));
        assert_eq!(check(&["update */finalizers *"], owner, None), Ok(()));
        let delete = ["delete configmaps a"];
        assert_eq!(check(&delete, owner, Some(&[("Node", false)])), Err(expected.to_owned()));
        assert_eq!(check(&delete, owner, Some(&[("Node", true), ("Pod", false)])), Ok(()));
        let why = check(&[], &[("Widget", true)], None).unwrap_err();
        assert!(
            why.ends_with(r#"APIVersion v1 Kind Widget: no matches for kind "Widget" in version "v1""#),
            "{why}"
        );
    }
}
