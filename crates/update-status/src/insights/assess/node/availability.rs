//! Whether a node can run pods, by the rules of the machine-config operator.

use super::facts::{Lack, Node, Pool};
use super::{condition, has_failed};
use crate::insight::InsightCondition;

/// Message for a cordoned node, in both the API and `oc`.
pub const CORDONED: &str = "Node is marked unschedulable";
const IN_WORK: &str = "Machine Config Daemon is processing the node";

/// Returns the condition `Available` of a node that cannot run pods, since its first problem; `None` also for
/// a node without the pool's image.
pub(super) fn unavailable(node: &Node, pool: &Pool) -> Option<InsightCondition> {
    let mut reasons: Vec<(&str, &str)> = node.lacks.iter().map(|(lack, _)| in_words(*lack)).collect();
    if node.unschedulable {
        reasons.push((CORDONED, CORDONED));
    }
    if reasons.is_empty() {
        if is_done(node) || has_failed(node) {
            return None;
        }
        reasons.push((IN_WORK, IN_WORK));
    }
    if node.annotation("desiredImage") != pool.image {
        return None;
    }
    let since = node.lacks.iter().filter_map(|(_, found)| found.since).min();
    let (reasons, messages): (Vec<&str>, Vec<&str>) = reasons.into_iter().unzip();
    Some(condition("Available", "False", &reasons.join(" | "), &messages.join(" | "), since))
}

fn in_words(lack: Lack) -> (&'static str, &'static str) {
    match lack {
        Lack::Ready => ("Not ready", "Node is not ready"),
        Lack::DiskSpace => ("Disk pressure", "Node has disk pressure"),
        Lack::Network => ("Network unavailable", "Node has unavailable network"),
    }
}

/// Returns whether the daemon has applied the desired configuration and image.
fn is_done(node: &Node) -> bool {
    let (current, desired) = (node.annotation("currentConfig"), node.annotation("desiredConfig"));
    let images = (node.given("currentImage"), node.given("desiredImage"));
    let has_image = match images {
        (None, None) => true,
        (Some(current), Some(desired)) => !current.is_empty() && current == desired,
        _ => false,
    };
    !current.is_empty() && current == desired && has_image && node.annotation("state") == "Done"
}
