//! The machine OS builder: creates the build of each MachineOSConfig, and reports its progress. It also
//! publishes the digest of an image for the pod that built it.

mod objects;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::pool::{current_config, desired_config};
use windtunnel_core::resources::{
    CONFIG_MAPS, CONTROLLER_CONFIGS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, JOBS, MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS, PODS, SECRETS,
};
use windtunnel_core::{DeleteOptions, Identity, Key, Object, Propagation, View, Write};

use self::objects::{CONFIG, JOB_UID};
use super::layering::{BUILDER, BuildState, CURRENT_BUILD, DEFINITION, is_in_use, missing_secret};
use super::pool::conditions;
use super::{CONTROLLER_CONFIG, NAMESPACE};

/// On MachineOSConfigs: requests another build of the same image.
const REBUILD: &str = "machineconfiguration.openshift.io/rebuild";
/// The pool's condition about its build.
const DEGRADED: &str = "ImageBuildDegraded";
/// The conditions of a degraded pool for which no build is started.
const OTHER_TROUBLES: [&str; 3] = ["NodeDegraded", "RenderDegraded", "PinnedImageSetsDegraded"];
/// Ends of builds are at least this much later than their starts.
const SHORTEST: SignedDuration = SignedDuration::from_secs(1);

/// The machine OS builder.
#[derive(Debug, Clone, Default)]
pub(super) struct ImageBuilder {
    queue: WorkQueue,
    started: bool,
}

/// A MachineOSConfig with the pool that it is for.
#[derive(Debug, Clone, Copy)]
struct Subject<'a> {
    config: &'a Object,
    pool: &'a Object,
    view: &'a View,
    now: Time,
}

impl ImageBuilder {
    /// A builder that has not run yet.
    pub(super) fn new() -> Self {
        Self::default()
    }
}

impl<'a> Subject<'a> {
    /// The MachineOSConfig with this key, if its pool has a rendered MachineConfig.
    fn of(key: &Key, view: &'a View, now: Time) -> Option<Self> {
        let config = view.get_key(key).filter(|config| !config.is_terminating() && is_in_use(view))?;
        let pool = view.get(&MACHINE_CONFIG_POOLS, "", config.text("/spec/machineConfigPool/name"))?;
        rendered(desired_config(pool), view)?;
        Some(Self { config, pool, view, now })
    }

