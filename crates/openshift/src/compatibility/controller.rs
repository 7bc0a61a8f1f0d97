//! The controller of CompatibilityRequirements. It runs without a pod, as an administrator, because the payload's
//! manifests of crd-compatibility-checker are not simulated.

use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{COMPATIBILITY_REQUIREMENTS, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Identity, Key, Object, View, Write, name_of};

use super::{incompatibilities, required};

const FINALIZER: &str = "compatibilityrequirement.operator.openshift.io/finalizer";

/// Reports in each CompatibilityRequirement whether its definition is compatible.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompatibilityController {
    queue: WorkQueue,
    started: bool,
}

impl CompatibilityController {
    /// A controller that has not run yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        let begins = !std::mem::replace(&mut self.started, true);
        for change in input.changes.iter().filter(|change| change.key.is_kind(&COMPATIBILITY_REQUIREMENTS)) {
            self.queue.add(change.key.clone());
        }
        let is_touched = |requirement: &Object| {
            let name = requirement.text("/status/crdName");
            input
                .changes
                .iter()
                .any(|change| change.key.is_kind(&CUSTOM_RESOURCE_DEFINITIONS) && change.key.name == name)
        };
        for requirement in input.view.list(&COMPATIBILITY_REQUIREMENTS) {
            if begins || is_touched(requirement) {
                self.queue.add(COMPATIBILITY_REQUIREMENTS.key("", requirement.name()));
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }
}

/// The write that adds or removes the finalizer. `None` if it is right.
fn finalize(object: &Object) -> Option<Write> {
    let mut finalizers = object.list("/metadata/finalizers").to_vec();
    let has_own = finalizers.iter().any(|finalizer| finalizer == FINALIZER);
    match (has_own, object.is_terminating()) {
        (false, false) => finalizers.push(json!(FINALIZER)),
        (true, true) => finalizers.retain(|finalizer| finalizer != FINALIZER),
        _ => return None,
    }
    let patch = json!({ "metadata": { "finalizers": finalizers } });
    Some(Write::merge_patch(&COMPATIBILITY_REQUIREMENTS, "", object.name(), patch))
}

/// The status of a requirement.
pub(super) fn status(object: &Object, view: &View, now: Time) -> Value {
    let required = required(object);
    let name = required.as_ref().map_or("", |crd| name_of(crd));
    let current = view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", name);
    let admitted = match &required {
        Ok(_) => {
            Condition::new("Admitted", "True", "Admitted", "The CompatibilityRequirement has been admitted")
        }
        Err(_) => Condition::new("Admitted", "False", "NotAdmitted", "The compatibility CRD is not set"),
    };
    let compatible = match (&required, current) {
        (Ok(required), Some(current)) => {
            let found = incompatibilities(required, current);
            if found.is_empty() {
                let message = "The CRD is compatible with this requirement";
                Condition::new("Compatible", "True", "Compatible", message)
            } else {
                Condition::new("Compatible", "False", "RequirementsNotMet", found.join("\n"))
            }
        }
        _ => Condition::new("Compatible", "False", "CRDNotFound", "The target CRD was not found"),
    };
    let progressing = match &required {
        Ok(_) => {
            Condition::new("Progressing", "False", "UpToDate", "The CompatibilityRequirement is up to date")
        }
        Err(why) => {
            let message = format!("failed to parse compatibilityCRD: {why}");
            Condition::new("Progressing", "False", "ConfigurationError", message)
        }
    };
    let mut list = object.conditions().to_vec();
    for wanted in [admitted, compatible, progressing] {
        condition::set(&mut list, &wanted, now);
        if let Some(found) = list.iter_mut().find(|found| found["type"] == wanted.kind.as_str()) {
            found["observedGeneration"] = json!(object.generation());
        }
    }
    let mut status = json!({ "conditions": list });
    if !name.is_empty() {
        status["crdName"] = json!(name);
    }
    if let Some(current) = current {
        status["observedCRD"] = json!({ "uid": current.uid(), "generation": current.generation() });
    }
    status
}

impl Reconcile for CompatibilityController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(object) = view.get_key(subject) else { return Vec::new() };
        if let Some(write) = finalize(object) {
            return vec![write];
        }
        let status = status(object, view, now);
        if object.is_terminating() || status == object["status"] {
            return Vec::new();
        }
        let mut value = object.to_value();
        value["status"] = status;
        vec![Write::update_status(&COMPATIBILITY_REQUIREMENTS, value)]
    }
}

impl Actor for CompatibilityController {
    fn name(&self) -> &'static str {
        "crd-compatibility-checker"
    }

    fn identity(&self) -> Identity {
        Identity::admin()
    }

    fn interests(&self) -> Vec<Interest> {
        [COMPATIBILITY_REQUIREMENTS, CUSTOM_RESOURCE_DEFINITIONS].map(Interest::Kind).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
