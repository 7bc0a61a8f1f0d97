//! The number of replicas of workloads and custom resources (`autoscaling/v1 Scale`).

mod apply;

use serde_json::{Map, Value, json};
use windtunnel_core::Resource;
use windtunnel_core::resources::DEPLOYMENTS;

use self::apply::{SCALE, ScaleOwners};
use crate::apply::Managers;
use crate::call::{Call, part};
use crate::field::FieldError;
use crate::gotext;
use crate::kinds::custom::ScalePaths;
use crate::metadata;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{Reply, ReplyBody};
use crate::request::Method;
use crate::request::options::PatchType;
use crate::selector;
use crate::server::ApiServer;
use crate::store::{Stored, joined};
use crate::verbs::check_name;

/// The number of replicas that a patch sees if a custom resource has none.
const UNSET: i64 = i32::MIN as i64;

/// The paths that the current CustomResourceDefinition declares, if any.
pub(super) fn custom_paths(call: &Call<'_>) -> Option<ScalePaths> {
    call.kind.custom.as_ref()?.version.scale.clone()
}

impl ApiServer {
    /// Reads or writes the scale of the object of a call.
    pub(super) fn scale(&mut self, call: &mut Call<'_>, paths: &ScalePaths) -> Outcome<Reply> {
        let replacement = match call.request.method {
            Method::Put => {
                let scale = part::body(call, &[("autoscaling", "v1")], "Scale")?;
                check_name(call, &scale)?;
                Some(scale)
            }
            _ => None,
        };
        let entry = self.entry(call).map_err(|rejection| self.missing_scale(call, rejection))?;
        let is_custom = call.kind.custom.is_some();
        let object = if is_custom { call.kind.served(entry) } else { call.kind.written_form(entry) };
        let (mut current, has_replicas) = build_scale(&object, paths)?;
        if call.request.method == Method::Get {
            if !has_replicas {
                let why = format!("the spec replicas field {} does not exist", gotext::quote(&paths.spec));
                return Err(BoxedRejection::internal_error(&why));
            }
            return Ok(Reply::object(200, Stored::new(current, None)));
        }
        if !has_replicas {
            current["spec"] = json!({ "replicas": UNSET });
        }
        let applies =
            call.request.method == Method::Patch && PatchType::of(call.request) == Some(PatchType::Apply);
        let (mut scale, mut owners) = match call.request.method {
            Method::Put => (replacement.unwrap_or_default(), ScaleOwners::default()),
            Method::Patch if applies => self.apply_scale(call, &object, &current)?,
            Method::Patch => (self.patch_scale(call, &current)?, ScaleOwners::default()),
            _ => return Err(BoxedRejection::method_not_allowed()),
        };
        check_place(call, &scale)?;
        if !applies {
            owners = self.own_replicas(call, &object, &current, &scale);
        }
        part::complete(&mut scale, &SCALE, call);
        let shown =
            |managers: Managers| Some(managers).filter(|all| !all.is_empty()).map(Managers::into_value);
        current = joined(&current, shown(owners.old).as_ref());
        scale = joined(&scale, shown(owners.new).as_ref());
        self.admit_scale(call, &SCALE, &mut current, &mut scale)?;
        let next = if is_custom {
            scaled_custom(&object, &scale, paths, call)?
        } else {
            self.scaled_workload(call, &object, &scale)?
        };
        let reply = self.update_object(call, next)?;
        match &reply.body {
            ReplyBody::Object(object) => {
                let (scale, _) = build_scale(object, paths)?;
                Ok(Reply::object(reply.code, Stored::new(scale, None)))
            }
            _ => Ok(reply),
        }
    }

    /// A workload with the number of replicas of its new Scale.
    fn scaled_workload(&self, call: &Call<'_>, object: &Value, scale: &Value) -> Outcome<Value> {
        let wanted = replicas(scale);
        if wanted < 0 {
            let why = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", wanted, why);
            return Err(BoxedRejection::invalid(
                "autoscaling",
                "Scale",
                &call.path.name,
                &[error],
                &self.profile,
            ));
        }
        let (uid, own) = (metadata::text(scale, "uid"), metadata::text(object, "uid"));
        if call.request.method == Method::Patch && !uid.is_empty() && uid != own {
            let resource = &call.kind.resource;
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {own}");
            let part = format!("{}/scale", resource.plural);
            return Err(BoxedRejection::conflict(resource, &part, &call.path.name, &why));
        }
        let mut next = object.clone();
        for field in ["uid", "resourceVersion"] {
            if let Some(value) = scale["metadata"].get(field) {
                next["metadata"][field] = value.clone();
            }
        }
        next["spec"]["replicas"] = json!(wanted);
        Ok(next)
    }
}

