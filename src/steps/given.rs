//! Given: the cluster to begin with, and what lies outside of it.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured texts over as owned strings")]

use cucumber::gherkin::Step;
use cucumber::given;

use super::phrase::docstring_object;
use super::world::{ClusterWorld, StepError};
use crate::model::world::{Pull, Signature};
use crate::scenario::plan::{CONTROL_PLANE_NODES, WORKER_NODES};

/// An installed cluster: three control-plane nodes and three workers.
#[given(regex = r"^an? (\d+\.\d+\.\S+) cluster$")]
fn cluster(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.plan(&version).map(|_| ())
}

/// An installed cluster with as many nodes.
#[given(regex = r"^an? (\d+\.\d+\.\S+) cluster with (\d+) control-plane nodes? and (\d+) workers?$")]
fn cluster_with_nodes(
    world: &mut ClusterWorld,
    version: String,
    control_plane: u32,
    workers: u32,
) -> Result<(), StepError> {
    for (nodes, counts) in [(control_plane, CONTROL_PLANE_NODES), (workers, WORKER_NODES)] {
        if !counts.contains(&nodes) {
            let (low, high) = counts.into_inner();
            return Err(StepError::Words(format!("expected from {low} to {high} such nodes, found {nodes}")));
        }
    }
    let plan = world.plan(&version)?;
    (plan.control_plane_nodes, plan.worker_nodes) = (control_plane, workers);
    Ok(())
}

/// The feature set of the cluster, such as `DevPreviewNoUpgrade`, with which the update status controller runs.
#[given(regex = r#"^the feature set "([^"]*)"$"#)]
fn feature_set(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    world.planned()?.feature_set = name;
    Ok(())
}

/// Keeps the kube-apiserver at one Kubernetes minor, whatever is rolled out.
#[given(regex = r"^the kube-apiserver stays at Kubernetes 1\.(\d+)$")]
fn kubernetes(world: &mut ClusterWorld, minor: u32) -> Result<(), StepError> {
    world.planned()?.kubernetes_minor = Some(minor);
    Ok(())
}

/// `spec.capabilities.baselineCapabilitySet` of ClusterVersion.
#[given(regex = r#"^the baseline capability set "([^"]*)"$"#)]
fn baseline_capability_set(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    world.planned()?.baseline_capability_set = name;
    Ok(())
}

/// `spec.channel` of ClusterVersion.
#[given(regex = r#"^the update channel "([^"]*)"$"#)]
fn channel(world: &mut ClusterWorld, name: String) -> Result<(), StepError> {
    world.planned()?.channel = name;
    Ok(())
}

/// A release that can be updated to; the update service offers it.
#[given(regex = r"^release (\S+) exists$")]
fn release(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.release(&version).map(|_| ())
}

/// A release that can be updated to by image, but that the update service does not offer.
#[given(regex = r"^release (\S+) exists but is not recommended$")]
fn release_not_recommended(world: &mut ClusterWorld, version: String) -> Result<(), StepError> {
    world.release(&version)?.recommended = false;
    Ok(())
}

/// A release whose image lacks a signature.
#[given(regex = r"^release (\S+) has no (Sigstore|OpenPGP) signature$")]
fn signature(world: &mut ClusterWorld, version: String, kind: String) -> Result<(), StepError> {
    let release = world.release(&version)?;
    if kind == "Sigstore" {
        release.sigstore = Signature::Missing;
    } else {
        release.openpgp = Signature::Missing;
    }
    Ok(())
}

/// What the registry answers when the image of a release is pulled.
#[given(regex = r"^pulling release (\S+) (is unauthorized|finds no manifest|finds no registry|hangs)$")]
fn pull(world: &mut ClusterWorld, version: String, answer: String) -> Result<(), StepError> {
    world.release(&version)?.pull = match answer.as_str() {
        "is unauthorized" => Pull::Unauthorized,
        "finds no manifest" => Pull::ManifestUnknown,
        "finds no registry" => Pull::Unreachable,
        "hangs" => Pull::Hangs,
        other => return Err(StepError::Words(format!("unknown answer `{other}`"))),
    };
    Ok(())
}

/// An object that is there from the start, as YAML in the doc string.
#[given(regex = r"^this object:$")]
fn object(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.add_object(docstring_object(step.docstring.as_ref())?)
}
