//! The verbs `delete` and `deletecollection`: preconditions, grace periods, finalizers.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Key;
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};

use crate::admission::{Attributes, Operation};
use crate::call::Call;
use crate::kinds::{Dependents, Kind, typed};
use crate::metadata;
use crate::rejection::{self, BoxedRejection, Outcome};
use crate::reply::lazy_object::LazyObject;
use crate::reply::{List, Reply, ReplyBody};
use crate::request::options::Deletion;
use crate::selector::{Continue, Selector};
use crate::server::ApiServer;
use crate::server::change::Change;
use crate::server::definitions::lifecycle;
use crate::store::Stored;
use crate::verbs::read::check_namespace;

/// The finalizers that represent a propagation policy.
const PROPAGATION: [&str; 2] = ["foregroundDeletion", "orphan"];
/// The limit of the list of a collection that is deleted, if the request has none (`deleteCollectionPageSize`). It makes
/// the list one of pages, so that it has exactly the requested version.
const PAGE_SIZE: usize = 10_000;

impl ApiServer {
    pub(crate) fn delete(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let kind = Arc::clone(&call.kind);
        if !call.path.subresource.is_empty() {
            call.check_subresource()?;
            return Err(if kind.custom.is_some() {
                BoxedRejection::not_supported(&kind.resource, "delete")
            } else {
                BoxedRejection::method_not_allowed()
            });
        }
        let options = self.deletion(call)?;
        call.dry_run = options.dry_run;
        warn_of_orphans(call, &options);
        let entry = self.entry(call)?;
        let object = kind.written_form(entry);
        call.before = Some(object.clone());
        check_preconditions(&kind, &call.key(), &object, &options)?;
        let name = call.path.name.clone();
        if Grace::of(&kind, &object, &options, call.now) != Grace::Pending {
            self.admit_deletion(call, &call.key(), &name, &object, &options)?;
        }
        let mut reply = self.delete_object(&kind, &call.key(), &object, &options, call.now)?;
        if reply.removed.is_none() && options.orphan == Some(false) {
            // Other requests for a deletion that has to wait get 200, for the sake of old clients.
            reply.code = 202;
        }
        if reply.removed.is_none()
            && let ReplyBody::Object(after) = &reply.body
        {
            call.after = Some(after.clone());
        }
        Ok(reply)
    }

    pub(crate) fn delete_collection(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let kind = Arc::clone(&call.kind);
        if kind.resource.namespaced && !call.has_matching_scope() {
            return Err(BoxedRejection::method_not_allowed());
        }
        let selector = Selector::of_options(&kind, &call.request.query, false, &self.profile)?;
        let options = self.deletion(call)?;
        call.dry_run = options.dry_run;
        warn_of_orphans(call, &options);
        Continue::parse(call.request.query.get("continue"), self.profile.minor)?;
        self.requested_version(call)?;
        check_namespace(call)?;
        let listed = self.listed(call, &selector, PAGE_SIZE)?;
        let (metadata, items) = (listed.metadata, listed.objects);
        let current = |(namespace, name): (&str, &str)| {
            let (namespace, name, entry) = self.store.named(kind.table, namespace, name).next()?;
            Some((kind.key(namespace, name), kind.written_form(entry)))
        };
        // A past version may have objects that are gone.
        let chosen: Vec<(Key, Stored)> = items.iter().filter_map(|(key, _)| current(*key)).collect();
        let items: Vec<LazyObject> = items.into_iter().map(|(_, object)| object).collect();
        // Run admission for all objects before the first one is deleted: a webhook call restarts the request.
        for (key, object) in &chosen {
            self.admit_deletion(call, key, "", object, &options)?;
        }
        for (key, object) in &chosen {
            self.delete_object(&kind, key, object, &options, call.now)?;
        }
        let list = List {
            api_version: kind.resource.api_version(),
            kind: kind.list_kind.clone(),
            metadata,
            items,
            typed_items: kind.custom.is_some(),
            metadata_only: None,
        };
        Ok(Reply::new(200, ReplyBody::List(list)))
    }

