//! The HorizontalPodAutoscaler controller. It keeps workloads within their bounds. There are no metrics here, so it reports
//! why it cannot compute a number of replicas from them, as in a cluster without a metrics server.

mod metrics;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{
    AUTOSCALERS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use windtunnel_core::{ChangeKind, Identity, Key, Object, Operation, Resource, View, Write};

use crate::event_log::EventLog;
use crate::recorder::Notice;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, Step};

/// The kinds that can be scaled. Custom resources are not.
const SCALED: [Resource; 4] = [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS];
/// The interval at which each autoscaler is processed (`--horizontal-pod-autoscaler-sync-period`).
const PERIOD: SignedDuration = SignedDuration::from_secs(15);

/// The HorizontalPodAutoscaler controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct AutoscalerController {
    queue: WorkQueue,
    /// When each autoscaler is processed next.
    due: BTreeMap<Key, Time>,
    events: EventLog,
    started: bool,
}

impl Default for AutoscalerController {
    fn default() -> Self {
        let events = EventLog::of("horizontal-pod-autoscaler");
        Self { queue: WorkQueue::default(), due: BTreeMap::new(), events, started: false }
    }
}

impl AutoscalerController {
    /// Creates a controller of autoscalers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.events.set_version(version);
        self
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for autoscaler in input.view.list(&AUTOSCALERS) {
                self.schedule(&AUTOSCALERS.key_of(autoscaler), input.now);
            }
        }
        for change in input.changes {
            if change.kind == ChangeKind::Deleted {
                self.due.remove(&change.key);
                self.events.forget(&change.key);
                self.queue.forget(&change.key);
            } else {
                self.schedule(&change.key, input.now);
            }
        }
        for (key, answer) in self.queue.process_answers(input.answers, input.now) {
            if let (Err(rejection), Some("scale")) = (&answer.outcome, answer.write.subresource) {
                let size = size_of(&answer.write);
                let text = format!("New size: {size}; reason: ; error: {}", rejection.message);
                self.events.add(&key, Notice::warning("FailedRescale", text));
            }
        }
    }

    /// Schedules an autoscaler for the end of the period, unless it is scheduled already.
    fn schedule(&mut self, key: &Key, now: Time) {
        let at = *self.due.entry(key.clone()).or_insert(now + PERIOD);
        self.queue.add_by(key.clone(), at);
    }

    /// Processes an autoscaler: sets its conditions, and returns the new size of its target with the reason.
    fn assess(&mut self, key: &Key, autoscaler: &Object, view: &View, round: &mut Round) {
        let current = match target(autoscaler, view) {
            Ok(Some(target)) => target.number("/spec/replicas").unwrap_or(1),
            Ok(None) => return,
            Err(why) => {
                self.events.add(key, Notice::warning("FailedGetScale", why.clone()));
                let text = format!("the HPA controller was unable to get the target's current scale: {why}");
                return round.set("AbleToScale", "False", "FailedGetScale", &text);
            }
        };
        let text = "the HPA controller was able to get the target's current scale";
        round.set("AbleToScale", "True", "SucceededGetScale", text);
        round.current = Some(current);
        let most = autoscaler.number("/spec/maxReplicas").unwrap_or(current);
        let least = autoscaler.number("/spec/minReplicas").unwrap_or(1);
        if current == 0 && least != 0 {
            let text = "scaling is disabled since the replica count of the target is zero";
            round.set("ScalingActive", "False", "ScalingDisabled", text);
            round.desired = Some(0);
        } else if current > most {
            round.rescale = Some((most, "Current number of replicas above Spec.MaxReplicas"));
        } else if current < least {
            round.rescale = Some((least, "Current number of replicas below Spec.MinReplicas"));
        } else {
            self.fail_for_metrics(key, autoscaler, round);
        }
        if let Some((size, reason)) = round.rescale {
            let text = format!("the HPA controller was able to update the target scale to {size}");
            round.set("AbleToScale", "True", "SucceededRescale", &text);
            round.desired = Some(size);
            let text = format!("New size: {size}; reason: {reason}");
            self.events.add(key, Notice::normal("SuccessfulRescale", text));
        }
    }

    /// Reports that no metric has a value.
    fn fail_for_metrics(&mut self, key: &Key, autoscaler: &Object, round: &mut Round) {
        let metrics = autoscaler.list("/spec/metrics");
        let failures: Vec<metrics::MetricError> =
            metrics.iter().map(|metric| metrics::failure(metric, autoscaler.namespace())).collect();
        for failure in &failures {
            self.events.add(key, Notice::warning(failure.reason, failure.error.clone()));
        }
        let Some(first) = failures.first() else { return };
        let text = format!("the HPA was unable to compute the replica count: {}", first.error);
        round.set("ScalingActive", "False", first.reason, &text);
        let count = failures.len();
        let text =
            format!("invalid metrics ({count} invalid out of {count}), first error is: {}", first.context());
        self.events.add(key, Notice::warning("FailedComputeMetricsReplicas", text));
    }
}

