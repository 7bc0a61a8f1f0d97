//! The Upgradeable=False condition of clusters with a feature set that other releases may not support.

use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::FEATURE_GATES;

use super::health::{WELL, WELL_MESSAGE};
use super::kubelet_skew;
use crate::release::Release;

const KIND: &str = "Upgradeable";
/// The prefix of reasons about feature sets.
const ABOUT: &str = "FeatureGates_RestrictedFeatureGates_";

/// Returns whether the operator with this ClusterOperator reports feature sets in some release.
pub(super) fn may_report(operator: &str) -> bool {
    ["kube-apiserver", "config-operator"].contains(&operator)
}

/// The Upgradeable=False condition for the feature set. Up to 4.13 kube-apiserver's operator reports it and
/// accepts LatencySensitive. Later config-operator reports it.
pub(super) fn rejection(operator: &str, release: &Release, view: &View) -> Option<Condition> {
    let is_old = release.line() <= (4, 13);
    let reporter = if is_old { "kube-apiserver" } else { "config-operator" };
    let set =
        view.get(&FEATURE_GATES, "", "cluster").filter(|_| operator == reporter)?.text("/spec/featureSet");
    let passes = set.is_empty() || is_old && set == "LatencySensitive";
    let message = format!("FeatureGatesUpgradeable: \"{set}\" does not allow updates");
    (!passes).then(|| Condition::new(KIND, "False", &format!("{ABOUT}{set}"), message))
}

/// Merges two conditions, with reasons and messages sorted by reason.
pub(super) fn merge_refusals(one: Condition, other: Condition) -> Condition {
    let mut two = [one, other];
    two.sort_by(|one, other| one.reason.cmp(&other.reason));
    let [first, second] = two;
    let status = if [&first, &second].iter().any(|one| one.status == "False") { "False" } else { "Unknown" };
    let reason = format!("{}::{}", first.reason, second.reason);
    Condition::new(KIND, status, &reason, format!("{}\n{}", first.message, second.message))
}

/// Sets the condition in the status of a ClusterOperator, or resets an earlier one. Returns whether the
/// status changed.
pub(super) fn report(rejection: Option<&Condition>, object: &mut Value, now: Time) -> bool {
    let mut list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let is_own = condition::find(&list, KIND)
        .and_then(|found| found["reason"].as_str())
        .is_some_and(|reason| [ABOUT, kubelet_skew::ABOUT].iter().any(|about| reason.starts_with(about)));
    let wanted = match rejection {
        Some(rejection) => rejection.clone(),
        None if is_own => Condition::new(KIND, "True", WELL, WELL_MESSAGE),
        None => return false,
    };
    condition::set(&mut list, &wanted, now);
    let list = Value::Array(list);
    let changed = object["status"]["conditions"] != list;
    object["status"]["conditions"] = list;
    changed
}