    /// The options of a deletion.
    fn deletion(&self, call: &Call<'_>) -> Outcome<Deletion> {
        let decode = |body: &mut Value| typed::decode_as("meta", "v1", "DeleteOptions", body).map(drop);
        Deletion::read(call.request, decode, &self.profile)
    }

    /// Runs admission for a deletion. `name` is the name that admission sees: none for an object of a collection.
    fn admit_deletion(
        &mut self,
        call: &mut Call<'_>,
        key: &Key,
        name: &str,
        object: &Stored,
        options: &Deletion,
    ) -> Outcome<()> {
        if call.kind.conversion().is_some() {
            // The deletion only changes metadata, on which the conversion does not depend.
            self.convert_for_storage(call, (**object).clone(), object.owners().map(|owners| &**owners))?;
        }
        let namespace = &*key.namespace;
        let shown = self.admission.stored_form(object);
        let mut options = options.for_admission();
        if call.kind.table == self.tables.namespaces && options["preconditions"]["uid"].is_null() {
            // Namespaces are deleted by their uid.
            options["preconditions"]["uid"] = object["metadata"]["uid"].clone();
        }
        let attributes = Attributes {
            operation: Operation::Delete,
            object_type: None,
            options: &options,
            name,
            namespace,
            old: Some(&shown),
        };
        self.admit(call, attributes, None)?;
        self.check_admission(call, attributes, None)
    }

    pub(crate) fn delete_object(
        &mut self,
        kind: &Arc<Kind>,
        key: &Key,
        object: &Stored,
        options: &Deletion,
        now: Time,
    ) -> Outcome<Reply> {
        check_preconditions(kind, key, object, options)?;
        let grace = Grace::of(kind, object, options, now);
        if grace == Grace::Pending {
            return Ok(Reply::object(200, kind.served_form(object)));
        }
        let (finalizers, changed) = finalizers_after(kind, object, options);
        let has_namespace_finalizers = kind.table == self.tables.namespaces
            && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        // The first deletion of a namespace only marks it.
        let marks_namespace = kind.table == self.tables.namespaces && !metadata::is_terminating(object);
        if finalizers.is_empty() && grace.is_over() && !has_namespace_finalizers && !marks_namespace {
            let last = grace.last_state(object);
            let is_updated = changed || !metadata::finalizers(object).is_empty();
            if options.dry_run && is_updated && grace == Grace::None {
                // A real server returns the object into which it would have read the updated one.
                let nothing = Stored::new(typed::unread_object(kind), None);
                return Ok(Reply { removed: Some(object.clone()), ..Reply::object(200, nothing) });
            }
            if !options.dry_run && last != *object {
                self.store.rewrite(kind.table, key, kind.epoch(), kind.to_storage((*last).clone()));
            }
            let removed =
                if options.dry_run { Some(object.clone()) } else { self.remove_object(kind, key, now) };
            if answers_with_object(kind) {
                return Ok(Reply { removed, ..Reply::object(200, kind.served_form(&last)) });
            }
            let body = rejection::deleted(&kind.resource, &key.name, metadata::text(object, "uid"));
            return Ok(Reply { removed, ..Reply::value(200, body) });
        }
        let marked = metadata::is_terminating(object);
        let mut next = (**object).clone();
        grace.mark(&mut next, now);
        set_finalizers(&mut next, &finalizers);
        if kind.table == self.tables.namespaces {
            next["status"]["phase"] = json!("Terminating");
            metadata::metadata_mut(&mut next).remove("deletionGracePeriodSeconds");
        }
        if kind.table == self.tables.definitions && !marked {
            lifecycle::prepare_deletion(&mut next, now);
        }
        if next == **object {
            return Ok(Reply::object(200, kind.served_form(object)));
        }
        if options.dry_run {
            return Ok(Reply::object(200, kind.served_form(&object.with(next))));
        }
        let stored = self.store.rewrite(kind.table, key, kind.epoch(), kind.to_storage(next));
        self.follow(&Change { kind, key, old: Some(object), now });
        Ok(Reply::object(200, kind.serve_stored(&stored)))
    }

