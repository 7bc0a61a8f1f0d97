//! The part of the controller that assigns PinnedImageSets to pools by their labels.

use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{
    CONTROLLER_CONFIGS, CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIG_POOLS, PINNED_IMAGE_SETS,
};
use windtunnel_core::{Change, Identity, Key, Object, View, Write};

use super::super::membership::selects;
use super::super::{CONTROLLER_CONFIG, controller_identity, pool};
use super::{DEFINITION, is_in_use};

/// The pool's condition about its sets.
const KIND: &str = "PinnedImageSetsDegraded";

/// The pinned image set controller, a part of the machine-config controller.
#[derive(Debug, Clone, Default)]
pub(in crate::mco) struct PinnedImageSetController {
    queue: WorkQueue,
    started: bool,
}

impl PinnedImageSetController {
    /// A controller that has not run yet.
    pub(in crate::mco) fn new() -> Self {
        Self::default()
    }
}

/// Returns whether a change of a pool can change its sets. Its progress cannot.
fn matters(change: &Change) -> bool {
    let part = |object: &Object| {
        let condition = condition::find_in_status(object, KIND).map(|found| found["status"].clone());
        (object["spec"].clone(), condition)
    };
    !change.key.is_kind(&MACHINE_CONFIG_POOLS)
        || change.old.as_ref().is_none_or(|old| part(old) != part(&change.object))
}

/// References to the sets that a pool selects, by name. Null if there are none.
pub(super) fn references(pool: &Object, view: &View) -> Value {
    let selector = &pool["spec"]["machineConfigSelector"];
    let mut names: Vec<&str> =
        view.list(&PINNED_IMAGE_SETS).filter(|set| selects(selector, set)).map(Object::name).collect();
    names.sort_unstable();
    let references: Vec<Value> = names.into_iter().map(|name| json!({ "name": name })).collect();
    if references.is_empty() { Value::Null } else { Value::Array(references) }
}

impl Reconcile for PinnedImageSetController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(pool) = view.get_key(subject).filter(|_| is_in_use(view)) else { return Vec::new() };
        let wanted = references(pool, view);
        if pool["spec"]["pinnedImageSets"] != wanted {
            let patch = json!({ "spec": { "pinnedImageSets": wanted } });
            return vec![Write::merge_patch(&MACHINE_CONFIG_POOLS, "", pool.name(), patch)];
        }
        if condition::has_status(pool, KIND, "False") {
            return Vec::new();
        }
        let mut list = pool.conditions().to_vec();
        pool::conditions::set(&mut list, &Condition::new(KIND, "False", "", ""), now);
        let mut value = pool.to_value();
        value["status"]["conditions"] = Value::Array(list);
        vec![Write::update_status(&MACHINE_CONFIG_POOLS, value)]
    }
}

impl Actor for PinnedImageSetController {
    fn name(&self) -> &'static str {
        "machine-config-controller/pinned-image-set"
    }

    fn identity(&self) -> Identity {
        controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [MACHINE_CONFIG_POOLS, PINNED_IMAGE_SETS].map(Interest::Kind);
        let objects =
            [CUSTOM_RESOURCE_DEFINITIONS.key("", DEFINITION), CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG)];
        kinds.into_iter().chain(objects.map(Interest::Object)).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || input.changes.iter().any(matters) {
            let pools = input.view.list(&MACHINE_CONFIG_POOLS);
            pools.for_each(|pool| self.queue.add(MACHINE_CONFIG_POOLS.key("", pool.name())));
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
