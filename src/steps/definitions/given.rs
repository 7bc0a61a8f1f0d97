//! Given: the initial cluster and its releases.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured texts over as owned strings")]

use std::ops::RangeInclusive;

use cucumber::gherkin::{LineCol, Step};
use cucumber::given;
use windtunnel_controllers::registry::{Containers, Contents, OpenPgp, Signature};
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::release::Architecture;

use super::definition::meaning;
use super::registry_faults::PULLS;
use crate::plan::{
    CONTROL_PLANE_NODES, FEATURE_SETS, Invariant, KUBERNETES_MINORS, Permission, PoolPlan, WORKER_NODES,
};
use crate::steps::phrase::{docstring_object, docstring_programs, labels};
use crate::steps::world::{ClusterWorld, StepError};

/// An installed cluster with three control-plane nodes and three workers.
///
/// ```gherkin
/// Given a 4.14.1 cluster
/// ```
#[given(regex = r"^an? (\d+\.\d+\.\S+) cluster$")]
fn cluster(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.plan(&version).map(|_| ())
}

/// An installed cluster with these numbers of nodes.
///
/// ```gherkin
/// Given a 4.14.1 cluster with 3 control-plane nodes and 3 workers
/// ```
#[given(regex = r"^an? (\d+\.\d+\.\S+) cluster with (\d+) control-plane nodes? and (\d+) workers?$")]
fn cluster_with_nodes(
    world: &mut ClusterWorld,
    version: String,
    control_plane: u32,
    workers: u32,
) -> Result<(), StepError> {
    within(&CONTROL_PLANE_NODES, control_plane, "control-plane nodes")?;
    within(&WORKER_NODES, workers, "workers")?;
    let plan = world.plan(&version)?;
    (plan.control_plane_nodes, plan.worker_nodes) = (control_plane, workers);
    Ok(())
}

/// A custom MachineConfigPool with nodes of its own, `infra-0` and so on, which have the roles of workers and of
/// the pool. It may be paused, and may let several nodes be unavailable at a time.
///
/// ```gherkin
/// Given a pool infra with 2 nodes
/// Given a paused pool canary with 1 node
/// Given a pool big with 6 nodes, of which 50% may be unavailable
/// ```
#[given(regex = r"^a( paused)? pool (\S+) with (\d+) nodes?(?:, of which (\d+%?) may be unavailable)?$")]
fn pool(
    world: &mut ClusterWorld,
    paused: String,
    name: String,
    count: u32,
    unavailable: String,
) -> Result<(), StepError> {
    if let Some(message) = PoolPlan::problem_with_name(&name) {
        return Err(StepError::Usage(message));
    }
    within(&WORKER_NODES, count, "nodes in a pool")?;
    let plan = world.planned()?;
    if plan.pools.iter().any(|pool| pool.name == name) {
        return Err(StepError::Usage(format!("the cluster has a pool {name} already")));
    }
    let max_unavailable = Some(unavailable).filter(|text| !text.is_empty());
    plan.pools.push(PoolPlan { paused: !paused.is_empty(), max_unavailable, ..PoolPlan::new(name, count) });
    Ok(())
}

/// Labels of a node from the start, in addition to those of every node.
///
/// ```gherkin
/// Given node worker-0 has the labels "topology.kubernetes.io/zone=a, disk=ssd"
/// ```
#[given(regex = r#"^node (\S+) has the labels? "([^"]+)"$"#)]
fn node_labels(world: &mut ClusterWorld, node: String, text: String) -> Result<(), StepError> {
    let own = labels(&text)?;
    let plan = world.planned()?;
    let names = plan.node_names();
    known(&node, names.iter().map(String::as_str), "node")?;
    plan.node_labels.entry(node).or_default().extend(own);
    Ok(())
}

/// The admin gates of releases are not acknowledged. In other clusters the administrator has acknowledged
/// those of all minors.
///
/// ```gherkin
/// Given the admin gates are not acknowledged
/// ```
#[given(regex = r"^the admin gates are not acknowledged$")]
fn gates(world: &mut ClusterWorld) -> Result<(), StepError> {
    world.planned()?.acknowledges_gates = false;
    Ok(())
}

/// The feature set of the cluster. With `DevPreviewNoUpgrade` the update status controller runs.
///
/// ```gherkin
/// Given the feature set "DevPreviewNoUpgrade"
/// ```
#[given(regex = r#"^the feature set "([^"]*)"$"#)]
fn feature_set(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    if !name.is_empty() {
        known(&name, FEATURE_SETS.iter().copied(), "feature set")?;
    }
    world.planned()?.feature_set = name;
    Ok(())
}

