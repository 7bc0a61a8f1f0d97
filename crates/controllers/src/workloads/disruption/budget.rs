//! The status of a `PodDisruptionBudget`: the expected and healthy pods, and the allowed disruptions.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View, Write};

use super::SCALED;
use crate::owners::controller;
use crate::recorder::Notice;
use crate::workloads::go_selector::go_selector;
use crate::workloads::shares::resolve_int_or_percent;

/// The time until an evicted pod must be terminating. Later it counts as healthy again.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// The result of assessing a budget.
pub(super) struct Assessment {
    /// The counts of pods, or the error if the scale is unknown.
    counts: Result<Counts, String>,
    /// Evicted pods that are not terminating yet, with the times of their evictions.
    disrupted: Map<String, Value>,
    /// Pods that were evicted, but not deleted in time.
    pub(super) kept: Vec<String>,
    /// Whether the budget selects pods.
    has_pods: bool,
    /// Whether pods that the budget counts by their controllers have none.
    has_unmanaged_pods: bool,
    /// The time when the first of those counts as healthy again.
    pub(super) recheck_at: Option<Time>,
}

struct Counts {
    expected: i64,
    desired: i64,
    healthy: i64,
}

impl Counts {
    fn allowed(&self) -> i64 {
        if self.expected > 0 { (self.healthy - self.desired).max(0) } else { 0 }
    }
}

/// Counts the pods of a budget.
pub(super) fn assess(budget: &Object, view: &View, now: Time) -> Assessment {
    let selector = &budget["spec"]["selector"];
    let all = view.list_in(&PODS, budget.namespace());
    let pods: Vec<&Object> =
        all.filter(|pod| selector_matches(selector, &pod["metadata"]["labels"])).collect();
    let mut disrupted = Map::new();
    let mut recheck_at: Option<Time> = None;
    let mut kept = Vec::new();
    for pod in pods.iter().filter(|pod| !pod.is_terminating()) {
        let evicted = budget["status"]["disruptedPods"].get(pod.name());
        let Some((text, at)) = evicted.and_then(|text| Some((text, parse_rfc3339(text.as_str()?)?))) else {
            continue;
        };
        let healthy_at = at + DELETION_TIMEOUT;
        if healthy_at > now {
            disrupted.insert(pod.name().to_owned(), text.clone());
            recheck_at = Some(recheck_at.map_or(healthy_at, |earlier| earlier.min(healthy_at)));
        } else {
            kept.push(pod.name().to_owned());
        }
    }
    let healthy = pods.iter().filter(|pod| {
        !pod.is_terminating() && !disrupted.contains_key(pod.name()) && condition::is_true(pod, "Ready")
    });
    let healthy = count(healthy.count());
    let counts =
        required(budget, &pods, view).map(|(expected, desired)| Counts { expected, desired, healthy });
    let spec = &budget["spec"];
    let counts_by_scale = !spec["maxUnavailable"].is_null() || spec["minAvailable"].is_string();
    Assessment {
        counts,
        disrupted,
        kept,
        has_pods: !pods.is_empty(),
        has_unmanaged_pods: counts_by_scale && pods.iter().any(|pod| controller(pod).is_none()),
        recheck_at,
    }
}

impl Assessment {
    /// The Events about the pods of a budget.
    pub(super) fn notices(&self, budget: &Object) -> Vec<Notice> {
        let mut notices = Vec::new();
        if !self.has_pods {
            notices.push(Notice::normal("NoPods", "No matching pods found"));
        }
        if let Err(why) = &self.counts {
            let text = format!("Failed to calculate the number of expected pods: {why}");
            notices.push(Notice::warning("CalculateExpectedPodCountFailed", text));
        } else if self.has_unmanaged_pods {
            let text = format!(
                "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the \
                 status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account \
                 for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.",
                go_selector(&budget["spec"]["selector"])
            );
            notices.push(Notice::warning("UnmanagedPods", text));
        }
        notices
    }
}

