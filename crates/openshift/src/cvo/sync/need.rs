//! The next action for one task, by the current state of the cluster.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{Key, Object, Resource, View, Write};

use super::failure::Failure;
use super::graph::ApplyMode;
use super::health::{self, Health};
use super::inject::{self, Surroundings};
use super::manifest::{existing, write_for};
use crate::cvo::payload::{ApplyRule, PayloadObject};

/// The object of a task that matched the manifest. It is not compared again until it changes.
#[derive(Debug, Clone)]
pub(in crate::cvo) struct Settled {
    resource: Resource,
    key: Key,
    seen: Object,
    /// Whether values of other cluster objects are injected. The manifest can then change without a change of
    /// this object.
    is_shared: bool,
}

impl Settled {
    /// An object that matches `wanted`.
    pub(in crate::cvo) fn new(resource: &Resource, object: &Object, wanted: Option<&PayloadObject>) -> Self {
        let is_shared = wanted.is_some_and(is_shared);
        let key = resource.key_of(object);
        Self { resource: resource.clone(), key, seen: object.clone(), is_shared }
    }

    /// The cluster's object, if it is unchanged.
    fn unchanged<'v>(&self, view: &'v View) -> Option<&'v Object> {
        view.get_key(&self.key).filter(|now| !self.is_shared && self.is_seen(now))
    }

    fn is_seen(&self, now: &Object) -> bool {
        let seen = &self.seen;
        seen.is_same(now)
            || seen.uid() == now.uid()
                && (seen.resource_version() == now.resource_version() || differ_only_in_status(seen, now))
    }
}

/// Returns whether two states of an object have the same metadata and, by their generation, the same spec.
fn differ_only_in_status(one: &Object, other: &Object) -> bool {
    let generation = one.generation();
    generation > 0 && generation == other.generation() && lasting_metadata(one).eq(lasting_metadata(other))
}

/// All metadata except the resource version, which changes with every write.
fn lasting_metadata(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object["metadata"].as_object().into_iter().flatten();
    fields.filter(|(name, _)| *name != "resourceVersion")
}

fn is_shared(wanted: &PayloadObject) -> bool {
    wanted.rule != ApplyRule::Delete && inject::can_inject(&wanted.object)
}

/// The next action for a task.
#[derive(Debug)]
pub(in crate::cvo) enum NextAction {
    /// No request, only the time of this many manifests.
    Time(u32),
    Write(Box<Write>),
    /// A later check.
    Poll,
    /// A retry, because the cluster cannot accept the manifest now.
    Retry(Failure),
    /// A failure, after which its component cannot continue.
    Fail(Failure),
}

/// Returns the next action for an object.
///
/// # Errors
/// Why it cannot be applied: its kind is not served, or injection fails.
pub(in crate::cvo) fn object_action(
    wanted: &PayloadObject,
    settled: &mut Option<Settled>,
    view: &View,
    mode: ApplyMode,
) -> Result<NextAction, &'static str> {
    // Objects of the previous release are deleted only during an update.
    if wanted.rule == ApplyRule::Delete && mode != ApplyMode::Updating {
        return Ok(NextAction::Time(1));
    }
    if let Some(known) = settled
        && let Some(object) = known.unchanged(view)
    {
        return Ok(health_action(&known.resource.kind, object, wanted.rule, mode));
    }
    let resource = match settled {
        Some(known) => known.resource.clone(),
        None => match wanted.resource(view) {
            None if wanted.rule == ApplyRule::Delete => return Ok(NextAction::Time(1)),
            resource => resource.ok_or("NoMatch")?,
        },
    };
    let existing = existing(view, &resource, &wanted.object);
    let object = if is_shared(wanted) {
        inject::into(&wanted.object, Surroundings::of(view)).map_err(|_| "NoContainer")?
    } else {
        Cow::Borrowed(&*wanted.object)
    };
    let owner = view.cluster_version();
    let write = write_for(existing, &resource, &object, wanted.rule, owner);
    if let Some(write) = write {
        return Ok(NextAction::Write(Box::new(write)));
    }
    *settled = existing.map(|object| Settled::new(&resource, object, Some(wanted)));
    Ok(existing
        .map_or(NextAction::Time(1), |object| health_action(&resource.kind, object, wanted.rule, mode)))
}

/// Returns the next action for an object that matches its manifest.
fn health_action(kind: &str, object: &Object, rule: ApplyRule, mode: ApplyMode) -> NextAction {
    if rule == ApplyRule::Delete || mode == ApplyMode::Initializing {
        return NextAction::Time(1);
    }
    match health::check_object(kind, object) {
        Health::Good => NextAction::Time(1),
        Health::Busy => NextAction::Poll,
        Health::Bad(failure) => NextAction::Fail(failure),
    }
}

/// The write that updates the metadata of a ClusterOperator. All other fields belong to its operator.
pub(in crate::cvo) fn metadata(
    wanted: &Value,
    settled: &mut Option<Settled>,
    existing: &Object,
    view: &View,
) -> Option<Write> {
    if settled.as_ref().is_some_and(|known| known.is_seen(existing)) {
        return None;
    }
    let owner = view.cluster_version();
    let write = write_for(Some(existing), &CLUSTER_OPERATORS, wanted, ApplyRule::Apply, owner);
    if write.is_none() {
        *settled = Some(Settled::new(&CLUSTER_OPERATORS, existing, None));
    }
    write
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::DEPLOYMENTS;

    use super::*;

    #[test]
    fn an_object_stays_settled_while_only_its_status_changes() {
        let state = |generation: u32, label: &str, version: u32| {
            Object::new(json!({
                "metadata": {
                    "name": "d", "namespace": "ns", "uid": "u", "labels": { "a": label },
                    "generation": generation, "resourceVersion": version.to_string(),
                },
                "status": { "observedGeneration": version },
            }))
        };
        let is_settled = |seen: Object, now: &Object| Settled::new(&DEPLOYMENTS, &seen, None).is_seen(now);
        assert!(is_settled(state(1, "x", 1), &state(1, "x", 2)));
        assert!(!is_settled(state(1, "x", 1), &state(2, "x", 2)), "the spec changed");
        assert!(!is_settled(state(1, "x", 1), &state(1, "y", 2)), "a label changed");
        assert!(is_settled(state(0, "x", 1), &state(0, "x", 1)));
        assert!(
            !is_settled(state(0, "x", 1), &state(0, "x", 2)),
            "without a generation the spec may have changed"
        );
    }
}