/// The update status controller runs and publishes from the start, with any feature set. A Background may
/// contain this step before the scenarios name their clusters.
///
/// ```gherkin
/// Given insights are published
/// ```
#[given(regex = r"^insights are published$")]
fn insights(world: &mut ClusterWorld) -> Result<(), StepError> {
    world.publish_insights()
}

/// Turns off the checks of the named invariants, or of all.
///
/// ```gherkin
/// Given invariants are not checked
/// Given invariants "node-order", "history-order" are not checked
/// ```
#[given(regex = r#"^invariants((?: "[^"]*",?)*) are not checked$"#)]
fn invariants(world: &mut ClusterWorld, names: String) -> Result<(), StepError> {
    let plan = world.planned()?;
    if names.is_empty() {
        plan.invariants.clear();
    }
    for name in names.split('"').skip(1).step_by(2) {
        known(name, Invariant::ALL.into_iter().map(Invariant::name), "invariant")?;
        plan.invariants.retain(|invariant| invariant.name() != name);
    }
    Ok(())
}

/// The architecture of the cluster's machines, or `multi` for a multi-architecture release. Put this step
/// before those that name other releases.
///
/// ```gherkin
/// Given the architecture "arm64"
/// ```
#[given(regex = r#"^the architecture "([^"]*)"$"#)]
fn architecture(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    let architecture = Architecture::find(&name);
    known(&name, Architecture::NAMES.iter().copied(), "architecture")?;
    let release = &mut world.planned()?.release;
    *release = release.clone().for_architecture(architecture.unwrap_or_default());
    Ok(())
}

/// Pins the kube-apiserver at a Kubernetes minor, whatever release is installed.
///
/// ```gherkin
/// Given the kube-apiserver stays at Kubernetes 1.33
/// ```
#[given(regex = r"^the kube-apiserver stays at Kubernetes 1\.(\d+)$")]
fn kubernetes(world: &mut ClusterWorld, minor: u32) -> Result<(), StepError> {
    within(&KUBERNETES_MINORS, minor, "as the minor of Kubernetes")?;
    world.planned()?.kubernetes_minor = Some(minor);
    Ok(())
}

/// `spec.capabilities.baselineCapabilitySet` of ClusterVersion.
///
/// ```gherkin
/// Given the baseline capability set "v4.13"
/// ```
#[given(regex = r#"^the baseline capability set "([^"]*)"$"#)]
fn baseline_capability_set(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    let plan = world.planned()?;
    known(&name, plan.release.capability_sets.keys().map(String::as_str), "capability set")?;
    plan.baseline_capability_set = name;
    Ok(())
}

/// `spec.channel` of ClusterVersion.
///
/// ```gherkin
/// Given the update channel "stable-4.14"
/// ```
#[given(regex = r#"^the update channel "([^"]*)"$"#)]
fn channel(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    world.planned()?.channel = name;
    Ok(())
}

/// A release that the update service recommends as an update.
///
/// ```gherkin
/// Given release 4.14.8 exists
/// ```
#[given(regex = r"^release (\S+) exists$")]
fn release(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.release(&version).map(|_| ())
}

/// A release that the update service does not offer; updates to its image are possible.
///
/// ```gherkin
/// Given release 4.14.8 exists but is not recommended
/// ```
#[given(regex = r"^release (\S+) exists but is not recommended$")]
fn release_not_recommended(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.release(&version)?.recommended = false;
    Ok(())
}

/// A release whose image has no signature of this kind.
///
/// ```gherkin
/// Given release 4.20.3 has no Sigstore signature
/// ```
#[given(regex = r"^release (\S+) has no (Sigstore|OpenPGP) signature$")]
fn signature(world: &mut ClusterWorld, version: String, kind: String) -> Result<(), StepError> {
    let release = world.release(&version)?;
    if kind == "Sigstore" {
        release.image.sigstore = Signature::Missing;
    } else {
        release.image.openpgp = OpenPgp::Missing;
    }
    Ok(())
}

/// A release with a Sigstore signature that an image policy can reject.
///
/// ```gherkin
/// Given the Sigstore signature of release 4.20.3 is by another key
/// ```
#[given(
    regex = r"^the Sigstore signature of release (\S+) is (by another key|for another identity|expired)$"
)]
fn unacceptable_signature(world: &mut ClusterWorld, version: String, how: String) -> Result<(), StepError> {
    world.release(&version)?.image.sigstore = match how.as_str() {
        "by another key" => Signature::WrongKey,
        "for another identity" => Signature::WrongIdentity,
        _ => Signature::Expired,
    };
    Ok(())
}

