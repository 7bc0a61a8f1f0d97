//! Eviction: deletes a pod if its PodDisruptionBudget allows it.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::{Time, rfc3339};

use super::binding::set_condition;
use super::success;
use crate::call::{Call, part};
use crate::kinds::Kind;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::options::Deletion;
use crate::server::ApiServer;
use crate::server::change::Change;
use crate::store::Stored;
use crate::{metadata, selector};

/// The maximum number of evictions that the controller of a budget has not yet confirmed.
const MAX_DISRUPTED: usize = 2000;
const EVICTION: Resource = Resource::namespaced("policy", "v1", "Eviction", "pods");
const BLOCKED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

impl ApiServer {
    /// `POST .../pods/NAME/eviction`.
    pub(super) fn evict(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let mut eviction = part::body(call, &[("policy", "v1"), ("policy", "v1beta1")], "Eviction")?;
        part::complete(&mut eviction, &EVICTION, call);
        self.admit_posted(call, Some(&EVICTION), &mut eviction, |_, call, eviction| {
            if metadata::text(eviction, "name") == call.path.name {
                return Ok(());
            }
            Err(BoxedRejection::bad_request("name in URL does not match name in Eviction object"))
        })?;
        let asked = &eviction["deleteOptions"];
        let mut options = Deletion::of_body(asked, &self.profile)?;
        options.dry_run |= call.dry_run;
        call.dry_run = options.dry_run;
        let pods = Arc::clone(&call.kind);
        let pod = self.entry(call)?.served();
        call.before = Some(pod.clone());
        if !needs_no_budget(&pod) {
            self.spend_disruption(call, &pod, options.dry_run)?;
        }
        let pod = self.mark_disrupted(call, &pods, pod, &options);
        let reply = self.delete_object(&pods, &call.key(), &pod, &options, call.now)?;
        if reply.removed.is_none()
            && let crate::reply::ReplyBody::Object(after) = &reply.body
        {
            call.after = Some(after.clone());
        }
        Ok(Reply { removed: reply.removed, ..success() })
    }

    /// Adds the condition `DisruptionTarget` to the pod's status.
    fn mark_disrupted(&mut self, call: &Call<'_>, pods: &Kind, pod: Stored, options: &Deletion) -> Stored {
        if options.dry_run || self.profile.minor < since::EVICTION_CONDITION {
            return pod;
        }
        let mut marked = (*pod).clone();
        set_condition(
            &mut marked,
            json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastProbeTime": null,
                "lastTransitionTime": rfc3339(call.now),
            }),
        );
        let key = call.key();
        let stored = self.store.rewrite(pods.table, &key, pods.epoch(), marked);
        self.follow(&Change { kind: pods, key: &key, old: Some(&pod), now: call.now });
        stored
    }

    /// Takes one disruption from the pod's budget, if it has one (`checkAndDecrement`).
    ///
    /// # Errors
    /// 429 if the budget allows no disruption.
    fn spend_disruption(&mut self, call: &Call<'_>, pod: &Value, dry_run: bool) -> Outcome<()> {
        let Some(budgets) = self.catalog.find("policy", "v1", "poddisruptionbudgets").cloned() else {
            return Ok(());
        };
        let namespace = &*call.path.namespace;
        let all = self.store.list(budgets.table, namespace).map(|(.., entry)| entry.served());
        let mut matching = all.filter(|budget| covers(budget, pod));
        let Some(budget) = matching.next() else { return Ok(()) };
        if matching.next().is_some() {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(BoxedRejection::internal(why));
        }
        drop(matching);
        let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        let any_unhealthy = self.profile.minor >= since::EVICTION_POLICY
            && budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        let spare = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
        if !is_ready(pod) && (any_unhealthy || spare) {
            return Ok(());
        }
        let spent = check_and_decrement(&budget, &call.path.name, call.now)?;
        if !dry_run {
            let key = budgets.key(namespace, metadata::text(&budget, "name"));
            self.store.rewrite(budgets.table, &key, budgets.epoch(), spent);
            self.follow(&Change { kind: &budgets, key: &key, old: Some(&budget), now: call.now });
        }
        Ok(())
    }
}

/// Whether a pod may be evicted without a budget, because it is not running or already terminating.
fn needs_no_budget(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    matches!(phase, "Succeeded" | "Failed" | "Pending") || metadata::is_terminating(pod)
}

/// Whether a budget covers a pod. An empty selector covers every pod, a missing selector covers none.
fn covers(budget: &Value, pod: &Value) -> bool {
    selector::selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"])
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Returns the budget with one disruption less.
///
/// # Errors
/// The budget allows no disruption.
fn check_and_decrement(budget: &Value, pod: &str, now: Time) -> Outcome<Value> {
    let name = metadata::text(budget, "name");
    let status = &budget["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    let resource =
        &windtunnel_core::Resource::namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudget");
    if count("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(BoxedRejection::too_many(BLOCKED, "DisruptionBudget", &why, 10));
    }
    let allowed = count("disruptionsAllowed");
    if allowed < 0 {
        return Err(BoxedRejection::forbidden(resource, name, "pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > MAX_DISRUPTED) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(BoxedRejection::forbidden(resource, name, why));
    }
    if allowed == 0 {
        let (healthy, has) = (count("desiredHealthy"), count("currentHealthy"));
        let why =
            format!("The disruption budget {name} needs {healthy} healthy pods and has {has} currently");
        return Err(BoxedRejection::too_many(BLOCKED, "DisruptionBudget", &why, 0));
    }
    let mut budget = budget.clone();
    budget["status"]["disruptionsAllowed"] = json!(allowed - 1);
    budget["status"]["disruptedPods"][pod] = json!(rfc3339(now));
    if allowed == 1 {
        set_condition(
            &mut budget,
            json!({
                "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
                "observedGeneration": count("observedGeneration"), "lastTransitionTime": rfc3339(now),
            }),
        );
    }
    Ok(budget)
}
