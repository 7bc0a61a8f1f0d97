//! The render controller: merges the MachineConfigs of each pool into one, with a delay after the last
//! change.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::recorder::{Notice, Recorder};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::Condition;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::{Answer, Change, ChangeKind, Identity, Key, Object, Operation, View, Write};

use super::annotations::{GENERATED_BY, RELEASE_VERSION};
use super::membership::selects;
use super::pool::conditions;
use super::rendered::{self, Images, Rendered};
use super::{CONTROLLER_CONFIG, pool_events};
use crate::manifests::MajorMinor;

/// How long it waits for further changes.
const DEBOUNCE: SignedDuration = SignedDuration::from_secs(5);

/// From this minor on messages about MachineConfigs of another controller begin in lower case.
const LOWER_CASE: MajorMinor = (5, 0);

/// The source of its Events.
const EVENT_SOURCE: &str = "machineconfigcontroller-rendercontroller";

/// The render controller, a part of the machine-config controller.
#[derive(Debug, Clone, Default)]
pub(super) struct RenderController {
    queue: WorkQueue,
    events: BTreeMap<Key, Recorder>,
    started: bool,
}

impl RenderController {
    /// A controller that has rendered nothing yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        let at = input.now + DEBOUNCE;
        if !std::mem::replace(&mut self.started, true) {
            for pool in input.view.list(&MACHINE_CONFIG_POOLS) {
                self.queue.add_at(MACHINE_CONFIG_POOLS.key_of(pool), at);
            }
        }
        for change in input.changes {
            if change.key.is_kind(&MACHINE_CONFIG_POOLS) {
                // Only spec changes and faults of a pool matter, because its status is an output.
                let input = |object: &Object| (object["spec"].clone(), fault_of(object));
                if change.old.as_ref().is_none_or(|old| input(old) != input(&change.object)) {
                    self.queue.add_at(change.key.clone(), at);
                }
                continue;
            }
            for pool in input.view.list(&MACHINE_CONFIG_POOLS) {
                let concerns = change.key.is_kind(&CONTROLLER_CONFIGS)
                    || is_deleted_target(change, pool)
                    || selects(&pool["spec"]["machineConfigSelector"], &change.object);
                if concerns {
                    self.queue.add_at(MACHINE_CONFIG_POOLS.key_of(pool), at);
                }
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    /// Reports to each pool whether its rendered MachineConfig could be created.
    fn report_creations(&mut self, input: &Input<'_>) -> Vec<Write> {
        let mut writes = Vec::new();
        for answer in input.answers {
            let Some(pool) = owner(answer).and_then(|name| input.view.get(&MACHINE_CONFIG_POOLS, "", name))
            else {
                continue;
            };
            let write = match &answer.outcome {
                Ok(config) => self.report_generated(pool, config, input.now),
                Err(rejection) => conditions::write(pool, &not_rendered(pool, &rejection.message), input.now),
            };
            if let Some(write) = write {
                self.queue.send(&MACHINE_CONFIG_POOLS.key_of(pool), write, &mut writes);
            }
        }
        writes
    }

    fn report_generated(&mut self, pool: &Object, config: &Object, now: Time) -> Option<Write> {
        let text = |key| config.annotation(key).unwrap_or_default();
        let message = format!(
            "{} successfully generated (release version: {}, controller version: {})",
            config.name(),
            text(RELEASE_VERSION),
            text(GENERATED_BY)
        );
        let key = MACHINE_CONFIG_POOLS.key_of(pool);
        let events = self.events.entry(key).or_insert_with(|| pool_events(pool, EVENT_SOURCE));
        events.refer_to(pool);
        events.record(Notice::normal("RenderedConfigGenerated", message), now)
    }
}

/// Returns whether the rendered MachineConfig of a pool was deleted. It is created again if the pool still needs it.
fn is_deleted_target(change: &Change, pool: &Object) -> bool {
    change.kind == ChangeKind::Deleted
        && change.object.list("/metadata/ownerReferences").iter().any(|owner| owner["uid"] == *pool.uid())
}

/// Creates the rendered MachineConfig, and points the pool at it once it exists.
fn publish(rendered: &Rendered, pool: &Object, controller: &Object, view: &View, now: Time) -> Vec<Write> {
    let text = |key| controller.annotation(key).unwrap_or_default();
    let (commit, version) = (text(GENERATED_BY), text(RELEASE_VERSION));
    let mut writes = Vec::new();
    match view.get(&MACHINE_CONFIGS, "", &rendered.name) {
        None => {
            return vec![Write::create(&MACHINE_CONFIGS, rendered.object(pool, commit, version))];
        }
        Some(there) if there.annotation(RELEASE_VERSION) != Some(version) => {
            let annotations = json!({ (GENERATED_BY): commit, (RELEASE_VERSION): version });
            let patch = json!({ "metadata": { "annotations": annotations } });
            writes.push(Write::merge_patch(&MACHINE_CONFIGS, "", &rendered.name, patch));
        }
        Some(_) => {}
    }
    if has_configuration(pool, rendered) {
        writes.extend(conditions::write(pool, &render_succeeded(), now));
    } else {
        // The status is written after this change, with the pool's new resource version.
        let patch = json!({ "spec": { "configuration": rendered.reference() } });
        writes.push(Write::merge_patch(&MACHINE_CONFIG_POOLS, "", pool.name(), patch));
    }
    writes
}

/// Returns whether a pool has this rendered MachineConfig as its target, with the same sources. A MachineConfig that
/// changes nothing is a source, too (`syncGeneratedMachineConfig`).
fn has_configuration(pool: &Object, rendered: &Rendered) -> bool {
    let sources = pool.list("/spec/configuration/source").iter().map(|source| &source["name"]);
    pool["spec"]["configuration"]["name"] == rendered.name && sources.eq(&rendered.sources)
}

/// The line about a write: a rendered MachineConfig, or a pool that has one.
fn line(write: &Write, input: &Input<'_>) -> Option<Effect> {
    let text = match &write.operation {
        Operation::Create(config) if write.resource == MACHINE_CONFIGS => {
            let pool = config["metadata"]["ownerReferences"][0]["name"].as_str()?;
            let pool = input.view.get(&MACHINE_CONFIG_POOLS, "", pool)?;
            let selector = &pool["spec"]["machineConfigSelector"];
            let sources = input.view.list(&MACHINE_CONFIGS).filter(|config| selects(selector, config));
            let version = MACHINE_CONFIGS.api_version();
            let sources: Vec<String> =
                sources.map(|config| format!("{{MachineConfig  {}  {version}  }}", config.name())).collect();
            let (name, count) = (config["metadata"]["name"].as_str()?, sources.len());
            format!("Generated machineconfig {name} from {count} configs: [{}]", sources.join(" "))
        }
        Operation::MergePatch(patch) if write.resource == MACHINE_CONFIG_POOLS => {
            let target = patch["spec"]["configuration"]["name"].as_str()?;
            let pool = input.view.get(&MACHINE_CONFIG_POOLS, "", &write.name)?;
            if pool.text("/spec/configuration/name") == target {
                return None;
            }
            format!("Pool {}: now targeting: {target}", write.name)
        }
        _ => return None,
    };
    Some(Effect::Log(klog(Severity::Info, input.now, "render_controller.go:556", text)))
}

/// The pool of a rendered MachineConfig whose creation was answered. `None` for other writes.
fn owner(answer: &Answer) -> Option<&str> {
    match &answer.write.operation {
        Operation::Create(config) if answer.write.resource == MACHINE_CONFIGS => {
            config["metadata"]["ownerReferences"][0]["name"].as_str()
        }
        _ => None,
    }
}

/// Renders the MachineConfig of a pool.
fn render(pool: &Object, controller: &Object, view: &View) -> Result<Rendered, String> {
    let selector = &pool["spec"]["machineConfigSelector"];
    let selected: Vec<&Object> =
        view.list(&MACHINE_CONFIGS).filter(|config| selects(selector, config)).collect();
    if selected.is_empty() {
        return Err(format!("no MachineConfigs found matching selector {}", selector_text(selector)));
    }
    generate(pool, controller, &selected, view)
        .map_err(|why| format!("could not generate rendered MachineConfig: {why}"))
}

/// Merges the MachineConfigs of a pool, if this controller may do that yet and if they can follow the present one.
fn generate(
    pool: &Object,
    controller: &Object,
    selected: &[&Object],
    view: &View,
) -> Result<Rendered, String> {
    let line = super::controller_line(view);
    let commit = controller.annotation(GENERATED_BY).unwrap_or_default();
    for config in selected {
        if let Some(other) = config.annotation(GENERATED_BY).filter(|other| *other != commit) {
            let (ignoring, name) = (if line < LOWER_CASE { "Ignoring" } else { "ignoring" }, config.name());
            return Err(format!(
                "{ignoring} MC {name} generated by older version {other} (my version: {commit})"
            ));
        }
    }
    let sources: Vec<&Value> = selected.iter().map(|config| &***config).collect();
    let images = Images {
        os: controller.text("/spec/osImageURL"),
        extensions: controller.text("/spec/baseOSExtensionsContainerImage"),
    };
    let current = view.get(&MACHINE_CONFIGS, "", pool.text("/spec/configuration/name"));
    rendered::render(current.map(|current| &**current), pool.name(), &sources, images, line)
}

/// A label selector as `key=value,...`.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",")
}

/// The fault that keeps a pool from being rendered.
fn fault_of(pool: &Object) -> Option<Fault> {
    Fault::from_annotations(pool).flatten().filter(|fault| fault.kind == FaultKind::Degraded)
}

/// The condition `RenderDegraded` of a rendered pool.
pub(super) fn render_succeeded() -> Condition {
    Condition::new("RenderDegraded", "False", "", "")
}

/// The condition `RenderDegraded` of a pool that could not be rendered.
fn not_rendered(pool: &Object, why: &str) -> Condition {
    let message = format!("Failed to render configuration for pool {}: {why}", pool.name());
    Condition::new("RenderDegraded", "True", "", message)
}

impl Reconcile for RenderController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(pool) = view.get_key(key) else { return Vec::new() };
        let Some(controller) = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG) else {
            return Vec::new();
        };
        if let Some(fault) = fault_of(pool) {
            let why = fault.message_or("rendering fails");
            let condition = Condition::new("RenderDegraded", "True", &fault.reason, why);
            return conditions::write(pool, &condition, now).into_iter().collect();
        }
        match render(pool, controller, view) {
            Ok(rendered) => publish(&rendered, pool, controller, view, now),
            Err(why) => conditions::write(pool, &not_rendered(pool, &why), now).into_iter().collect(),
        }
    }
}

impl Actor for RenderController {
    fn name(&self) -> &'static str {
        "machine-config-controller/render"
    }

    fn identity(&self) -> Identity {
        super::controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        [CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS].map(Interest::Kind).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut writes = self.report_creations(input);
        let mut step = self.reconcile(input);
        writes.append(&mut step.writes);
        step.effects = writes.iter().filter_map(|write| line(write, input)).collect();
        step.writes = writes;
        step
    }
}
