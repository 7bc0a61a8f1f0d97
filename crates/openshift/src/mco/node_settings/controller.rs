//! The controller that makes MachineConfigs of settings, and removes them with the settings.

use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Change, Identity, Key, Object, View, Write, patch};

use super::super::annotations::{GENERATED_BY, ROLE};
use super::super::ignition::{self, Dialect};
use super::super::{CONTROLLER_CONFIG, controller_identity, controller_line};
use super::{SUFFIX, Settings, contents, selects_pool};
use crate::manifests::MajorMinor;
use crate::release::Release;

/// The most conditions that the status keeps.
const CONDITIONS_MAX: usize = 3;

/// The controllers for the settings of kubelets and container runtimes, parts of the machine-config controller.
#[derive(Debug, Clone)]
pub(in crate::mco) struct SettingsController {
    settings: Settings,
    queue: WorkQueue,
    started: bool,
}

impl SettingsController {
    /// A controller for each kind of settings.
    pub(in crate::mco) fn all() -> [Self; 2] {
        Settings::ALL.map(|settings| Self { settings, queue: WorkQueue::default(), started: false })
    }

    /// Creates and updates the MachineConfigs of an object, one for each pool.
    fn apply(&self, object: &Object, view: &View, now: Time) -> Vec<Write> {
        let resource = self.settings.resource();
        let result = contents::validate(self.settings, object).map_err(|why| format!("Error: {why}"));
        let configs = match result.and_then(|()| self.configs(object, view)) {
            Ok(None) => return Vec::new(),
            Ok(Some(configs)) => configs,
            Err(why) => return self.report(object, Err(why), now).into_iter().collect(),
        };
        let mut writes: Vec<Write> = configs.iter().filter_map(|config| write(config, view)).collect();
        writes.extend(
            own(object, &configs).map(|patch| Write::merge_patch(&resource, "", object.name(), patch)),
        );
        if writes.is_empty() {
            writes.extend(self.report(object, Ok(()), now));
        }
        writes
    }

    /// The MachineConfigs of an object. `None` while one of its pools has no configuration yet.
    fn configs(&self, object: &Object, view: &View) -> Result<Option<Vec<Value>>, String> {
        let pools: Vec<&Object> =
            view.list(&MACHINE_CONFIG_POOLS).filter(|pool| selects_pool(object, pool)).collect();
        if pools.is_empty() {
            let (label, name) = (self.settings.label(), object.name());
            return Err(format!("Error: {label} {name} does not match any MachineConfigPools"));
        }
        let Some(controller) = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG) else { return Ok(None) };
        if pools.iter().any(|pool| pool.text("/spec/configuration/name").is_empty()) {
            return Ok(None);
        }
        let commit = controller.annotation(GENERATED_BY).unwrap_or_default();
        let one =
            |pool: &&Object| config_of(self.settings, object, pool, view, (controller_line(view), commit));
        pools.iter().map(one).collect::<Result<_, String>>().map(Some)
    }

    /// The status with the result of the present generation, unless it is there.
    fn report(&self, object: &Object, result: Result<(), String>, now: Time) -> Option<Write> {
        let (kind, status, message) = match result {
            Ok(()) => ("Success", "True", "Success".to_owned()),
            Err(why) => ("Failure", "False", why),
        };
        let mut conditions = object.conditions().to_vec();
        let is_same = conditions.last().is_some_and(|last| last["message"] == *message);
        if is_same && object.number("/status/observedGeneration") == Some(object.generation()) {
            return None;
        }
        if is_same {
            conditions.pop();
        }
        conditions.push(json!({
            "type": kind, "status": status, "message": message, "lastTransitionTime": rfc3339(now),
        }));
        let surplus = conditions.len().saturating_sub(CONDITIONS_MAX);
        conditions.drain(..surplus);
        let mut value = object.to_value();
        value["status"]["conditions"] = Value::Array(conditions);
        value["status"]["observedGeneration"] = json!(object.generation());
        Some(Write::update_status(&self.settings.resource(), value))
    }

    /// Deletes the MachineConfig of the first finalizer, and then removes the finalizer.
    fn remove(&self, object: &Object, view: &View) -> Vec<Write> {
        let finalizers = object.list("/metadata/finalizers");
        let Some(first) = finalizers.first().and_then(Value::as_str) else { return Vec::new() };
        let mut writes = Vec::new();
        if view.get(&MACHINE_CONFIGS, "", first).is_some() {
            writes.push(Write::delete(&MACHINE_CONFIGS, "", first));
        }
        let patch = json!({ "metadata": { "finalizers": finalizers[1..] } });
        writes.push(Write::merge_patch(&self.settings.resource(), "", object.name(), patch));
        writes
    }
}

