//! Updates `metadata.managedFields` with every write.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Key, Resource};

use crate::apply::{Managers, Tracker, Versions};
use crate::call::{Call, Owners, RequestInfo};
use crate::delta::Delta;
use crate::field_set::FieldSet;
use crate::kinds::typed::with_empties;
use crate::kinds::view::View;
use crate::kinds::{Kind, StatusMetadata};
use crate::request::options::{MANAGER_MAX, is_printable};
use crate::server::ApiServer;
use crate::store::{Entry, FieldOwners, KnownOwners, Stored};
use crate::verbs::etcd;

/// The most bytes that the time of an entry takes.
const TIME_BYTES: usize = 32;
/// The field manager of the server's own controllers.
const OWN_MANAGER: &str = "kube-apiserver";

/// An object before it is updated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) object: &'a Stored,
    /// How the new object differs from it.
    pub(super) delta: &'a Delta,
    pub(super) known: Option<KnownOwners>,
}

impl ApiServer {
    /// The owners of the fields of an object that is written. `object` is the decoded object: nobody owns what admission and
    /// the strategy of the kind change later.
    pub(super) fn owners(
        &self,
        call: &mut Call<'_>,
        object: &Value,
        before: Option<Before<'_>>,
    ) -> FieldOwners {
        let owners = std::mem::replace(&mut call.body.owners, Owners::Given(None));
        if !self.managed_fields {
            return FieldOwners::default();
        }
        let kind = Arc::clone(&call.info.kind);
        let tracked = kind.tracked_form(object);
        let tracker = self.tracker(&call.info);
        // A manager that gives an empty list or map owns it if Go always writes the field, and inside of a list that is compared
        // as a whole each of them is a change.
        let shown = with_empties(&tracked, &call.body.empties, |empty| {
            tracked.pointer(&empty.pointer).is_some() || tracker.compares_exactly(&tracked, &empty.pointer)
        });
        // The delta is that of the decoded object.
        let is_decoded = matches!((&tracked, &shown), (Cow::Borrowed(_), Cow::Borrowed(_)));
        let has_delta = kind.is_storage() && is_decoded;
        let object = &*shown;
        let managers = match owners {
            Owners::Decided(managers) => managers,
            Owners::Given(given) => {
                let renew =
                    |before| renewed(&tracker, object, before, given.as_ref(), call.info.kind.epoch());
                if let Some(owned) = before.filter(|_| has_delta).and_then(renew) {
                    return owned;
                }
                let old = before.map(|before| before.object);
                let managers = match old {
                    None => Managers::given(given),
                    // Clients cannot change the entries themselves through a subresource.
                    Some(old) if !call.info.path.subresource.is_empty() => Managers::stored(old),
                    Some(old) => Managers::given_or_stored(given, old, call.info.kind.custom.is_none()),
                };
                let old = old.map(|old| kind.tracked_form(old));
                tracker.update(old.as_deref(), object, managers)
            }
        };
        FieldOwners { entries: (!managers.is_empty()).then(|| Arc::new(managers.into_value())), known: None }
    }

    /// The owners of the fields of an object that the server creates by itself, as this manager.
    pub(crate) fn owners_of_own(&self, kind: &Kind, object: &Value, manager: &str, now: Time) -> FieldOwners {
        if !self.managed_fields {
            return FieldOwners::default();
        }
        let served = self.catalog.versions(&kind.resource.group, &kind.resource.plural);
        let tracker = Tracker {
            versions: Versions::new(served, kind, self.catalog.minor()),
            name: Cow::Borrowed(manager),
            subresource: "",
            reset: reset_fields(kind, ""),
            now: rfc3339(now),
        };
        let managers = tracker.update(None, &kind.tracked_form(object), Managers::default());
        FieldOwners { entries: (!managers.is_empty()).then(|| Arc::new(managers.into_value())), known: None }
    }