/// A release whose OpenPGP signature is by another key, is only in a ConfigMap, or cannot be downloaded
/// because the signature stores never answer.
///
/// ```gherkin
/// Given the OpenPGP signature of release 4.20.3 is only in a ConfigMap
/// ```
#[given(
    regex = r"^the OpenPGP signature of release (\S+) is (by another key|only in a ConfigMap|never answered)$"
)]
fn signature_elsewhere(world: &mut ClusterWorld, version: String, how: String) -> Result<(), StepError> {
    let release = world.release(&version)?;
    release.signature_config_map = how == "only in a ConfigMap";
    release.image.openpgp = match how.as_str() {
        "by another key" => OpenPgp::WrongKey,
        "never answered" => OpenPgp::Unanswered,
        _ => OpenPgp::Missing,
    };
    Ok(())
}

/// A release whose image can be pulled, but whose payload cannot be loaded.
///
/// ```gherkin
/// Given the payload of release 4.20.3 is corrupt
/// ```
#[given(
    regex = r"^the payload of release (\S+) (is corrupt|is missing|has no image references|has image references of another version|has unreadable metadata)$"
)]
fn corrupt(world: &mut ClusterWorld, version: String, how: String) -> Result<(), StepError> {
    world.release(&version)?.image.contents = match how.as_str() {
        "is missing" => Contents::NoPayload,
        "has no image references" => Contents::NoImageReferences,
        "has image references of another version" => Contents::OtherImageReferences,
        "has unreadable metadata" => Contents::UnreadableMetadata,
        _ => Contents::UnreadableManifest,
    };
    Ok(())
}

/// A release whose image contains the payload of another version.
///
/// ```gherkin
/// Given the payload of release 4.20.3 is of version 4.20.4
/// ```
#[given(regex = r"^the payload of release (\S+) is of version (\S+)$")]
fn other_payload(world: &mut ClusterWorld, version: String, other: String) -> Result<(), StepError> {
    let other = crate::steps::world::find_release(&other)?.version;
    world.release(&version)?.payload_version = Some(other);
    Ok(())
}

/// The registry's answer to pulls of a release's image.
///
/// ```gherkin
/// Given pulling release 4.20.3 is unauthorized
/// ```
#[given(
    regex = r"^pulling release (\S+) (is unauthorized|finds no manifest|finds another digest|finds no registry|finds the registry unavailable|is slow|hangs)$"
)]
fn pull(world: &mut ClusterWorld, version: String, answer: String) -> Result<(), StepError> {
    world.release(&version)?.image.pull = meaning(PULLS, &answer)?;
    Ok(())
}

/// A failure of the containers that run a release's image.
///
/// ```gherkin
/// Given the containers of release 4.20.3 cannot be made
/// ```
#[given(regex = r"^the containers of release (\S+) (crash|run out of memory|cannot be made)$")]
fn containers(world: &mut ClusterWorld, version: String, fate: String) -> Result<(), StepError> {
    world.release(&version)?.image.containers = match fate.as_str() {
        "crash" => Containers::Crash,
        "run out of memory" => Containers::OutOfMemory,
        _ => Containers::CannotBeCreated,
    };
    Ok(())
}

/// An object that exists from the start, as YAML in the doc string.
///
/// ```gherkin
/// Given this object:
/// ```
#[given(regex = r"^this object:$")]
fn object(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let object = docstring_object(&mut world.kinds, step.docstring.as_ref())?;
    world.add_object(object)
}

/// Programs of this machine that take the place of containers, or run beside the cluster, as YAML in the doc string: the
/// list `programs` of a scenario. Paths are relative to the feature.
///
/// ```gherkin
/// Given these programs:
/// ```
#[given(regex = r"^these programs:$")]
fn programs(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    let mut programs = docstring_programs(&world.file, step.docstring.as_ref())?;
    let LineCol { line, col: column } = step.position;
    for program in &mut programs {
        program.permission = Permission::Missing { line, column };
    }
    let known = &mut world.planned()?.programs;
    if let Some(twice) = programs.iter().find(|new| known.iter().any(|old| old.name == new.name)) {
        let name = &twice.name;
        return Err(StepError::Usage(format!("there is another program `{name}`; give this one a `name`")));
    }
    known.extend(programs);
    Ok(())
}

fn within(allowed: &RangeInclusive<u32>, found: u32, what: &str) -> Result<(), StepError> {
    if allowed.contains(&found) {
        return Ok(());
    }
    let (low, high) = (allowed.start(), allowed.end());
    Err(StepError::Usage(format!("expected {low} to {high} {what}, found {found}")))
}

/// Returns an error if a name is not one of `names`.
pub(super) fn known<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str>,
    what: &str,
) -> Result<(), StepError> {
    let names: Vec<&str> = names.collect();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, names.iter().copied());
    let hint = if hint.is_empty() { format!("; there are `{}`", names.join("`, `")) } else { hint };
    Err(StepError::Usage(format!("there is no {what} `{name}`{hint}")))
}