    /// Deletes an object on behalf of the server itself: without admission.
    pub(crate) fn delete_internally(&mut self, kind: &Arc<Kind>, namespace: &str, name: &str, now: Time) {
        let Some(entry) = self.store.get(kind.table, namespace, name) else { return };
        let object = entry.served();
        let key = kind.key(namespace, name);
        // Without preconditions the deletion cannot fail.
        let _ = self.delete_object(kind, &key, &object, &Deletion::default(), now);
    }

    /// Removes an object from the store. The last object of a terminating definition takes the definition with it.
    pub(crate) fn remove_object(&mut self, kind: &Kind, key: &Key, now: Time) -> Option<Stored> {
        let removed = self.store.remove(kind.table, key, kind.epoch());
        self.follow(&Change { kind, key, old: removed.as_deref(), now });
        removed
    }
}

/// The core kinds for which a deletion returns the last state of the object (`ReturnDeletedObject`). The kinds of
/// `resource.k8s.io` and most of `storage.k8s.io` do the same.
const ANSWERED_WITH_OBJECT: [&str; 8] = [
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
];

fn answers_with_object(kind: &Kind) -> bool {
    let plural = &*kind.resource.plural;
    match &*kind.resource.group {
        "" => ANSWERED_WITH_OBJECT.contains(&plural),
        _ if kind.custom.is_some() => false,
        group => group == "resource.k8s.io" || group == "storage.k8s.io" && plural != "csistoragecapacities",
    }
}

/// Warns a client that deletes a Job without a propagation policy.
fn warn_of_orphans(call: &mut Call<'_>, options: &Deletion) {
    if call.kind.is_resource("batch", "jobs") && options.propagation.is_none() {
        call.warnings.push(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
             remove them or set propagationPolicy=Orphan to suppress this warning"
                .to_owned(),
        );
    }
}