/// The number of replicas of a Scale, which omits a zero.
fn replicas(scale: &Value) -> i64 {
    scale["spec"]["replicas"].as_i64().unwrap_or(0)
}

/// Checks that a Scale is that of the path.
fn check_place(call: &Call<'_>, scale: &Value) -> Outcome<()> {
    let namespace = metadata::text(scale, "namespace");
    if !namespace.is_empty() && namespace != call.path.namespace {
        return Err(BoxedRejection::other_namespace());
    }
    check_name(call, scale)
}

/// A custom resource with the number of replicas of its new Scale.
fn scaled_custom(object: &Value, scale: &Value, paths: &ScalePaths, call: &Call<'_>) -> Outcome<Value> {
    let wanted = replicas(scale);
    if wanted == UNSET {
        let path = gotext::quote(&paths.spec);
        return Err(BoxedRejection::bad_request(format!("the spec replicas field {path} cannot be empty")));
    }
    let mut next = object.clone();
    let uid = metadata::text(scale, "uid");
    if call.request.method == Method::Put && !uid.is_empty() {
        next["metadata"]["uid"] = json!(uid);
    }
    let version = metadata::text(scale, "resourceVersion");
    if !version.is_empty() {
        next["metadata"]["resourceVersion"] = json!(version);
    }
    set_nested(&mut next, &names(&paths.spec), wanted)?;
    Ok(next)
}

impl ApiServer {
    /// The rejection for a missing object, or for the scale of a Deployment in earlier minors.
    fn missing_scale(&self, call: &Call<'_>, rejection: BoxedRejection) -> BoxedRejection {
        let resource = &call.kind.resource;
        let names_scale = resource.plural == DEPLOYMENTS.plural && resource.group == DEPLOYMENTS.group;
        if rejection.code != 404 || !names_scale || self.profile.minor >= since::SCALE_OF_MISSING {
            return rejection;
        }
        let scale = Resource { plural: "deployments/scale".into(), ..resource.clone() };
        BoxedRejection::not_found(&scale, &call.path.name)
    }
}

/// The Scale of an object, and whether the object has a number of replicas.
fn build_scale(object: &Value, paths: &ScalePaths) -> Outcome<(Value, bool)> {
    let number = |path: &str| match nested(object, &names(path))? {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(wrong_type(path, value, "int64")),
        },
    };
    let replicas = number(&paths.spec)?;
    let current = number(&paths.status)?.unwrap_or(0);
    let mut own = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            own[field] = value.clone();
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": own,
        "spec": { "replicas": replicas }, "status": { "replicas": current },
    });
    let selector = match &paths.selector {
        Some(path) => match nested(object, &names(path))? {
            Some(Value::String(text)) => text.clone(),
            Some(other) => return Err(wrong_type(path, other, "string")),
            None => String::new(),
        },
        None if paths.own_selector => selector::text(&object["spec"]["selector"]),
        None => String::new(),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector);
    }
    if replicas.unwrap_or(0) == 0 {
        scale["spec"] = json!({});
    }
    Ok((scale, replicas.is_some()))
}

/// The names in a JSON path.
fn names(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// The value at a path of names (`unstructured.NestedFieldNoCopy`).
fn nested<'a>(object: &'a Value, names: &[&str]) -> Outcome<Option<&'a Value>> {
    let mut value = object;
    for (depth, name) in names.iter().enumerate() {
        value = match value {
            Value::Null if depth > 0 => return Ok(None),
            Value::Object(map) => match map.get(*name) {
                Some(inner) => inner,
                None => return Ok(None),
            },
            other => return Err(wrong_type(&names[..depth].join("."), other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

/// The error for a value of another type than the path needs.
fn wrong_type(path: &str, value: &Value, expected: &str) -> BoxedRejection {
    let (path, found) = (path.trim_start_matches('.'), gotext::plain(value));
    let actual = gotext::type_name(value);
    BoxedRejection::internal(format!(
        ".{path} accessor error: {found} is of the type {actual}, expected {expected}"
    ))
}

/// Sets the number at a path of names, and adds the objects on the way (`unstructured.SetNestedField`).
fn set_nested(object: &mut Value, names: &[&str], number: i64) -> Outcome<()> {
    let Some((last, parents)) = names.split_last() else { return Ok(()) };
    let mut place = object;
    for (depth, name) in parents.iter().enumerate() {
        let Some(map) = place.as_object_mut() else { return Err(no_map(&parents[..depth])) };
        place = map.entry((*name).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    }
    match place.as_object_mut() {
        Some(map) => map.insert((*last).to_owned(), json!(number)),
        None => return Err(no_map(parents)),
    };
    Ok(())
}

fn no_map(names: &[&str]) -> BoxedRejection {
    let path = names.join(".");
    BoxedRejection::internal(format!("value cannot be set because .{path} is not a map[string]interface{{}}"))
}