/// The result of processing an autoscaler once.
struct Round {
    conditions: Vec<Value>,
    now: Time,
    /// The replicas of the target.
    current: Option<i64>,
    /// The replicas that it should have.
    desired: Option<i64>,
    /// The new size, and why.
    rescale: Option<(i64, &'static str)>,
}

impl Round {
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        condition::set(&mut self.conditions, &Condition::new(kind, status, reason, message), self.now);
    }

    /// Writes the status if it differs from the API.
    fn write_status(&self, autoscaler: &Object) -> Option<Write> {
        let mut value = autoscaler.to_value();
        let status = &mut value["status"];
        status["conditions"] = Value::Array(self.conditions.clone());
        if let Some(current) = self.current {
            status["currentReplicas"] = json!(current);
            let before = autoscaler.number("/status/desiredReplicas").unwrap_or(0);
            status["desiredReplicas"] = json!(self.desired.unwrap_or(before));
        }
        if self.rescale.is_some() {
            status["lastScaleTime"] = json!(rfc3339(self.now));
        }
        (value != **autoscaler).then(|| Write::update_status(&AUTOSCALERS, value))
    }
}

/// The target of an autoscaler; `None` if it is of a kind that is not scaled here.
///
/// # Errors
/// The target does not exist.
fn target<'v>(autoscaler: &Object, view: &'v View) -> Result<Option<&'v Object>, String> {
    let Some(kind) = target_kind(autoscaler) else { return Ok(None) };
    let name = autoscaler.text("/spec/scaleTargetRef/name");
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    view.get(&kind, autoscaler.namespace(), name)
        .map(Some)
        .ok_or_else(|| format!("{}/scale{group} {name:?} not found", kind.plural))
}

fn target_kind(autoscaler: &Object) -> Option<Resource> {
    let reference = &autoscaler["spec"]["scaleTargetRef"];
    SCALED.into_iter().find(|kind| {
        reference["kind"] == *kind.kind && reference["apiVersion"] == kind.api_version().as_str()
    })
}

/// Updates the scale of the target.
fn scale(autoscaler: &Object, kind: &Resource, size: i64) -> Write {
    let name = autoscaler.text("/spec/scaleTargetRef/name");
    let scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": { "namespace": autoscaler.namespace(), "name": name },
        "spec": { "replicas": size },
    });
    Write { subresource: Some("scale"), ..Write::update(kind, scale) }
}

/// The size in an update of a scale.
fn size_of(write: &Write) -> i64 {
    let Operation::Update(scale) = &write.operation else { return 0 };
    scale["spec"]["replicas"].as_i64().unwrap_or(0)
}

impl Reconcile for AutoscalerController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(autoscaler) = view.get_key(key) else { return Vec::new() };
        let at = self.due.entry(key.clone()).or_insert(now);
        if *at > now {
            self.queue.add_by(key.clone(), *at);
            return Vec::new();
        }
        *at = now + PERIOD;
        self.queue.add_by(key.clone(), *at);
        let conditions = autoscaler.conditions().to_vec();
        let mut round = Round { conditions, now, current: None, desired: None, rescale: None };
        self.assess(key, autoscaler, view, &mut round);
        let kind = target_kind(autoscaler);
        let scaled = kind.zip(round.rescale).map(|(kind, (size, _))| scale(autoscaler, &kind, size));
        scaled.into_iter().chain(round.write_status(autoscaler)).collect()
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for AutoscalerController {
    fn name(&self) -> &'static str {
        "horizontal-pod-autoscaler-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "horizontal-pod-autoscaler")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(AUTOSCALERS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