    fn target(&self) -> &'a str {
        desired_config(self.pool)
    }

    fn patch_config(&self, patch: Value) -> Write {
        Write::merge_patch(&MACHINE_OS_CONFIGS, "", self.config.name(), patch)
    }

    /// The next writes.
    fn writes(&self) -> Vec<Write> {
        let name = objects::build_name(self.config, self.target());
        let build = self.view.get(&MACHINE_OS_BUILDS, "", &name);
        if self.config.annotation(REBUILD).is_some() {
            return self.rebuild(build);
        }
        match build {
            // Its deletion is awaited.
            Some(build) if build.is_terminating() => Vec::new(),
            Some(build) => self.follow(build),
            None => self.create(&name),
        }
    }

    /// Deletes the build and what belongs to it, and then the request. After that a new build is created.
    fn rebuild(&self, build: Option<&Object>) -> Vec<Write> {
        match build {
            Some(build) if build.is_terminating() => Vec::new(),
            Some(build) => vec![Write::delete(&MACHINE_OS_BUILDS, "", build.name())],
            None => vec![self.patch_config(json!({ "metadata": { "annotations": { (REBUILD): null } } }))],
        }
    }

    fn create(&self, name: &str) -> Vec<Write> {
        let is_degraded = OTHER_TROUBLES.iter().any(|kind| condition::is_true(self.pool, kind));
        if is_degraded || missing_secret(self.config, self.view).is_some() {
            return Vec::new();
        }
        let build = objects::build(name, self.config, self.pool.name(), self.target());
        vec![Write::create(&MACHINE_OS_BUILDS, build)]
    }

    /// Continues a build.
    fn follow(&self, build: &Object) -> Vec<Write> {
        match BuildState::of(build) {
            BuildState::Initial => self.start(build),
            BuildState::Prepared | BuildState::Building => self.observe(build),
            BuildState::Succeeded => self.publish(build),
            BuildState::Failed => self.report_failure(build),
            BuildState::Interrupted => Vec::new(),
        }
    }

    /// Stops other builds and starts this one, or takes the image of the last one.
    fn start(&self, build: &Object) -> Vec<Write> {
        let others: Vec<Write> = self.others(build).collect();
        if !others.is_empty() {
            return others;
        }
        if let Some(image) = self.reusable_image() {
            return vec![self.write_status(build, BuildState::Succeeded, Some(image))];
        }
        if self.job(build).is_some() {
            return self.observe(build);
        }
        if missing_secret(self.config, self.view).is_some() {
            return Vec::new();
        }
        let Some(image) = pod_image(self.view) else { return Vec::new() };
        let file = objects::containerfile_name(build.name());
        let file = self.view.get(&CONFIG_MAPS, NAMESPACE, &file).is_none();
        let file = file.then(|| Write::create(&CONFIG_MAPS, objects::containerfile(build, self.config)));
        let job = Write::create(&JOBS, objects::job(build, self.config, image));
        file.into_iter().chain([job]).collect()
    }

    /// The deletions of other builds that have not succeeded.
    fn others(&self, build: &Object) -> impl Iterator<Item = Write> {
        let config = self.config.name();
        self.view
            .list(&MACHINE_OS_BUILDS)
            .filter(|other| other.name() != build.name() && other.label(CONFIG) == Some(config))
            .filter(|other| !other.is_terminating() && BuildState::of(other) != BuildState::Succeeded)
            .map(|other| Write::delete(&MACHINE_OS_BUILDS, "", other.name()))
    }

    /// The last image, if the new rendered MachineConfig changes only files.
    fn reusable_image(&self) -> Option<&'a str> {
        let last = current_config(self.pool);
        let image = self.config.text("/status/currentImagePullSpec");
        let (from, to) = (rendered(last, self.view)?, rendered(self.target(), self.view)?);
        (from.name() != to.name() && !image.is_empty() && !requires_build(from, to)).then_some(image)
    }

    fn job(&self, build: &Object) -> Option<&'a Object> {
        self.view.get(&JOBS, NAMESPACE, &objects::job_name(build.name()))
    }

    /// Reports the state of the build's Job.
    fn observe(&self, build: &Object) -> Vec<Write> {
        let (name, old) = (build.name(), BuildState::of(build));
        let Some(job) = self.job(build) else {
            return vec![self.write_status(build, BuildState::Interrupted, None)];
        };
        let mut writes = Vec::new();
        if self.config.annotation(CURRENT_BUILD) != Some(name) {
            writes
                .push(self.patch_config(json!({ "metadata": { "annotations": { (CURRENT_BUILD): name } } })));
        }
        if build.annotation(JOB_UID) != Some(job.uid()) {
            let patch = json!({ "metadata": { "annotations": { (JOB_UID): job.uid() } } });
            writes.push(Write::merge_patch(&MACHINE_OS_BUILDS, "", name, patch));
            return writes;
        }
        let digest = self.view.get(&CONFIG_MAPS, NAMESPACE, &objects::digest_name(name));
        if digest.is_none() && has_built(job, self.view) {
            let digest = objects::digest(job, self.config);
            writes.push(Write::create(&CONFIG_MAPS, objects::digest_map(build, &digest)));
            return writes;
        }
        let new = BuildState::of_job(job);
        let image = digest.map(|map| objects::digested_image(self.config, map.text("/data/digest")));
        let is_known = new != BuildState::Succeeded || image.is_some();
        if is_known && old.may_become(new) {
            let image = image.filter(|_| new == BuildState::Succeeded);
            writes.push(self.write_status(build, new, image.as_deref()));
        } else if condition::is_true(self.pool, DEGRADED) {
            writes.extend(self.report(
                false,
                "Building",
                format!("Build started for pool {}", self.pool.name()),
            ));
        }
        writes
    }

    /// The write of a new state.
    fn write_status(&self, build: &Object, state: BuildState, image: Option<&str>) -> Write {
        let mut value = build.to_value();
        let mut list = build.conditions().to_vec();
        for condition in state.conditions() {
            conditions::set(&mut list, &condition, self.now);
        }
        let status = &mut value["status"];
        status["conditions"] = Value::Array(list);
        if status["buildStart"].is_null() && image.is_none_or(|_| self.job(build).is_some()) {
            status["buildStart"] = json!(rfc3339(self.now));
        }
        if state.is_over() && !status["buildStart"].is_null() {
            let start = build.time("/status/buildStart").unwrap_or(self.now);
            status["buildEnd"] = json!(rfc3339(self.now.max(after(start, SHORTEST))));
        }
        if let Some(job) = self.job(build) {
            status["builder"] = json!({
                "imageBuilderType": "Job",
                "job": { "group": "batch", "resource": "jobs", "namespace": NAMESPACE, "name": job.name() },
            });
        }
        if let Some(image) = image {
            status["digestedImagePushSpec"] = json!(image);
        }
        Write::update_status(&MACHINE_OS_BUILDS, value)
    }

    /// Publishes the image of a build in its MachineOSConfig, and deletes the Job.
    fn publish(&self, build: &Object) -> Vec<Write> {
        let name = build.name();
        if self.config.annotation(CURRENT_BUILD) != Some(name) {
            return vec![
                self.patch_config(json!({ "metadata": { "annotations": { (CURRENT_BUILD): name } } })),
            ];
        }
        let image = build.text("/status/digestedImagePushSpec");
        let status = &self.config["status"];
        if status["currentImagePullSpec"] != image || status["machineOSBuild"]["name"] != name {
            let status = json!({
                "currentImagePullSpec": image,
                "observedGeneration": self.config.generation(),
                "machineOSBuild": {
                    "group": &*MACHINE_OS_BUILDS.group, "resource": &*MACHINE_OS_BUILDS.plural, "name": name,
                },
            });
            let patch = json!({ "status": status });
            return vec![Write::merge_patch_status(&MACHINE_OS_CONFIGS, "", self.config.name(), patch)];
        }
        let mut writes: Vec<Write> = self.others(build).collect();
        if condition::is_true(self.pool, DEGRADED) {
            let message = format!("Build succeeded for pool {}", self.pool.name());
            writes.extend(self.report(false, "BuildSuccess", message));
        }
        let file = objects::containerfile_name(name);
        if self.view.get(&CONFIG_MAPS, NAMESPACE, &file).is_some() {
            writes.push(Write::delete(&CONFIG_MAPS, NAMESPACE, &file));
        }
        if let Some(job) = self.job(build).filter(|job| !job.is_terminating()) {
            let options =
                DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
            writes.push(Write::delete_with(&JOBS, NAMESPACE, job.name(), options));
        }
        writes
    }

    /// Reports a failed build in the pool.
    fn report_failure(&self, build: &Object) -> Vec<Write> {
        if condition::is_true(self.pool, DEGRADED) {
            return Vec::new();
        }
        let (pool, name) = (self.pool.name(), build.name());
        let message =
            format!("Failed to build OS image for pool {pool} (MachineOSBuild: {name}): {}", failure(build));
        self.report(true, "BuildFailed", message).into_iter().collect()
    }

    /// The write of the pool's condition.
    fn report(&self, is_degraded: bool, reason: &str, message: String) -> Option<Write> {
        let status = if is_degraded { "True" } else { "False" };
        conditions::write(self.pool, &Condition::new(DEGRADED, status, reason, message), self.now)
    }
}

