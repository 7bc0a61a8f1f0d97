//! What one task needs at a moment, by what the cluster holds.

use std::borrow::Cow;

use serde_json::Value;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS};
use windtunnel_core::{Key, Object, Resource, View, Write};

use super::failure::Failure;
use super::graph::Mode;
use super::health::{self, Health};
use super::inject::{self, Surroundings};
use super::manifest::{existing, write_for};
use super::payload::{Rule, Wanted};

/// What was found, or made, as the payload wants it: seen again, it needs no second look.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    resource: Resource,
    key: Key,
    seen: Object,
    /// Whether the cluster has a part in what is wanted: then it may be wanted otherwise though nobody touched it.
    is_shared: bool,
}

impl Settled {
    /// An object of this kind, as it is what `wanted` says.
    pub(super) fn new(resource: &Resource, object: &Object, wanted: Option<&Wanted>) -> Self {
        let is_shared = wanted.is_some_and(is_shared);
        let key = resource.key(object.namespace(), object.name());
        Self { resource: resource.clone(), key, seen: object.clone(), is_shared }
    }

    /// The cluster's object, if it is as it was.
    fn still<'v>(&self, view: &'v View) -> Option<&'v Object> {
        view.get_key(&self.key).filter(|now| !self.is_shared && self.is_seen(now))
    }

    fn is_seen(&self, now: &Object) -> bool {
        let seen = &self.seen;
        seen.is_same(now)
            || seen.uid() == now.uid()
                && (seen.resource_version() == now.resource_version() || differ_in_status_alone(seen, now))
    }
}

/// Whether two states of an object have the same metadata and, by the generation that the API server keeps of it, the same spec.
fn differ_in_status_alone(one: &Object, other: &Object) -> bool {
    let generation = one.generation();
    generation > 0 && generation == other.generation() && lasting_metadata(one).eq(lasting_metadata(other))
}

/// Metadata but for what every write changes.
fn lasting_metadata(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object["metadata"].as_object().into_iter().flatten();
    fields.filter(|(name, _)| *name != "resourceVersion")
}

fn is_shared(wanted: &Wanted) -> bool {
    wanted.rule != Rule::Delete && inject::takes(&wanted.object)
}

/// What a task needs at this moment.
#[derive(Debug)]
pub(super) enum Need {
    /// Nothing but the time of this many manifests.
    Time(u32),
    /// A write.
    Write(Box<Write>),
    /// To be looked at again later.
    Poll,
    /// To be tried again: the cluster cannot take it now.
    Retry(Failure),
    /// Something that is not so: its component cannot go on.
    Fail(Failure),
}

/// What an object needs.
///
/// # Errors
/// The reason for which it cannot be applied: no kind like its own is served, or what is to be put into it has no place.
pub(super) fn of_object(
    wanted: &Wanted,
    settled: &mut Option<Settled>,
    view: &View,
    mode: Mode,
) -> Result<Need, &'static str> {
    // Only an update takes away what the release before it had.
    if wanted.rule == Rule::Delete && mode != Mode::Updating {
        return Ok(Need::Time(1));
    }
    if let Some(known) = settled
        && let Some(object) = known.still(view)
    {
        return Ok(of_health(&known.resource.kind, object, wanted.rule, mode));
    }
    let resource = match settled {
        Some(known) => known.resource.clone(),
        None => match wanted.resource(view) {
            None if wanted.rule == Rule::Delete => return Ok(Need::Time(1)),
            resource => resource.ok_or("NoMatch")?,
        },
    };
    let existing = existing(view, &resource, &wanted.object);
    let object = if is_shared(wanted) {
        inject::into(&wanted.object, Surroundings::of(view)).map_err(|_| "NoContainer")?
    } else {
        Cow::Borrowed(&*wanted.object)
    };
    let owner = view.get(&CLUSTER_VERSIONS, "", "version");
    let write = write_for(existing, &resource, &object, wanted.rule, owner);
    if let Some(write) = write {
        return Ok(Need::Write(Box::new(write)));
    }
    *settled = existing.map(|object| Settled::new(&resource, object, Some(wanted)));
    Ok(existing.map_or(Need::Time(1), |object| of_health(&resource.kind, object, wanted.rule, mode)))
}

/// What an object of this kind needs that is as it is wanted.
fn of_health(kind: &str, object: &Object, rule: Rule, mode: Mode) -> Need {
    if rule == Rule::Delete || mode == Mode::Initializing {
        return Need::Time(1);
    }
    match health::of(kind, object) {
        Health::Good => Need::Time(1),
        Health::Busy => Need::Poll,
        Health::Bad(failure) => Need::Fail(failure),
    }
}

/// The write that makes the metadata of a ClusterOperator what the payload says. The rest of it is its operator's.
pub(super) fn metadata(
    wanted: &Value,
    settled: &mut Option<Settled>,
    existing: &Object,
    view: &View,
) -> Option<Write> {
    if settled.as_ref().is_some_and(|known| known.is_seen(existing)) {
        return None;
    }
    let owner = view.get(&CLUSTER_VERSIONS, "", "version");
    let write = write_for(Some(existing), &CLUSTER_OPERATORS, wanted, Rule::Apply, owner);
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
    fn what_is_settled_stays_so_while_only_its_status_changes() {
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
        assert!(!is_settled(state(1, "x", 1), &state(2, "x", 2)), "the spec is another");
        assert!(!is_settled(state(1, "x", 1), &state(1, "y", 2)), "a label is");
        assert!(is_settled(state(0, "x", 1), &state(0, "x", 1)));
        assert!(!is_settled(state(0, "x", 1), &state(0, "x", 2)), "nobody counts what is desired");
    }
}
