//! The part of the operator that creates MachineConfiguration `cluster`, reports the node disruption policies in effect,
//! and chooses how boot images are checked (`syncMachineConfiguration`).

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CONTROLLER_CONFIGS, CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES, MACHINE_CONFIGURATIONS,
};
use windtunnel_core::{Identity, Key, Object, View, Write};

use super::super::{CONTROLLER_CONFIG, controller_line, node_disruption};
use super::{DEFINITION, exists, is_in_use, key};
use crate::operators::identity;
use crate::release::OperatorFacts;

/// The platforms whose boot images the controller can update. It does so unless an administrator opts out.
const UPDATED_PLATFORMS: [&str; 4] = ["AWS", "Azure", "GCP", "VSphere"];

/// Keeps the MachineConfiguration, as part of the machine-config operator.
#[derive(Debug, Clone)]
pub(in crate::mco) struct MachineConfigurationKeeper {
    facts: OperatorFacts,
    queue: WorkQueue,
    started: bool,
}

impl MachineConfigurationKeeper {
    /// The part of the operator with these facts.
    pub(in crate::mco) fn new(facts: &OperatorFacts) -> Self {
        Self { facts: facts.clone(), queue: WorkQueue::default(), started: false }
    }
}

/// The status with the operator's choices.
pub(super) fn status(object: &Object, view: &View) -> Value {
    let mut status = object["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let policies = node_disruption::merged(&object["spec"]["nodeDisruptionPolicy"], controller_line(view));
    status["nodeDisruptionPolicyStatus"] = json!({ "clusterPolicies": policies });
    status["observedGeneration"] = json!(object.generation());
    if is_in_use(view) {
        choose_boot_images(&mut status, object, view);
    }
    status
}

/// Sets which boot images are updated, and how old ones are found.
fn choose_boot_images(status: &mut Value, object: &Object, view: &View) {
    let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
    let of_cluster = |field: &str| infrastructure.map_or("", |object| object.text(field));
    let platform = of_cluster("/status/platformStatus/type");
    let is_updated = UPDATED_PLATFORMS.contains(&platform);
    if is_updated {
        status["managedBootImagesStatus"] = managed(&object["spec"]["managedBootImages"]);
    }
    let chosen = &object["spec"]["bootImageSkewEnforcement"];
    let current = &status["bootImageSkewEnforcementStatus"];
    let skew = if chosen["mode"] == "Manual" {
        json!({ "mode": "Manual", "manual": chosen["manual"] })
    } else if chosen.is_object()
        || platform == "BareMetal"
        || of_cluster("/status/controlPlaneTopology") == "SingleReplica"
    {
        // Boot images of bare metal come with the release, and a single node gets no others beside it.
        json!({ "mode": "None" })
    } else if is_updated && selects_all(&status["managedBootImagesStatus"]) {
        if current["mode"] == "Automatic" {
            current.clone()
        } else {
            json!({ "mode": "Automatic", "automatic": { "ocpVersion": installed_version(view) } })
        }
    } else {
        json!({ "mode": "Manual", "manual": { "mode": "OCPVersion", "ocpVersion": installed_version(view) } })
    };
    status["bootImageSkewEnforcementStatus"] = skew;
}

/// The machines whose boot images are updated: all, unless the spec says otherwise. An empty list means none.
fn managed(spec: &Value) -> Value {
    match spec["machineManagers"].as_array() {
        Some(managers) if managers.is_empty() => spec.clone(),
        managers => {
            let managers = managers.map(Vec::as_slice).unwrap_or_default();
            let own = managers.iter().find(|manager| manager["resource"] == "machinesets").cloned();
            let all = || {
                json!({
                    "apiGroup": "machine.openshift.io", "resource": "machinesets", "selection": { "mode": "All" },
                })
            };
            json!({ "machineManagers": [own.unwrap_or_else(all)] })
        }
    }
}

fn selects_all(managed: &Value) -> bool {
    let mut managers = managed["machineManagers"].as_array().into_iter().flatten();
    managers
        .find(|manager| manager["resource"] == "machinesets")
        .is_some_and(|manager| manager["selection"]["mode"] == "All")
}

/// The version that the cluster was installed with, without suffixes: the oldest completed one in the history.
fn installed_version(view: &View) -> String {
    let history = view.cluster_version().map(|object| object.list("/status/history"));
    let completed = history.unwrap_or_default().iter().rfind(|entry| entry["state"] == "Completed");
    let version = completed.and_then(|entry| Version::parse(entry["version"].as_str()?).ok());
    version.map_or_else(|| "0.0.0".to_owned(), |version| plain(&version))
}

/// Major, minor and patch of a version.
pub(super) fn plain(version: &Version) -> String {
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

impl Reconcile for MachineConfigurationKeeper {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, _now: Time) -> Vec<Write> {
        if !exists(view) {
            return Vec::new();
        }
        let Some(object) = view.get_key(subject) else {
            let object = json!({
                "apiVersion": MACHINE_CONFIGURATIONS.api_version(),
                "kind": MACHINE_CONFIGURATIONS.kind,
                "metadata": { "name": subject.name },
                "spec": { "managementState": "Managed" },
            });
            return vec![Write::create(&MACHINE_CONFIGURATIONS, object)];
        };
        let status = status(object, view);
        if status == object["status"] {
            return Vec::new();
        }
        let mut value = object.to_value();
        value["status"] = status;
        vec![Write::update_status(&MACHINE_CONFIGURATIONS, value)]
    }
}

impl Actor for MachineConfigurationKeeper {
    fn name(&self) -> &'static str {
        "machine-config-operator/configuration"
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn interests(&self) -> Vec<Interest> {
        let objects = [
            key(),
            CUSTOM_RESOURCE_DEFINITIONS.key("", DEFINITION),
            CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG),
            INFRASTRUCTURES.key("", "cluster"),
        ];
        objects.map(Interest::Object).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            self.queue.add(key());
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
