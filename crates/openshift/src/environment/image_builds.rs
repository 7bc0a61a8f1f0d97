//! The image builds of the machine-config operator: what their pods do.

use windtunnel_controllers::environment::Program;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::resources::{JOBS, MACHINE_CONFIG_POOLS, PODS};
use windtunnel_core::{Object, View, pod};

/// The label with the pool of a build's Job.
pub(crate) const POOL: &str = "machineconfiguration.openshift.io/target-machine-config-pool";
/// The container that builds and pushes the image.
pub(crate) const BUILD_CONTAINER: &str = "image-build";
/// How long a build takes, in milliseconds.
const BUILD_MILLIS: (u64, u64) = (300_000, 1_200_000);
/// How long a build takes until it fails, in milliseconds.
const FAILING_MILLIS: (u64, u64) = (60_000, 300_000);
/// The output of a build that fails.
const OUTPUT: &str =
    "Error: building at STEP \"RUN rpm-ostree install tree\": while running runtime: exit status 1";

/// The behaviour of the program of a container. `None` if it builds no image.
pub(super) fn program(pod: &Object, container: &str, view: &View) -> Option<Program> {
    if container != BUILD_CONTAINER {
        return None;
    }
    let job = view.get(&JOBS, pod.namespace(), job_name(pod)?)?;
    let pool = view.get(&MACHINE_CONFIG_POOLS, "", job.label(POOL)?)?;
    let fault = Fault::from_annotations(pool).flatten();
    let fault = fault.filter(|fault| fault.kind == FaultKind::ImageBuildFails);
    let fault = fault.filter(|fault| fault.times == 0 || failed_attempts(job, view) < fault.times);
    Some(match fault {
        Some(fault) => {
            Program { millis: FAILING_MILLIS, error: Some(format!("{}\n", fault.message_or(OUTPUT))) }
        }
        None => Program { millis: BUILD_MILLIS, error: None },
    })
}

/// The Job that owns a pod.
fn job_name(pod: &Object) -> Option<&str> {
    let owners = pod.list("/metadata/ownerReferences").iter();
    owners.filter(|owner| owner["kind"] == "Job").find_map(|owner| owner["name"].as_str())
}

/// The number of pods of a Job that have failed.
fn failed_attempts(job: &Object, view: &View) -> u32 {
    let is_failed = |pod: &&Object| job_name(pod) == Some(job.name()) && pod::phase(pod) == "Failed";
    u32::try_from(view.list_in(&PODS, job.namespace()).filter(is_failed).count()).unwrap_or(u32::MAX)
}