/// The rendered MachineConfig of this name.
fn rendered<'a>(name: &str, view: &'a View) -> Option<&'a Object> {
    view.get(&MACHINE_CONFIGS, "", name)
}

/// Returns whether a change from one MachineConfig to another needs another image. Other changes are files that
/// the daemons write (`RequiresRebuild`).
fn requires_build(from: &Object, to: &Object) -> bool {
    ["osImageURL", "kernelType", "extensions", "kernelArguments"]
        .iter()
        .any(|field| from["spec"][*field] != to["spec"][*field])
}

/// The failure of a build in the message of its pool.
fn failure(build: &Object) -> String {
    let found = condition::find_in_status(build, "Failed");
    let text = |field: &str| found.and_then(|found| found[field].as_str()).unwrap_or_default();
    format!("{}: {}", text("reason"), text("message"))
}

/// Returns whether a pod of a Job has built its image.
fn has_built(job: &Object, view: &View) -> bool {
    let is_of_job =
        |pod: &&Object| pod.list("/metadata/ownerReferences").iter().any(|owner| owner["uid"] == *job.uid());
    let has_built = |pod: &Object| {
        let built = &pod["status"]["initContainerStatuses"][0]["state"]["terminated"];
        built["exitCode"] == 0
    };
    view.list_in(&PODS, NAMESPACE).filter(is_of_job).any(has_built)
}

/// The image of build pods, which is that of the operator.
fn pod_image(view: &View) -> Option<&str> {
    let operator = view.get(&DEPLOYMENTS, NAMESPACE, "machine-config-operator")?;
    operator.list("/spec/template/spec/containers").first()?["image"].as_str()
}

impl Reconcile for ImageBuilder {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        Subject::of(subject, view, now).map(|subject| subject.writes()).unwrap_or_default()
    }
}

impl Actor for ImageBuilder {
    fn name(&self) -> &'static str {
        BUILDER
    }

    fn identity(&self) -> Identity {
        Identity::service_account(NAMESPACE, BUILDER)
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [MACHINE_OS_CONFIGS, MACHINE_OS_BUILDS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS];
        let namespaced = [JOBS, PODS, CONFIG_MAPS, SECRETS];
        let objects =
            [CUSTOM_RESOURCE_DEFINITIONS.key("", DEFINITION), CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG)];
        let namespaced = namespaced.map(|resource| Interest::In(resource, NAMESPACE.to_owned()));
        kinds.map(Interest::Kind).into_iter().chain(namespaced).chain(objects.map(Interest::Object)).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            let configs = input.view.list(&MACHINE_OS_CONFIGS);
            configs.for_each(|config| self.queue.add(MACHINE_OS_CONFIGS.key("", config.name())));
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
