//! Budgets that leave a drain no room, and pods that an eviction does not remove.

use serde_json::Value;
use windtunnel_controllers::scheduler;
use windtunnel_core::pod::has_ended;
use windtunnel_core::resources::{NODES, POD_DISRUPTION_BUDGETS, PODS};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Change, ChangeKind, Object, Resource, View};

use super::{Dump, Found, left_out};

/// The finalizer of pods of Jobs. The Job controller removes it when the pod has ended.
const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Finds the budgets and pods at which a drain waits.
pub(super) fn find<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let view = placements(dump);
    // Those of users are taken over.
    let is_platforms = |object: &&Object| !dump.namespaces.is_users(object.namespace());
    let budgets = dump.all(&POD_DISRUPTION_BUDGETS).filter(is_platforms).filter_map(|budget| {
        let why = without_room(dump, budget).or_else(|| without_place(dump, &view, budget))?;
        Some((budget, left_out(budget, why)))
    });
    let pods = dump.all(&PODS).filter(is_platforms).filter(|pod| !has_ended(pod)).filter_map(|pod| {
        let mut finalizers = pod.list("/metadata/finalizers").iter().filter_map(Value::as_str);
        let finalizer = finalizers.find(|finalizer| *finalizer != JOB_TRACKING)?;
        let why = format!(
            "the pod stays until somebody removes its finalizer {finalizer}, and the drain of its node waits"
        );
        Some((pod, left_out(pod, why)))
    });
    budgets.chain(pods).collect()
}

/// Budgets of users that leave no room, and whose pods are not in the dump.
pub(super) fn without_pods<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let is_users = |budget: &&Object| dump.namespaces.is_users(budget.namespace());
    let has_pods = |budget: &Object| {
        dump.all(&PODS).any(|pod| {
            budget.namespace() == pod.namespace()
                && selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"])
        })
    };
    let found = dump.all(&POD_DISRUPTION_BUDGETS).filter(is_users).filter(|budget| !has_pods(budget));
    let found = found.filter_map(|budget| {
        let why = without_room(dump, budget)?;
        Some((budget, left_out(budget, format!("{why}; its pods are not in the dump"))))
    });
    found.collect()
}

/// The nodes and pods of the dump.
fn placements(dump: &Dump<'_>) -> View {
    let mut view = View::default();
    for resource in [&NODES, &PODS] {
        for object in dump.all(resource) {
            view.apply(&change(resource, object, ChangeKind::Added));
        }
    }
    view
}

fn change(resource: &Resource, object: &Object, kind: ChangeKind) -> Change {
    Change { key: resource.key(object.namespace(), object.name()), kind, object: object.clone(), old: None }
}

/// Why a budget allows no eviction; `None` if it allows one now, or will when pods of the platform are ready again.
fn without_room(dump: &Dump<'_>, budget: &Object) -> Option<String> {
    let number = |field: &str| budget.number(&format!("/status/{field}")).unwrap_or_default();
    let (expected, healthy, desired) =
        (number("expectedPods"), number("currentHealthy"), number("desiredHealthy"));
    if expected == 0 || number("disruptionsAllowed") > 0 {
        return None;
    }
    let recovers = healthy < expected && desired < expected;
    // A component of the release that is unwell is taken as the fault of its operator.
    if recovers && dump.namespaces.is_of_release(budget.namespace()) {
        return None;
    }
    Some(format!(
        "the budget allows no eviction ({healthy} of {expected} pods are healthy, and it wants {desired}), so that drains wait"
    ))
}

/// Why evictions use a budget up: more of its pods than it allows to be missing fit on no node after an eviction.
fn without_place(dump: &Dump<'_>, view: &View, budget: &Object) -> Option<String> {
    let allowed = budget.number("/status/disruptionsAllowed").unwrap_or_default();
    let is_covered = |pod: &&Object| {
        pod.namespace() == budget.namespace()
            && selector_matches(&budget["spec"]["selector"], &pod["metadata"]["labels"])
            && !has_ended(pod)
    };
    let is_homeless = |pod: &&Object| {
        let mut without = view.clone();
        without.apply(&change(&PODS, pod, ChangeKind::Deleted));
        scheduler::find_node(pod, &without).is_err()
    };
    let homeless = dump.all(&PODS).filter(is_covered).filter(is_homeless);
    let count = i64::try_from(homeless.count()).unwrap_or(i64::MAX);
    (count > allowed && allowed > 0).then(|| {
        format!(
            "{count} of its pods fit on no node once they are evicted, and the budget allows {allowed} to be missing, so that drains wait"
        )
    })
}
