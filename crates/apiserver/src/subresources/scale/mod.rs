//! The number of replicas of workloads and custom resources (`autoscaling/v1 Scale`).

mod apply;

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::resources::DEPLOYMENTS;

use crate::call::{Call, part};
use crate::field::FieldError;
use crate::kinds::custom::ScalePaths;
use crate::kinds::typed;
use crate::profile::since;
use crate::reply::{Reply, ReplyBody};
use crate::request::Method;
use crate::request::options::PatchType;
use crate::selector;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::verbs::{check_name, patched};

/// The paths that the current CustomResourceDefinition declares, if any.
pub(super) fn custom_paths(call: &Call<'_>) -> Option<ScalePaths> {
    call.kind.custom.as_ref()?.version.scale.clone()
}

/// Converts a JSON path to a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
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
        let entry = self.entry(call).map_err(|refused| self.missing_scale(call, refused))?;
        let object =
            if call.kind.custom.is_some() { call.kind.served(entry) } else { call.kind.written_form(entry) };
        let current = build_scale(&object, paths)?;
        let applies =
            call.request.method == Method::Patch && PatchType::of(call.request) == Some(PatchType::Apply);
        let mut scale = match call.request.method {
            Method::Get => return Ok(Reply::value(200, current)),
            Method::Put => replacement.unwrap_or_default(),
            Method::Patch if applies => self.apply_scale(call, &object, &current)?,
            Method::Patch => patched(call, &current)?,
            _ => return Err(Refused::method_not_allowed()),
        };
        typed::decode_as("autoscaling", "v1", "Scale", &mut scale).map_err(|why| {
            Refused::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {why}"))
        })?;
        let wanted = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        if wanted < 0 {
            let why = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", wanted, why);
            return Err(Refused::invalid("autoscaling", "Scale", &call.path.name, &[error], &self.profile));
        }
        if !applies {
            self.own_replicas(call, &object, &current, &scale);
        }
        let mut next = (*object).clone();
        for field in ["name", "namespace", "uid", "resourceVersion"] {
            if let Some(value) = scale["metadata"].get(field) {
                next["metadata"][field] = value.clone();
            }
        }
        write(&mut next, &paths.spec, wanted);
        let reply = self.update_object(call, next)?;
        match &reply.body {
            ReplyBody::Object(object) => Ok(Reply::value(reply.code, build_scale(object, paths)?)),
            _ => Ok(reply),
        }
    }
}

impl ApiServer {
    /// The rejection for a missing object, or for the scale of a Deployment in earlier minors.
    fn missing_scale(&self, call: &Call<'_>, refused: Refused) -> Refused {
        let resource = &call.kind.resource;
        let names_scale = resource.plural == DEPLOYMENTS.plural && resource.group == DEPLOYMENTS.group;
        if refused.code != 404 || !names_scale || self.profile.minor >= since::SCALE_OF_MISSING {
            return refused;
        }
        let scale = Resource { plural: "deployments/scale".into(), ..resource.clone() };
        Refused::not_found(&scale, &call.path.name)
    }
}

/// The Scale of an object.
fn build_scale(object: &Value, paths: &ScalePaths) -> Outcome<Value> {
    let number = |path: &str| object.pointer(&pointer(path)).and_then(Value::as_i64);
    let Some(replicas) = number(&paths.spec) else {
        let why = format!("the spec replicas field \"{}\" does not exist", paths.spec);
        return Err(Refused::internal(why));
    };
    let mut own = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            own[field] = value.clone();
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": own,
        "spec": { "replicas": replicas },
        "status": { "replicas": number(&paths.status).unwrap_or(0) },
    });
    let selector = match &paths.selector {
        Some(path) => object.pointer(&pointer(path)).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None if paths.own_selector => selector::text(&object["spec"]["selector"]),
        None => String::new(),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector);
    }
    if replicas == 0 {
        scale["spec"] = json!({});
    }
    Ok(scale)
}

/// Sets a number at a path that already exists.
fn write(object: &mut Value, path: &str, number: i64) {
    if let Some(place) = object.pointer_mut(&pointer(path)) {
        *place = json!(number);
    }
}
