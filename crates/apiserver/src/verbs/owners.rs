//! Keeps `metadata.managedFields` with every write.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use windtunnel_core::clock::rfc3339;

use crate::apply::{FieldSet, Managers, Tracker, Versions};
use crate::call::{Call, Owners};
use crate::delta::Delta;
use crate::etcd;
use crate::kinds::{Kind, StatusMetadata};
use crate::options::{MANAGER_MAX, is_printable};
use crate::server::ApiServer;
use crate::store::{KnownOwners, Owned, Stored};

/// What the time of an entry weighs at most.
const TIME: usize = 32;

/// An object before it is updated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) object: &'a Stored,
    /// How the new object differs from it.
    pub(super) delta: &'a Delta,
    pub(super) known: Option<KnownOwners>,
}

impl ApiServer {
    /// Whose the fields of an object will be. It is asked about the object as it was decoded: what admission and the
    /// strategy of the kind do to it later is nobody's.
    pub(super) fn owners(&self, call: &mut Call<'_>, object: &Value, before: Option<Before<'_>>) -> Owned {
        let owners = std::mem::replace(&mut call.owners, Owners::Given(None));
        if !self.managed_fields {
            return Owned::default();
        }
        let managers = match owners {
            Owners::Decided(managers) => managers,
            Owners::Given(given) => {
                let tracker = self.tracker(call);
                let renew = |before| renewed(&tracker, object, before, given.as_ref(), call.kind.epoch());
                if let Some(owned) = before.and_then(renew) {
                    return owned;
                }
                let old = before.map(|before| before.object);
                let managers = match old {
                    None => Managers::given(given),
                    // Through a subresource nobody changes the entries themselves.
                    Some(old) if !call.path.subresource.is_empty() => Managers::stored(old),
                    Some(old) => Managers::given_or_stored(given, old, call.kind.custom.is_none()),
                };
                tracker.update(old.map(|old| &**old), object, managers)
            }
        };
        Owned { entries: (!managers.is_empty()).then(|| Arc::new(managers.into_value())), known: None }
    }

    /// What the owners of fields need to know of a write.
    pub(crate) fn tracker<'a>(&'a self, call: &'a Call<'_>) -> Tracker<'a> {
        let (kind, subresource) = (&*call.kind, &*call.path.subresource);
        let served = self.catalog.versions(&kind.resource.group, &kind.resource.plural);
        Tracker {
            versions: Versions::new(served, kind),
            name: match call.request.query.get("fieldManager") {
                "" => of_user_agent(&call.request.user_agent),
                given => Cow::Borrowed(given),
            },
            subresource,
            reset: reset_fields(kind, subresource),
            now: rfc3339(call.now),
        }
    }
}

/// The entries after an update, if it changes nothing but whose values they are already. Through a subresource nobody
/// changes the entries themselves.
fn renewed(
    tracker: &Tracker<'_>,
    object: &Value,
    before: Before<'_>,
    given: Option<&Value>,
    epoch: u64,
) -> Option<Owned> {
    let old = before.object;
    let stored = old.owners()?;
    let taken = tracker.subresource.is_empty() && given.is_some_and(|given| *given != **stored);
    if taken {
        return None;
    }
    let known = before.known.filter(|known| known.epoch == epoch);
    let renewed = tracker.shortcut_update(old, object, before.delta, stored.as_array()?, known.is_some())?;
    let entries = match renewed {
        Cow::Borrowed(_) => Arc::clone(stored),
        Cow::Owned(entries) => Arc::new(Value::Array(entries)),
    };
    // The next write may set the time of an entry that has none yet.
    let weight = || {
        entries.as_array().into_iter().flatten().map(|entry| etcd::weight(entry) + TIME).sum::<usize>() + TIME
    };
    let known = known.unwrap_or_else(|| KnownOwners { epoch, weight: weight() });
    // All tests are tests of this too.
    debug_assert_eq!(*entries, tracker.update(Some(old), object, Managers::stored(old)).into_value());
    debug_assert!(etcd::weight(&entries) <= known.weight);
    Some(Owned { entries: Some(entries), known: Some(known) })
}

/// Whose the fields are of an object that is about to be stored. Where nothing else changes, the times of the entries do
/// not either.
pub(super) fn settled(object: &Value, owners: Owned, old: &Stored) -> Owned {
    match (&owners.entries, old.owners()) {
        (Some(entries), Some(before))
            if !Arc::ptr_eq(entries, before) && object == &**old && is_same_but_times(entries, before) =>
        {
            Owned { entries: Some(Arc::clone(before)), ..owners }
        }
        _ => owners,
    }
}

/// Whether two lists of entries differ in nothing but their times, and so maybe in their order.
fn is_same_but_times(one: &Value, other: &Value) -> bool {
    const REST: [&str; 5] = ["manager", "operation", "apiVersion", "subresource", "fieldsV1"];
    let (Some(one), Some(other)) = (one.as_array(), other.as_array()) else { return false };
    let same = |one: &Value, other: &Value| REST.iter().all(|field| one.get(field) == other.get(field));
    one.len() == other.len() && one.iter().all(|entry| other.iter().any(|found| same(entry, found)))
}

/// The manager that a client is: its user agent up to the first slash (`prefixFromUserAgent`).
fn of_user_agent(agent: &str) -> Cow<'_, str> {
    let name = agent.split('/').next().unwrap_or_default();
    if name.len() <= MANAGER_MAX && name.chars().all(is_printable) {
        return Cow::Borrowed(name);
    }
    let mut kept = String::new();
    for letter in name.chars().filter(|letter| is_printable(*letter)) {
        if kept.len() + letter.len_utf8() > MANAGER_MAX {
            break;
        }
        kept.push(letter);
    }
    Cow::Owned(kept)
}

/// What an endpoint resets whatever is written to it (`GetResetFields`).
fn reset_fields<'a>(kind: &'a Kind, subresource: &str) -> Cow<'a, FieldSet> {
    static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_names(&[&["status"]]));
    let reset: &[&[&str]] = match (subresource, &kind.custom) {
        ("", _) if kind.rules.status => return Cow::Borrowed(&STATUS),
        ("status", Some(custom)) => return Cow::Borrowed(&custom.version.status_reset),
        ("status", None) => match kind.rules.status_metadata {
            StatusMetadata::Ignored => &[&["spec"], &["metadata"]],
            StatusMetadata::TakenButLabels => &[&["spec"], &["metadata", "labels"]],
            StatusMetadata::Taken => &[&["spec"]],
        },
        ("finalize", _) => &[&["status"], &["metadata"]],
        _ => &[],
    };
    Cow::Owned(FieldSet::of_names(reset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_called_by_its_user_agent_up_to_the_slash() {
        for (agent, name) in [
            ("kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl"),
            ("", ""),
            ("a\u{7}b", "ab"),
            (&"x".repeat(200), &"x".repeat(MANAGER_MAX)),
        ] {
            assert_eq!(of_user_agent(agent), name);
        }
    }
}