/// The expected number of pods, and the number that must be healthy.
fn required(budget: &Object, pods: &[&Object], view: &View) -> Result<(i64, i64), String> {
    let (most, least) = (&budget["spec"]["maxUnavailable"], &budget["spec"]["minAvailable"]);
    if !most.is_null() {
        let expected = scale(pods, view)?;
        return Ok((expected, (expected - resolve_int_or_percent(most, expected, true)?).max(0)));
    }
    if least.is_string() {
        let expected = scale(pods, view)?;
        return Ok((expected, resolve_int_or_percent(least, expected, true)?));
    }
    Ok((count(pods.len()), least.as_i64().unwrap_or(0)))
}

/// The total desired replicas of the controllers of these pods. Ignores pods without a controller.
fn scale(pods: &[&Object], view: &View) -> Result<i64, String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut replicas = 0;
    for pod in pods {
        let Some(reference) = controller(pod) else { continue };
        let scaled = SCALED
            .iter()
            .filter(|kind| kind.kind == reference["kind"].as_str().unwrap_or_default())
            .find_map(|kind| view.get(kind, pod.namespace(), reference["name"].as_str()?))
            .filter(|found| found.uid() == reference["uid"]);
        let Some(owner) = scaled else {
            return Err(format!("found no controllers for pod {:?}", pod.name()));
        };
        // The ReplicaSets of a rollout share the scale of their Deployment.
        let deployment = controller(owner)
            .filter(|reference| reference["kind"] == *DEPLOYMENTS.kind)
            .and_then(|reference| view.get(&DEPLOYMENTS, pod.namespace(), reference["name"].as_str()?));
        let owner = deployment.unwrap_or(owner);
        if !seen.contains(&owner.uid()) {
            seen.push(owner.uid());
            replicas += owner.number("/spec/replicas").unwrap_or(1);
        }
    }
    Ok(replicas)
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Writes the status if it differs from the API.
pub(super) fn write_status(budget: &Object, found: &Assessment, now: Time) -> Option<Write> {
    let before = &budget["status"];
    let mut status = if before.is_object() { before.clone() } else { json!({}) };
    let allowed = found.counts.as_ref().map_or(0, Counts::allowed);
    status["disruptionsAllowed"] = json!(allowed);
    let condition = match &found.counts {
        Ok(counts) => {
            status["observedGeneration"] = json!(budget.generation());
            status["currentHealthy"] = json!(counts.healthy);
            status["desiredHealthy"] = json!(counts.desired);
            status["expectedPods"] = json!(counts.expected);
            if found.disrupted.is_empty() {
                status.as_object_mut().map(|fields| fields.remove("disruptedPods"));
            } else {
                status["disruptedPods"] = json!(found.disrupted);
            }
            let (is, reason) =
                if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
            Condition::new("DisruptionAllowed", is, reason, "")
        }
        Err(why) => Condition::new("DisruptionAllowed", "False", "SyncFailed", why.as_str()),
    };
    status["conditions"] = with_condition(before, &condition, &status["observedGeneration"], now);
    if status == *before {
        return None;
    }
    let mut value = budget.to_value();
    value["status"] = status;
    Some(Write::update_status(&POD_DISRUPTION_BUDGETS, value))
}

/// Sets a condition like `meta.SetStatusCondition`, with reason and message even if they are empty.
fn with_condition(status: &Value, condition: &Condition, generation: &Value, now: Time) -> Value {
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    let old = condition::find(&list, &condition.kind);
    let since =
        old.filter(|old| old["status"] == *condition.status).map(|old| old["lastTransitionTime"].clone());
    let mut entry = json!({
        "type": condition.kind, "status": condition.status, "reason": condition.reason,
        "message": condition.message, "lastTransitionTime": since.unwrap_or_else(|| json!(rfc3339(now))),
    });
    if generation.as_i64().is_some_and(|generation| generation > 0) {
        entry["observedGeneration"] = generation.clone();
    }
    match list.iter_mut().find(|old| old["type"] == *condition.kind) {
        Some(old) => *old = entry,
        None => list.push(entry),
    }
    json!(list)
}
