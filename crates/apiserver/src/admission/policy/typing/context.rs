//! Declarations of the variables `request` and `namespaceObject`.

use std::sync::Arc;

use super::builtin::simple;
use crate::cel::decl::{Decl, ListEquality, Shape};

fn object(name: &str, fields: impl IntoIterator<Item = (&'static str, Arc<Decl>)>) -> Arc<Decl> {
    let fields = fields.into_iter().map(|(name, decl)| (name.to_owned(), decl)).collect();
    let mut decl = Decl::new(Shape::Object(fields), 0, 0);
    decl.name = format!("kubernetes.{name}");
    Arc::new(decl)
}

fn texts(names: &[&'static str]) -> Vec<(&'static str, Arc<Decl>)> {
    names.iter().map(|name| (*name, simple(Shape::String))).collect()
}

fn list(items: Arc<Decl>) -> Arc<Decl> {
    simple(Shape::List { items, equality: ListEquality::Ordered })
}

fn text_list() -> Arc<Decl> {
    list(simple(Shape::String))
}

/// The variable `request` (`BuildRequestType`).
pub(super) fn request() -> Arc<Decl> {
    let kind = || object("GroupVersionKind", texts(&["group", "version", "kind"]));
    let resource = || object("GroupVersionResource", texts(&["group", "version", "resource"]));
    let mut user = texts(&["username", "uid"]);
    user.extend([
        ("groups", text_list()),
        ("extra", simple(Shape::Map { values: text_list(), longest_key: 0 })),
    ]);
    let mut fields = texts(&["subResource", "requestSubResource", "name", "namespace", "operation"]);
    fields.extend([
        ("kind", kind()),
        ("resource", resource()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("userInfo", object("UserInfo", user)),
        ("dryRun", simple(Shape::Bool)),
        // Any value, like an int-or-string.
        ("options", simple(Shape::IntOrString)),
    ]);
    object("AdmissionRequest", fields)
}

/// The variable `namespaceObject` (`BuildNamespaceType`).
pub(super) fn namespace() -> Arc<Decl> {
    let time = || simple(Shape::DateTime);
    let number = || simple(Shape::Int);
    let text_map = || simple(Shape::Map { values: simple(Shape::String), longest_key: 0 });
    let mut condition = texts(&["status", "type", "message", "reason"]);
    condition.push(("lastTransitionTime", time()));
    let conditions = list(object("NamespaceCondition", condition));
    let status = [("conditions", conditions), ("phase", simple(Shape::String))];
    let mut metadata = texts(&["name", "generateName", "namespace", "UID", "resourceVersion"]);
    metadata.extend([
        ("labels", text_map()),
        ("annotations", text_map()),
        ("creationTimestamp", time()),
        ("deletionTimestamp", time()),
        ("deletionGracePeriodSeconds", number()),
        ("generation", number()),
        ("finalizers", text_list()),
    ]);
    let spec = object("NamespaceSpec", [("finalizers", text_list())]);
    let fields = [
        ("metadata", object("NamespaceMetadata", metadata)),
        ("spec", spec),
        ("status", object("NamespaceStatus", status)),
    ];
    object("Namespace", fields)
}