fn check_preconditions(kind: &Kind, key: &Key, object: &Value, options: &Deletion) -> Outcome<()> {
    let is_namespace = kind.is_resource("", "namespaces");
    let shown = if is_namespace { &*kind.resource.plural } else { &*kind.resource.kind };
    let conflict = |text: &str| Err(BoxedRejection::conflict(&kind.resource, shown, &key.name, text));
    // Namespaces have a check of their own.
    let failed = |field: &str, requested: &str, actual: &str| {
        format!("Precondition failed: {field} in precondition: {requested}, {field} in object meta: {actual}")
    };
    let uid = metadata::text(object, "uid");
    if let Some(requested) = options.uid.as_deref().filter(|requested| *requested != uid) {
        if is_namespace {
            return conflict(&failed("UID", requested, uid));
        }
        return conflict(&format!(
            "the UID in the precondition ({requested}) does not match the UID in record ({uid}). The object might have \
             been deleted and then recreated"
        ));
    }
    let version = metadata::text(object, "resourceVersion");
    if let Some(requested) = options.resource_version.as_deref().filter(|requested| *requested != version) {
        if is_namespace {
            return conflict(&failed("ResourceVersion", requested, version));
        }
        return conflict(&format!(
            "the ResourceVersion in the precondition ({requested}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        ));
    }
    Ok(())
}

/// The finalizers after applying the propagation policy, and whether they changed.
fn finalizers_after(kind: &Kind, object: &Value, options: &Deletion) -> (Vec<String>, bool) {
    let before: Vec<String> = metadata::finalizers(object).into_iter().map(str::to_owned).collect();
    let mut after = before.clone();
    let is_set = before.iter().any(|name| PROPAGATION.contains(&name.as_str()));
    let policy = match (kind.rules.dependents, options.propagation) {
        (Dependents::Unsupported, _) => Some(""),
        (Dependents::Orphaned, None) if !is_set => Some("orphan"),
        (_, given) => given,
    };
    if let Some(policy) = policy {
        after.retain(|name| !PROPAGATION.contains(&name.as_str()));
        if !policy.is_empty() {
            after.push(policy.to_owned());
        }
    }
    let definition = kind.is_resource("apiextensions.k8s.io", "customresourcedefinitions");
    if definition
        && !metadata::is_terminating(object)
        && !after.iter().any(|name| name == lifecycle::FINALIZER)
    {
        after.push(lifecycle::FINALIZER.to_owned());
    }
    // Repeated finalizers are no change.
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    if set(&after) == set(&before) { (before, false) } else { (after, true) }
}

/// The end that a deletion gives an object (`rest.BeforeDelete`). Only pods end gracefully.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grace {
    /// The object has no grace period, or it is over.
    None,
    /// The object is updated to end at a time, after a grace period in seconds.
    Until(Time, i64),
    /// An earlier deletion stays as it is: only a shorter grace period changes it.
    Pending,
}

impl Grace {
    fn of(kind: &Kind, object: &Value, options: &Deletion, now: Time) -> Self {
        if !kind.is_resource("", "pods") {
            return Self::None;
        }
        let at_least_one = |seconds: i64| if seconds < 0 { 1 } else { seconds };
        let asked = options.grace.map(at_least_one);
        if metadata::is_terminating(object) {
            let pending = object["metadata"]["deletionGracePeriodSeconds"].as_i64().map(at_least_one);
            return Self::again(object, pending.unwrap_or(0), asked, now);
        }
        let scheduled = object["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
        let ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        let seconds = if scheduled && !ended { at_least_one(asked.unwrap_or(own)) } else { 0 };
        Self::Until(after(now, seconds), seconds)
    }

    /// The end of a pod that is already terminating.
    fn again(object: &Value, pending: i64, asked: Option<i64>, now: Time) -> Self {
        let ends = object["metadata"]["deletionTimestamp"].as_str().and_then(parse_rfc3339);
        match (asked, ends) {
            _ if pending == 0 => Self::None,
            (Some(asked), Some(ends)) if asked < pending => {
                // The shorter period starts when the first one started.
                let sooner = after(ends, asked.saturating_sub(pending));
                if sooner < now {
                    // A graceful end stays one, of the shortest period.
                    Self::Until(now, asked.min(1))
                } else {
                    Self::Until(sooner, asked)
                }
            }
            _ => Self::Pending,
        }
    }

    /// Whether the object can be removed at once.
    fn is_over(self) -> bool {
        matches!(self, Self::None | Self::Until(_, 0))
    }

    /// The last state of an object that is removed at once. A pod is first marked for deletion, which watches see.
    fn last_state(self, object: &Stored) -> Stored {
        let Self::Until(ends, _) = self else { return object.clone() };
        let mut last = (**object).clone();
        self.mark(&mut last, ends);
        set_finalizers(&mut last, &[]);
        object.with(last)
    }

    /// Marks an object for deletion.
    fn mark(self, object: &mut Value, now: Time) {
        let marked = metadata::is_terminating(object);
        let generation = object["metadata"]["generation"].as_i64().filter(|count| *count > 0 && !marked);
        let metadata = metadata::metadata_mut(object);
        let before = metadata.get("deletionTimestamp").and_then(Value::as_str).and_then(parse_rfc3339);
        let (ends, seconds) = match self {
            Self::Until(ends, seconds) => (ends, seconds),
            // An object that waits for its finalizers ended at its first deletion.
            Self::None | Self::Pending => (before.filter(|before| *before <= now).unwrap_or(now), 0),
        };
        metadata.insert("deletionTimestamp".to_owned(), json!(rfc3339(ends)));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
        if let Some(count) = generation {
            metadata.insert("generation".to_owned(), json!(count.saturating_add(1)));
        }
    }
}

/// A time some seconds later.
fn after(time: Time, seconds: i64) -> Time {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let metadata = metadata::metadata_mut(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), json!(finalizers));
    }
}