    /// Decides the owners after a write of a part of the object, by the whole object that the client gives. An apply has
    /// decided them already.
    pub(crate) fn decide_owners(&self, call: &mut Call<'_>, given: &Value, old: &Stored) {
        if matches!(call.body.owners, Owners::Given(_)) {
            let before = Before { object: old, delta: &Delta::Other, known: None };
            let owners = self.owners(call, given, Some(before));
            let entries = owners.entries.map(|entries| (*entries).clone());
            call.body.owners = Owners::Decided(Managers::given(entries));
        }
    }

    /// Stores a definition with the status that a controller of the server itself gives it. The controller owns the fields
    /// that it sets.
    pub(crate) fn write_definition_status(&mut self, key: &Key, definition: Value, now: Time) {
        let Resource { group, version, plural, .. } = CUSTOM_RESOURCE_DEFINITIONS;
        let kind = self.catalog.find(&group, &version, &plural).map(Arc::clone);
        let entry = self.store.get(self.tables.definitions, &key.namespace, &key.name);
        let (Some(kind), Some(old)) = (kind, entry.map(Entry::served)) else { return };
        let mut owners = FieldOwners { entries: old.owners().cloned(), known: None };
        if self.managed_fields {
            let served = self.catalog.versions(&group, &plural);
            let tracker = Tracker {
                versions: Versions::new(served, &kind, self.catalog.minor()),
                name: Cow::Borrowed(OWN_MANAGER),
                subresource: "status",
                reset: reset_fields(&kind, "status"),
                now: rfc3339(now),
            };
            let managers = tracker.update(Some(&old), &definition, Managers::stored(&old));
            owners.entries = (!managers.is_empty()).then(|| Arc::new(managers.into_value()));
        }
        self.store.put(self.tables.definitions, key, 0, definition, owners);
    }

    /// The answer to a request that is not stored, such as one for a token, with the owners of the fields of the request.
    pub(crate) fn with_owners_of(
        &self,
        info: &RequestInfo<'_>,
        resource: Resource,
        request: &Value,
        answer: Value,
    ) -> Stored {
        if !self.managed_fields {
            return Stored::new(answer, None);
        }
        let kind = Kind { resource, custom: None, view: View::Storage, ..(*info.kind).clone() };
        let kind = Arc::new(kind);
        let versions = [Arc::clone(&kind)];
        let tracker =
            Tracker { versions: Versions::new(&versions, &kind, self.catalog.minor()), ..self.tracker(info) };
        let managers = tracker.update(None, request, Managers::default());
        Stored::new(answer, (!managers.is_empty()).then(|| Arc::new(managers.into_value())))
    }

    /// The tracker of field owners for a write.
    pub(crate) fn tracker<'a>(&'a self, info: &'a RequestInfo<'_>) -> Tracker<'a> {
        let (kind, subresource) = (&*info.kind, &*info.path.subresource);
        let served = self.catalog.versions(&kind.resource.group, &kind.resource.plural);
        Tracker {
            versions: Versions::new(served, kind, self.catalog.minor()),
            name: match info.request.query.get("fieldManager") {
                "" => manager_from_user_agent(&info.request.user_agent),
                given => Cow::Borrowed(given),
            },
            subresource,
            reset: reset_fields(kind, subresource),
            now: rfc3339(info.now),
        }
    }
}

/// The entries after an update that only changes fields that its manager owns already; `None` if it changes other fields.
fn renewed(
    tracker: &Tracker<'_>,
    object: &Value,
    before: Before<'_>,
    given: Option<&Value>,
    epoch: u64,
) -> Option<FieldOwners> {
    let old = before.object;
    let stored = old.owners()?;
    // Clients cannot change the entries themselves through a subresource.
    let client_changes_entries =
        tracker.subresource.is_empty() && given.is_some_and(|given| *given != **stored);
    if client_changes_entries {
        return None;
    }
    let known = before.known.filter(|known| known.epoch == epoch);
    let renewed = tracker.shortcut_update(old, object, before.delta, stored.as_array()?, known.is_some())?;
    let entries = match renewed {
        Cow::Borrowed(_) => Arc::clone(stored),
        Cow::Owned(entries) => Arc::new(Value::Array(entries)),
    };
    // Reserve space: the next write may set the time of an entry that has none yet.
    let weight = || {
        entries.as_array().into_iter().flatten().map(|entry| etcd::weight(entry) + TIME_BYTES).sum::<usize>()
            + TIME_BYTES
    };
    let known = known.unwrap_or_else(|| KnownOwners { epoch, weight: weight() });
    // Tests of the dev profile and of `.ci/run` compare the shortcut with the full computation.
    debug_assert_eq!(*entries, tracker.update(Some(old), object, Managers::stored(old)).into_value());
    debug_assert!(etcd::weight(&entries) <= known.weight);
    Some(FieldOwners { entries: Some(entries), known: Some(known) })
}

