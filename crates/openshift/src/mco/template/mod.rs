//! The template controller: writes the MachineConfigs of the built-in roles from the ControllerConfig.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::workqueue::WorkQueue;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, FEATURE_GATES, MACHINE_CONFIGS, NODE_SETTINGS};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write, name_of, patch};

use super::annotations::{GENERATED_BY, QUICK_SWITCH};
use super::cluster_files::{self, ClusterFiles};
use super::templates::Settings;
use super::{CONTROLLER_CONFIG, membership, registries, templates};
use crate::environment::Environment;

/// How long it takes to fill the templates.
const TAKES: SignedDuration = SignedDuration::from_secs(2);

/// The template controller together with those for kubelet and registry settings, as part of the
/// machine-config controller.
#[derive(Debug, Clone)]
pub(super) struct TemplateController {
    environment: Arc<Environment>,
    queue: WorkQueue,
    started: bool,
}

impl TemplateController {
    /// A controller that has written nothing yet. The templates come from the releases of `environment`.
    pub(super) fn new(environment: Arc<Environment>) -> Self {
        Self { environment, queue: WorkQueue::default(), started: false }
    }

    /// The writes, and why the registries could not become files. The MachineConfigs with the registries stay then.
    fn sync(&self, view: &View) -> (Vec<Write>, Option<String>) {
        let Some(controller) = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG) else {
            return Default::default();
        };
        let Some(release) = self.environment.release_of(controller.text("/spec/releaseImage")) else {
            return Default::default();
        };
        let configs = [membership::MASTER, membership::WORKER].into_iter();
        let gate = view.get(&FEATURE_GATES, "", "cluster");
        let feature_set = gate.map_or("", |gate| gate.text("/spec/featureSet"));
        let is_quick = gate.is_some_and(|gate| gate.annotation(QUICK_SWITCH) == Some("true"));
        let found = registries::files(view, release.line(), &release.image);
        let registry_files = found.as_deref().unwrap_or_default().to_vec();
        let files = ClusterFiles::of(view, &controller["spec"]["proxy"], registry_files);
        let settings = Settings { cgroup_mode: super::cgroup_mode(view), feature_set, files: &files };
        let configs = configs
            .flat_map(|role| templates::machine_configs(role, &release, Some(controller.uid()), settings));
        let writes = configs
            .filter(|wanted| !is_quick || !has_old_gates(wanted, view))
            .filter(|wanted| found.is_ok() || !templates::has_registries(name_of(wanted)))
            .filter_map(|wanted| write(wanted, view))
            .collect();
        (writes, found.err())
    }
}

/// Returns whether a MachineConfig has the kubelets' feature gates, and already exists as this release generates
/// it. After a quick switch of the feature set it stays until another release generates it.
fn has_old_gates(wanted: &Value, view: &View) -> bool {
    let name = name_of(wanted);
    let there = view.get(&MACHINE_CONFIGS, "", name);
    let generated_by = wanted["metadata"]["annotations"][GENERATED_BY].as_str();
    templates::has_feature_gates(name)
        && there.is_some_and(|there| generated_by.is_some() && there.annotation(GENERATED_BY) == generated_by)
}

/// Creates or updates a MachineConfig. One without a generator belongs to the installer and is not updated.
fn write(wanted: Value, view: &View) -> Option<Write> {
    let name = name_of(&wanted);
    let Some(there) = view.get(&MACHINE_CONFIGS, "", name) else {
        return Some(Write::create(&MACHINE_CONFIGS, wanted));
    };
    let generated_by = &wanted["metadata"]["annotations"][GENERATED_BY];
    let owners = &wanted["metadata"]["ownerReferences"];
    let same = |there: &Object| {
        there["spec"] == wanted["spec"]
            && there.annotation(GENERATED_BY) == generated_by.as_str()
            && there["metadata"]["ownerReferences"] == *owners
    };
    if generated_by.is_null() || same(there) {
        return None;
    }
    let metadata = json!({ "annotations": { (GENERATED_BY): generated_by }, "ownerReferences": owners });
    // Fields that are no longer wanted must be removed explicitly.
    let spec = patch::between(&there["spec"], &wanted["spec"]).unwrap_or_else(|| wanted["spec"].clone());
    let patch = json!({ "metadata": metadata, "spec": spec });
    Some(Write::merge_patch(&MACHINE_CONFIGS, "", name, patch))
}

/// Whether a change can make MachineConfigs other than the wanted ones. Of MachineConfigs it is one of those that the controller
/// owns (`updateMachineConfig`, `deleteMachineConfig` of `pkg/controller/template`).
fn concerns(change: &Change) -> bool {
    let mut owners = change.object.list("/metadata/ownerReferences").iter();
    !change.key.is_kind(&MACHINE_CONFIGS)
        || change.kind != ChangeKind::Added && owners.any(|owner| owner["kind"] == *CONTROLLER_CONFIGS.kind)
}

fn key() -> Key {
    CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG)
}

impl Actor for TemplateController {
    fn name(&self) -> &'static str {
        "machine-config-controller/template"
    }

    fn identity(&self) -> Identity {
        super::controller_identity()
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.environment, environment);
    }

    fn interests(&self) -> Vec<Interest> {
        let objects = [
            key(),
            NODE_SETTINGS.key("", "cluster"),
            FEATURE_GATES.key("", "cluster"),
            cluster_files::pull_secret_key(),
        ];
        let kinds = registries::KINDS.into_iter().chain([MACHINE_CONFIGS]);
        objects.map(Interest::Object).into_iter().chain(kinds.map(Interest::Kind)).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let is_first = !std::mem::replace(&mut self.started, true);
        if is_first || input.changes.iter().any(concerns) {
            self.queue.add_at(key(), input.now + TAKES);
        }
        self.queue.process_answers(input.answers, input.now);
        let mut step = Step::default();
        if !self.queue.take_due(input.now).is_empty() {
            let (writes, failure) = self.sync(input.view);
            for write in writes {
                self.queue.send(&key(), write, &mut step.writes);
            }
            step.effects.extend(failure.map(|why| {
                let text = format!("Error syncing image config openshift-config: could not Create/Update MachineConfig: {why}");
                Effect::Log(klog(Severity::Info, input.now, "container_runtime_config_controller.go:555", text))
            }));
        }
        step.wake_at = self.queue.next();
        step
    }
}
