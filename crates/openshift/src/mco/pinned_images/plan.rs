//! One attempt of a node to pull the images of its sets: how long it takes, and its result.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_controllers::registry::{Image, Pull};
use windtunnel_core::{Object, condition};

use super::PinnedSet;

/// The storage that must stay free: 16 GiB.
const FREE_STORAGE: u64 = 16 << 30;
/// The compressed size of an image without a size of its own: 300 MiB.
const TYPICAL_SIZE: u64 = 300 << 20;
/// The time limit of an attempt.
const TIMEOUT: SignedDuration = SignedDuration::from_mins(5);
/// The pause of a worker after each image.
const THROTTLE: SignedDuration = SignedDuration::from_secs(1);

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    /// How long it takes.
    pub(super) duration: SignedDuration,
    /// The images that the node has then, as far as this attempt pulled them.
    pub(super) pulled: BTreeSet<String>,
    /// The error that ends it.
    pub(super) failure: Option<String>,
}

impl Attempt {
    fn failed(why: impl Into<String>) -> Self {
        Self { duration: SignedDuration::ZERO, pulled: BTreeSet::new(), failure: Some(why.into()) }
    }
}

/// The registry and the network as an attempt finds them.
pub(super) struct Source<'a> {
    /// The image of a pull specification.
    pub(super) image: &'a dyn Fn(&str) -> Image,
    /// How long the pull of an image takes, by pull specification and whether it is slow.
    pub(super) pull_time: &'a dyn Fn(&str, bool) -> SignedDuration,
}

/// Makes an attempt for the `sets` of a node that has the images in `present`. All checks come before the first
/// pull, so a set that does not fit pulls nothing.
pub(super) fn attempt(
    node: &Object,
    sets: &[&PinnedSet],
    present: &BTreeSet<String>,
    source: &Source<'_>,
) -> Attempt {
    let mut wanted: BTreeMap<&str, bool> = BTreeMap::new();
    for set in sets {
        if let Some(why) = unready(node) {
            return Attempt::failed(why);
        }
        let missing = set.images.iter().filter(|image| !present.contains(*image));
        let mut required = 0;
        for name in missing {
            let image = (source.image)(name);
            match image.pull {
                Pull::Succeeds | Pull::Slow => {}
                Pull::Hangs => return timeout(BTreeSet::new()),
                // The size of an image without a readable manifest is unknown.
                _ => {
                    return Attempt::failed(format!(
                        "failed to execute podman manifest inspect for {name:?}: exit status 125"
                    ));
                }
            }
            // Room for the layers, compressed and unpacked.
            required += image.size.unwrap_or(TYPICAL_SIZE) * 2;
            wanted.insert(name, image.pull == Pull::Slow);
        }
        if let Err(why) = check_storage(node, required) {
            return Attempt::failed(why);
        }
    }
    pull(node, &wanted, source)
}

/// Why a node pulls nothing.
fn unready(node: &Object) -> Option<String> {
    let differs = |kind: &str, expected: &str| {
        let found = condition::find_in_status(node, kind)?["status"].as_str()?;
        (found != expected).then(|| found.to_owned())
    };
    let name = node.name();
    let not_ready =
        differs("Ready", "True").map(|status| format!("node {name} is reporting NotReady={status}"));
    not_ready.or_else(|| {
        differs("DiskPressure", "False").map(|status| format!("node {name} is reporting OutOfDisk={status}"))
    })
}

fn check_storage(node: &Object, required: u64) -> Result<(), String> {
    const SHORT: &str = "storage available is less than minimum required";
    let Some(capacity) = bytes(&node["status"]["allocatable"]["ephemeral-storage"]) else {
        return Err(format!("node {:?} has no ephemeral storage capacity", node.name()));
    };
    if capacity < FREE_STORAGE {
        return Err(format!("{SHORT} capacity: {capacity}, required: {FREE_STORAGE}"));
    }
    if required >= capacity - FREE_STORAGE { Err(SHORT.to_owned()) } else { Ok(()) }
}

/// A number of bytes as kubelets report it: plain, or in `Ki`.
fn bytes(quantity: &Value) -> Option<u64> {
    let text = quantity.as_str()?;
    match text.strip_suffix("Ki") {
        Some(kibibytes) => kibibytes.parse::<u64>().ok()?.checked_mul(1024),
        None => text.parse().ok(),
    }
}

/// Pulls images with the workers of the node: one on a control-plane node, five on others.
fn pull(node: &Object, wanted: &BTreeMap<&str, bool>, source: &Source<'_>) -> Attempt {
    let workers = if node.label("node-role.kubernetes.io/master").is_some() { 1 } else { 5 };
    let mut free_at = vec![SignedDuration::ZERO; workers];
    let mut pulled = BTreeSet::new();
    for (name, is_slow) in wanted {
        let Some(worker) = free_at.iter_mut().min() else { break };
        let done = *worker + (source.pull_time)(name, *is_slow);
        if done > TIMEOUT {
            return timeout(pulled);
        }
        pulled.insert((*name).to_owned());
        *worker = done + THROTTLE;
    }
    let duration = free_at.into_iter().max().unwrap_or_default();
    Attempt { duration, pulled, failure: None }
}

/// An attempt that ends by its time limit.
fn timeout(pulled: BTreeSet<String>) -> Attempt {
    let failure = Some("requeue: prefetching images incomplete after timeout: 5m0s".to_owned());
    Attempt { duration: TIMEOUT, pulled, failure }
}
