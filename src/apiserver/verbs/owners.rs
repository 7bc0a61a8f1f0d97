//! Keeps `metadata.managedFields` with every write.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use crate::apiserver::apply::{FieldSet, Managers, Tracker, Versions};
use crate::apiserver::call::{Call, Owners};
use crate::apiserver::delta::Delta;
use crate::apiserver::etcd;
use crate::apiserver::kinds::{Kind, StatusMetadata};
use crate::apiserver::metadata;
use crate::apiserver::options::{MANAGER_MAX, is_printable};
use crate::apiserver::server::ApiServer;
use crate::apiserver::store::KnownOwners;
use crate::base::clock::rfc3339;

/// What the time of an entry weighs at most.
const TIME: usize = 32;

/// An object before it is updated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) object: &'a Value,
    /// How the new object differs from it.
    pub(super) delta: &'a Delta,
    pub(super) known: Option<KnownOwners>,
}

/// Whose the fields of an object are.
#[derive(Debug, Default)]
pub(super) struct Owned {
    /// As `metadata.managedFields` has it; `None` if that is not kept, or empty.
    pub(super) entries: Option<Value>,
    /// What is known of them from before.
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
                tracker.update(old, object, managers)
            }
        };
        Owned { entries: (!managers.is_empty()).then(|| managers.into_value()), known: None }
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
    let stored = old["metadata"].get("managedFields")?;
    let taken = tracker.subresource.is_empty() && given.is_some_and(|given| given != stored);
    if taken {
        return None;
    }
    let known = before.known.filter(|known| known.epoch == epoch);
    let entries = tracker.renewed(old, object, before.delta, stored.as_array()?, known.is_some())?;
    // The next write may set the time of an entry that has none yet.
    let weight = || entries.iter().map(|entry| etcd::weight(entry) + TIME).sum::<usize>() + TIME;
    let known = known.unwrap_or_else(|| KnownOwners { epoch, weight: weight() });
    let entries = Value::Array(entries);
    // All tests are tests of this too.
    debug_assert_eq!(entries, tracker.update(Some(old), object, Managers::stored(old)).into_value());
    debug_assert!(etcd::weight(&entries) <= known.weight);
    Some(Owned { entries: Some(entries), known: Some(known) })
}

/// Writes the owners of fields into an object that is about to be stored. Where nothing else changes, the times of their
/// entries do not either.
pub(super) fn set(object: &mut Value, owners: Option<Value>, old: Option<&Value>) {
    metadata::of(object).remove("managedFields");
    let before = old.and_then(|old| old["metadata"].get("managedFields"));
    let owners = match (owners, before, old) {
        (Some(owners), Some(before), Some(old))
            if is_same_but_owners(object, old) && is_same_but_times(&owners, before) =>
        {
            Some(before.clone())
        }
        (owners, ..) => owners,
    };
    if let Some(owners) = owners {
        metadata::of(object).insert("managedFields".to_owned(), owners);
    }
}

/// Whether two lists of entries differ in nothing but their times, and so maybe in their order.
fn is_same_but_times(one: &Value, other: &Value) -> bool {
    const REST: [&str; 5] = ["manager", "operation", "apiVersion", "subresource", "fieldsV1"];
    let (Some(one), Some(other)) = (one.as_array(), other.as_array()) else { return false };
    let same = |one: &Value, other: &Value| REST.iter().all(|field| one.get(field) == other.get(field));
    one.len() == other.len() && one.iter().all(|entry| other.iter().any(|found| same(entry, found)))
}

/// Whether nothing but the owners differs.
fn is_same_but_owners(object: &Value, old: &Value) -> bool {
    let (Some(object), Some(old)) = (object.as_object(), old.as_object()) else { return false };
    let same_metadata = || {
        let (Some(Value::Object(one)), Some(Value::Object(other))) =
            (object.get("metadata"), old.get("metadata"))
        else {
            return false;
        };
        let owned = usize::from(other.contains_key("managedFields"));
        one.len() == other.len() - owned && one.iter().all(|(name, value)| other.get(name) == Some(value))
    };
    object.len() == old.len()
        // What writes change most stands at the end of the alphabet.
        && object.iter().rev().all(|(name, value)| name == "metadata" || old.get(name) == Some(value))
        && same_metadata()
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