/// The MachineConfig of settings for a pool, by the controller of a minor and a commit.
fn config_of(
    settings: Settings,
    object: &Object,
    pool: &Object,
    view: &View,
    (line, commit): (MajorMinor, &str),
) -> Result<Value, String> {
    let mut config = ignition::empty(Dialect::new(line));
    let files = contents::files(settings, object);
    if !files.is_empty() {
        config["storage"] = json!({ "files": files });
    }
    let resource = settings.resource();
    Ok(json!({
        "apiVersion": MACHINE_CONFIGS.api_version(),
        "kind": MACHINE_CONFIGS.kind,
        "metadata": {
            "name": settings.config_name(object, pool, view)?,
            "labels": { (ROLE): pool.name() },
            "annotations": { (GENERATED_BY): commit },
            "ownerReferences": [{
                "apiVersion": resource.api_version(), "kind": resource.kind, "name": object.name(),
                "uid": object.uid(), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "config": config },
    }))
}

/// The MachineConfigs that the controller of a release has made for a pool of the valid settings in a view.
pub(in crate::mco) fn applied_configs(pool: &Object, view: &View, release: &Release) -> Vec<Value> {
    let commit = release.machine_config_commit();
    let of_kind = |settings: Settings| {
        let objects = view.list(&settings.resource()).filter(|object| selects_pool(object, pool));
        let valid = objects.filter(move |object| contents::validate(settings, object).is_ok());
        valid
            .filter_map(|object| config_of(settings, object, pool, view, (release.line(), &commit)).ok())
            .collect::<Vec<_>>()
    };
    Settings::ALL.into_iter().flat_map(of_kind).collect()
}

/// Creates or updates a MachineConfig.
fn write(wanted: &Value, view: &View) -> Option<Write> {
    let name = windtunnel_core::name_of(wanted);
    let Some(there) = view.get(&MACHINE_CONFIGS, "", name) else {
        return Some(Write::create(&MACHINE_CONFIGS, wanted.clone()));
    };
    let metadata = &wanted["metadata"];
    let commit = metadata["annotations"][GENERATED_BY].as_str();
    let is_same = there["spec"]["config"] == wanted["spec"]["config"]
        && there.annotation(GENERATED_BY) == commit
        && there["metadata"]["ownerReferences"] == metadata["ownerReferences"];
    if is_same {
        return None;
    }
    // Fields that are no longer wanted must be removed explicitly.
    let config = patch::between(&there["spec"]["config"], &wanted["spec"]["config"]);
    let metadata =
        json!({ "annotations": metadata["annotations"], "ownerReferences": metadata["ownerReferences"] });
    let mut patch = json!({ "metadata": metadata });
    if let Some(config) = config {
        patch["spec"]["config"] = config;
    }
    Some(Write::merge_patch(&MACHINE_CONFIGS, "", name, patch))
}

/// The patch that records the MachineConfigs in their object: as finalizers, and their number in an annotation.
fn own(object: &Object, configs: &[Value]) -> Option<Value> {
    let mut metadata = json!({});
    let mut finalizers = object.list("/metadata/finalizers").to_vec();
    for config in configs {
        let name = &config["metadata"]["name"];
        if !finalizers.contains(name) {
            finalizers.push(name.clone());
            metadata["finalizers"] = json!(finalizers);
        }
    }
    if object.annotation(SUFFIX).is_none() {
        let name = configs.first()?["metadata"]["name"].as_str()?;
        let number = name.rsplit('-').next().filter(|part| part.parse::<u32>().is_ok());
        metadata["annotations"] = json!({ (SUFFIX): number.unwrap_or_default() });
    }
    metadata.as_object().is_some_and(|metadata| !metadata.is_empty()).then(|| json!({ "metadata": metadata }))
}

/// Returns whether a change can change MachineConfigs of settings. The progress of a pool cannot.
fn matters(change: &Change) -> bool {
    let part = |object: &Object| {
        let is_configured = object.text("/spec/configuration/name").is_empty();
        (object["metadata"]["labels"].clone(), is_configured)
    };
    !change.key.is_kind(&MACHINE_CONFIG_POOLS)
        || change.old.as_ref().is_none_or(|old| part(old) != part(&change.object))
}

impl Reconcile for SettingsController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        match view.get_key(subject) {
            None => Vec::new(),
            Some(object) if !object.text("/metadata/deletionTimestamp").is_empty() => {
                self.remove(object, view)
            }
            Some(object) => self.apply(object, view, now),
        }
    }
}

impl Actor for SettingsController {
    fn name(&self) -> &'static str {
        match self.settings {
            Settings::Kubelet => "machine-config-controller/kubelet-config",
            Settings::ContainerRuntime => "machine-config-controller/container-runtime-config",
        }
    }

    fn identity(&self) -> Identity {
        controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [self.settings.resource(), MACHINE_CONFIG_POOLS].map(Interest::Kind);
        let controller = Interest::Object(CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG));
        kinds.into_iter().chain([controller]).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || input.changes.iter().any(matters) {
            let resource = self.settings.resource();
            for object in input.view.list(&resource) {
                self.queue.add(resource.key("", object.name()));
            }
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
