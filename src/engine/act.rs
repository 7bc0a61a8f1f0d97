//! Administrator actions as the requests that `oc` and `kubectl` make.

use serde_json::{Value, json};
use windtunnel_core::resources::{self, CLUSTER_VERSIONS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::{DeleteOptions, Identity, Object, Propagation, Resource, View, Write};
use windtunnel_openshift::release::Architecture;
use windtunnel_update_status::insight::published::{CONFIG_MAP, NAMESPACE};

use super::client_warnings;
use super::error::SessionError;
use super::expectations::matching;
use super::runtime::Simulation;
use crate::plan::{Action, ObjectRef, Target};
use crate::record::ADMINISTRATOR;

/// Makes the request for an action. Components react when the simulation settles.
pub(super) fn perform_action(simulation: &mut Simulation, action: &Action) -> Result<(), SessionError> {
    let write = match action {
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
        Action::Patch { object, patch, status } => return patch_all(simulation, object, patch, *status),
        Action::Delete { object, cascade } => {
            // `oc delete` always names a policy.
            let propagation = Some(cascade.unwrap_or(Propagation::Background));
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            Write::delete_with(&object.resource, &object.namespace, &object.name, options)
        }
        Action::Join { node, labels } => return simulation.join(node, labels),
        Action::Log { namespace, pod, container, lines } => {
            return simulation.print_to_pods(namespace, pod, container.as_deref(), lines);
        }
        Action::Fault { fault, event: Some(event), after, lasts } => {
            return simulation.await_fault(event, fault, *after, *lasts);
        }
        Action::Fault { fault, event: None, after, lasts } => {
            return simulation.plan_fault(fault, *after, *lasts);
        }
        Action::Heal(faulty) => {
            simulation.check_has_fault(faulty)?;
            return simulation.heal(faulty);
        }
    };
    let unknown = match action {
        Action::Apply(object) => client_warnings::unknown_fields(&simulation.view, &write.resource, object),
        _ => Vec::new(),
    };
    make(simulation, &write)?;
    client_warnings::print(simulation, "apply", &write, &unknown);
    Ok(())
}

fn make(simulation: &mut Simulation, write: &Write) -> Result<(), SessionError> {
    let answer = simulation.write(ADMINISTRATOR, &Identity::admin(), write);
    answer.map(drop).map_err(|rejection| SessionError::refused(write, rejection))
}

/// Merges a patch into all objects of a reference, or into their status.
fn patch_all(
    simulation: &mut Simulation,
    object: &ObjectRef,
    patch: &Value,
    status: bool,
) -> Result<(), SessionError> {
    let resource = &object.resource;
    let merge = if status { Write::merge_patch_status } else { Write::merge_patch };
    let found = matching::objects(&simulation.view, object);
    let writes: Vec<Write> =
        found.map(|found| merge(resource, found.namespace(), found.name(), patch.clone())).collect();
    if writes.is_empty() {
        let known = simulation.view.list_in(resource, &object.namespace).map(Object::name);
        let hint = did_you_mean(&object.name, known);
        return Err(SessionError::NotThere {
            kind: resource.kind.to_string(),
            name: object.name.clone(),
            hint,
        });
    }
    let unknown = client_warnings::unknown_fields(&simulation.view, resource, patch);
    writes.iter().try_for_each(|write| {
        make(simulation, write)?;
        client_warnings::print(simulation, "patch", write, &unknown);
        Ok(())
    })
}

fn cluster_version_patch(patch: Value) -> Write {
    Write::merge_patch(&CLUSTER_VERSIONS, "", "version", patch)
}

/// Returns the patch of `spec.desiredUpdate` as `oc adm upgrade` writes it. A target version sets `version`
/// and `image`, a target image only `image`; either ends a request of another architecture.
fn request_update(simulation: &Simulation, to: &Target, force: bool) -> Result<Write, SessionError> {
    let (version, image) = match to {
        Target::Image(image) => (Value::Null, image.clone()),
        Target::Version(version) => {
            let releases = &simulation.environment.releases;
            let release = releases.get(version).ok_or_else(|| SessionError::NoRelease {
                version: version.to_string(),
                known: releases.keys().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            })?;
            (json!(version.to_string()), release.payload_image(architecture(simulation)))
        }
    };
    let force = if force { json!(true) } else { Value::Null };
    let update = json!({ "version": version, "image": image, "force": force, "architecture": null });
    Ok(cluster_version_patch(json!({ "spec": { "desiredUpdate": update } })))
}

/// The architecture of the release that the cluster runs.
fn architecture(simulation: &Simulation) -> Architecture {
    let cluster_version = simulation.view.cluster_version();
    let image = cluster_version.map(|found| found.text("/status/desired/image")).unwrap_or_default();
    simulation.environment.release_of(image).map(|release| release.architecture).unwrap_or_default()
}

/// Finds the kind of an object, by the CustomResourceDefinitions of the cluster if no other one fits.
fn kind_of(object: &Value, view: &View) -> Result<Resource, SessionError> {
    let definitions = view.list(&CUSTOM_RESOURCE_DEFINITIONS).map(|definition| &**definition);
    resources::find_or_defined(object, definitions).ok_or_else(|| {
        let kind = object["kind"].as_str().unwrap_or_default();
        let hint = did_you_mean(kind, resources::ALL.iter().map(|resource| &*resource.kind));
        SessionError::UnknownKind { kind: kind.to_owned(), hint }
    })
}

/// Creates an object, or merges it into the existing one.
fn apply(simulation: &Simulation, object: &Value) -> Result<Write, SessionError> {
    let resource = kind_of(object, &simulation.view)?;
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    Ok(match simulation.view.get(&resource, namespace, name) {
        None => Write::create(&resource, object.clone()),
        Some(_) => Write::merge_patch(&resource, namespace, name, object.clone()),
    })
}
