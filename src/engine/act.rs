//! What an administrator does, as the requests that `oc` and `kubectl` would make.

use serde_json::{Value, json};

use super::error::SessionError;
use super::matching::name_fits;
use super::simulation::Simulation;
use crate::base::text::did_you_mean;
use crate::model::fault::{Fault, Faulty};
use crate::model::insight::published::{CONFIG_MAP, NAMESPACE};
use crate::model::resources::{self, CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, NODES, PODS};
use crate::model::{DeleteOptions, Identity, Object, Resource, Write};
use crate::record::ADMINISTRATOR;
use crate::scenario::plan::{Action, Target};

/// Makes the request that the action stands for. Components notice it when the simulation settles.
pub(super) fn act(simulation: &mut Simulation, action: &Action) -> Result<(), SessionError> {
    let write = match action {
        Action::Fault { faulty: Faulty::Pods { namespace, name }, fault } => {
            return tell_pods(simulation, namespace, name, fault.as_ref());
        }
        Action::Update { to, force } => request_update(simulation, to, *force)?,
        Action::ClearUpdate => cluster_version_patch(json!({ "spec": { "desiredUpdate": null } })),
        Action::PublishInsights => Write::create(
            &CONFIG_MAPS,
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "namespace": NAMESPACE, "name": CONFIG_MAP },
            }),
        ),
        Action::Apply(object) => apply(simulation, object)?,
        Action::Delete { object, cascade } => {
            let options = DeleteOptions { propagation: *cascade, ..DeleteOptions::default() };
            Write::delete_with(&object.resource, &object.namespace, &object.name, options)
        }
        Action::Fault { faulty: Faulty::Operator(name), fault } => {
            tell(simulation, &CLUSTER_OPERATORS, name, fault.as_ref())?
        }
        Action::Fault { faulty: Faulty::Node(name), fault } => {
            if fault.is_none() {
                simulation.power_on(name);
            }
            tell(simulation, &NODES, name, fault.as_ref())?
        }
    };
    make(simulation, &write)
}

fn make(simulation: &mut Simulation, write: &Write) -> Result<(), SessionError> {
    let answer = simulation.write(ADMINISTRATOR, &Identity::admin(), write);
    answer.map(drop).map_err(|refusal| SessionError::refused(write, refusal))
}

fn cluster_version_patch(patch: Value) -> Write {
    Write::merge_patch(&CLUSTER_VERSIONS, "", "version", patch)
}

/// `spec.desiredUpdate` as `oc adm upgrade` writes it: with the image of a version, and with only the image of an
/// image.
fn request_update(simulation: &Simulation, to: &Target, force: bool) -> Result<Write, SessionError> {
    let (version, image) = match to {
        Target::Image(image) => (Value::Null, image.clone()),
        Target::Version(version) => {
            let releases = &simulation.world.releases;
            let release = releases.get(version).ok_or_else(|| SessionError::NoRelease {
                version: version.to_string(),
                known: releases.keys().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            })?;
            (json!(version.to_string()), release.image.clone())
        }
    };
    let force = if force { json!(true) } else { Value::Null };
    Ok(cluster_version_patch(
        json!({ "spec": { "desiredUpdate": { "version": version, "image": image, "force": force } } }),
    ))
}

/// Tells an operator or a node how it is.
fn tell(
    simulation: &Simulation,
    resource: &Resource,
    name: &str,
    fault: Option<&Fault>,
) -> Result<Write, SessionError> {
    let known: Vec<&str> = simulation.view.list(resource).map(Object::name).collect();
    if !known.contains(&name) {
        return Err(not_there(resource, name, known));
    }
    Ok(Write::merge_patch(resource, "", name, Fault::patch(fault)))
}

/// Tells the pods of a name how they are.
fn tell_pods(
    simulation: &mut Simulation,
    namespace: &str,
    name: &str,
    fault: Option<&Fault>,
) -> Result<(), SessionError> {
    let known = || simulation.view.list_in(&PODS, namespace).map(Object::name);
    let told: Vec<String> = known().filter(|pod| name_fits(pod, name)).map(str::to_owned).collect();
    if told.is_empty() {
        return Err(not_there(&PODS, name, known().collect()));
    }
    told.iter()
        .try_for_each(|pod| make(simulation, &Write::merge_patch(&PODS, namespace, pod, Fault::patch(fault))))
}

fn not_there(resource: &Resource, name: &str, known: Vec<&str>) -> SessionError {
    let hint = did_you_mean(name, known);
    SessionError::NotThere { kind: resource.kind.to_string(), name: name.to_owned(), hint }
}

/// Creates an object, or merges it into the one that is there.
fn apply(simulation: &Simulation, object: &Value) -> Result<Write, SessionError> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let resource = resources::by_kind(kind).ok_or_else(|| {
        let hint = did_you_mean(kind, resources::ALL.iter().map(|resource| &*resource.kind));
        SessionError::UnknownKind { kind: kind.to_owned(), hint }
    })?;
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    Ok(match simulation.view.get(resource, namespace, name) {
        None => Write::create(resource, object.clone()),
        Some(_) => Write::merge_patch(resource, namespace, name, object.clone()),
    })
}
