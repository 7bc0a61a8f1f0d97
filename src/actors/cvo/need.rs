//! What one task needs at a moment, by what the cluster holds.

use std::borrow::Cow;

use serde_json::Value;

use super::failure::Failure;
use super::graph::Mode;
use super::health::{self, Health};
use super::inject::{self, Surroundings};
use super::manifest::{existing, write_for};
use super::payload::{Rule, Wanted};
use crate::model::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS};
use crate::model::{Object, Resource, View, Write};

/// What was found, or made, as the payload wants it: seen again, it needs no second look.
pub(super) type Settled = Option<(Resource, Object)>;

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
    settled: &mut Settled,
    view: &View,
    mode: Mode,
) -> Result<Need, &'static str> {
    // Only an update takes away what the release before it had.
    if wanted.rule == Rule::Delete && mode != Mode::Updating {
        return Ok(Need::Time(1));
    }
    let resource = match settled {
        Some((resource, _)) => resource.clone(),
        None => match wanted.resource(view) {
            None if wanted.rule == Rule::Delete => return Ok(Need::Time(1)),
            resource => resource.ok_or("NoMatch")?,
        },
    };
    let existing = existing(view, &resource, &wanted.object);
    // What the cluster has a part in may be wanted otherwise though nobody touched it.
    let is_shared = wanted.rule != Rule::Delete && inject::takes(&wanted.object);
    let seen = !is_shared && settled.as_ref().zip(existing).is_some_and(|((_, seen), now)| same(seen, now));
    if !seen {
        let object = if is_shared {
            inject::into(&wanted.object, Surroundings::of(view)).map_err(|_| "NoContainer")?
        } else {
            Cow::Borrowed(&*wanted.object)
        };
        let owner = view.get(&CLUSTER_VERSIONS, "", "version");
        let write = write_for(existing, &resource, &object, wanted.rule, owner);
        if let Some(write) = write {
            return Ok(Need::Write(Box::new(write)));
        }
        *settled = existing.map(|object| (resource, object.clone()));
    }
    let health = match existing {
        Some(object) if wanted.rule != Rule::Delete && mode != Mode::Initializing => {
            health::of(wanted.object["kind"].as_str().unwrap_or_default(), object)
        }
        _ => Health::Good,
    };
    Ok(match health {
        Health::Good => Need::Time(1),
        Health::Busy => Need::Poll,
        Health::Bad(failure) => Need::Fail(failure),
    })
}

/// The write that makes the metadata of a ClusterOperator what the payload says. The rest of it is its operator's.
pub(super) fn metadata(
    wanted: &Value,
    settled: &mut Settled,
    existing: &Object,
    view: &View,
) -> Option<Write> {
    if settled.as_ref().is_some_and(|(_, seen)| same(seen, existing)) {
        return None;
    }
    let owner = view.get(&CLUSTER_VERSIONS, "", "version");
    let write = write_for(Some(existing), &CLUSTER_OPERATORS, wanted, Rule::Apply, owner);
    if write.is_none() {
        *settled = Some((CLUSTER_OPERATORS, existing.clone()));
    }
    write
}

/// Whether this is the same state of an object.
fn same(seen: &Object, now: &Object) -> bool {
    seen.is_same(now) || (seen.uid() == now.uid() && seen.resource_version() == now.resource_version())
}