/// The field owners of an object that is about to be stored. If the write changes nothing else, the entries keep their
/// times.
pub(super) fn keep_times_if_unchanged(object: &Value, owners: FieldOwners, old: &Stored) -> FieldOwners {
    match (&owners.entries, old.owners()) {
        (Some(entries), Some(before))
            if !Arc::ptr_eq(entries, before) && object == &**old && is_same_but_times(entries, before) =>
        {
            FieldOwners { entries: Some(Arc::clone(before)), ..owners }
        }
        _ => owners,
    }
}

/// Whether two lists of entries differ only in their times, and therefore maybe in their order.
fn is_same_but_times(left: &Value, right: &Value) -> bool {
    const REST: [&str; 5] = ["manager", "operation", "apiVersion", "subresource", "fieldsV1"];
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else { return false };
    let is_same = |left: &Value, right: &Value| REST.iter().all(|field| left.get(field) == right.get(field));
    left.len() == right.len() && left.iter().all(|entry| right.iter().any(|other| is_same(entry, other)))
}

/// The default field manager of a client: its user agent up to the first slash (`prefixFromUserAgent`).
fn manager_from_user_agent(agent: &str) -> Cow<'_, str> {
    let name = agent.split('/').next().unwrap_or_default();
    if name.len() <= MANAGER_MAX && name.chars().all(is_printable) {
        return Cow::Borrowed(name);
    }
    let mut manager = String::new();
    for letter in name.chars().filter(|letter| is_printable(*letter)) {
        if manager.len() + letter.len_utf8() > MANAGER_MAX {
            break;
        }
        manager.push(letter);
    }
    Cow::Owned(manager)
}

/// The fields that an endpoint resets on every write (`GetResetFields`).
fn reset_fields<'a>(kind: &'a Kind, subresource: &str) -> Cow<'a, FieldSet> {
    static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_names(&[&["status"]]));
    let is_request = kind.is_resource("certificates.k8s.io", "certificatesigningrequests");
    let reset: &[&[&str]] = match (subresource, &kind.custom) {
        ("", None) if is_request => &[&["spec"], &["status"]],
        ("status", None) if is_request => &[&["spec"], &["status", "conditions"]],
        ("approval", None) if is_request => &[&["spec"], &["status", "certificate"]],
        ("status", None) if kind.is_resource("", "pods") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("", _) if kind.rules.status => return Cow::Borrowed(&STATUS),
        ("status", Some(custom)) => return Cow::Borrowed(&custom.version.status_reset),
        ("status", None) => match kind.rules.status_metadata {
            StatusMetadata::Ignored => &[&["spec"], &["metadata"]],
            StatusMetadata::TakenButLabels => &[&["spec"], &["metadata", "labels"]],
            StatusMetadata::Taken => &[&["spec"]],
        },
        ("finalize", _) => &[&["status"]],
        _ => &[],
    };
    Cow::Owned(FieldSet::of_names(reset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_manager_defaults_to_user_agent_up_to_the_slash() {
        for (agent, name) in [
            ("kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl"),
            ("", ""),
            ("a\u{7}b", "ab"),
            (&"x".repeat(200), &"x".repeat(MANAGER_MAX)),
        ] {
            assert_eq!(manager_from_user_agent(agent), name);
        }
    }
}
