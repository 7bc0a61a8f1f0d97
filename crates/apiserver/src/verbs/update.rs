//! The verb `update`, and the path that updates and patches share.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::owners;
use super::validation::{self, StatusWrite, Validation};
use crate::admission::{Attributes, Operation};
use crate::call::Call;
use crate::call::decode;
use crate::call::prepared::Write;
use crate::delta::Delta;
use crate::field::{Cause, FieldError, Shown};
use crate::kinds::typed::with_empties;
use crate::kinds::{Generation, Kind, StatusMetadata, strategy};
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::{Method, options};
use crate::schema::default;
use crate::server::ApiServer;
use crate::server::change::Change;
use crate::server::definitions::lifecycle;
use crate::store::{Entry, FieldOwners, Stored};
use crate::verbs::etcd;
use crate::verbs::prepared;

/// Metadata that no update can change.
const IMMUTABLE: [&str; 2] = ["creationTimestamp", "generation"];
/// Metadata that an update takes from the stored object if the client omits it.
const KEPT_IF_ABSENT: [&str; 2] = ["uid", "deletionGracePeriodSeconds"];
/// Metadata that no update can change once it is set.
const DELETED: &str = "deletionTimestamp";

impl ApiServer {
    pub(crate) fn update(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        self.set_baseline(call);
        let body = decode::body(call)?;
        let object = decode::object(call, body, &self.profile)?;
        self.update_object(call, object)
    }

    /// Replaces the object of the call with a decoded object.
    #[expect(clippy::too_many_lines, reason = "the order of the stages is the point")]
    pub(crate) fn update_object(&mut self, call: &mut Call<'_>, mut object: Value) -> Outcome<Reply> {
        let kind = Arc::clone(&call.kind);
        if object["metadata"].get("namespace").is_some() != kind.resource.namespaced {
            call.delta = None;
        }
        validation::match_namespace(call, &mut object)?;
        check_name(call, &object)?;
        let entry = match self.entry(call) {
            Ok(entry) => entry.clone(),
            Err(_) if kind.rules.create_on_update && matches!(&*call.path.subresource, "" | "status") => {
                self.check_create_on_update(call)?;
                check_uid(call, &object, "")?;
                options::version(metadata::text(&object, "resourceVersion"))
                    .map_err(BoxedRejection::internal)?;
                return self.create_object(call, object);
            }
            Err(rejection) => return Err(rejection),
        };
        let old = call.baseline.take().unwrap_or_else(|| kind.written_form(&entry));
        call.before = Some(old.clone());
        let (name, namespace) = (call.path.name.clone(), call.path.namespace.clone());
        let shown = self.admission.stored_form(&old);
        let options = options::for_admission(call.request, "UpdateOptions");
        let attributes = Attributes {
            operation: Operation::Update,
            object_type: None,
            options: &options,
            name: &name,
            namespace: &namespace,
            old: Some(&shown),
        };
        let mut delta = call.delta.take().unwrap_or_else(|| self.delta(call, &old, &object));
        let before = owners::Before { object: &old, delta: &delta, known: entry.known_owners() };
        let mut owners = self.owners(call, &object, Some(before));
        // Admission sees the Scale itself, before.
        let is_admitted = call.path.subresource == "scale";
        if !is_admitted {
            self.admit_owned(call, attributes, &mut object, &mut owners)?;
        }
        if self.admission.may_mutate() {
            delta = self.delta(call, &old, &object);
        }
        let status = delta.field(&object, "status");
        self.check_versions(call, &mut object, &old)?;
        self.apply_strategy(call, &mut object, &old);
        self.check_escalation(call, &object, Some(&old))?;
        if kind.table == self.tables.definitions {
            lifecycle::prepare_write(&mut object, &old, &call.path.subresource, &self.profile);
        }
        let owners = if call.is_encoded_anew {
            owners
        } else {
            owners::keep_times_if_unchanged(&object, owners, &old)
        };
        if !strategy::counts_dropped(&kind) {
            count_generation(&kind, &mut object, &old, call);
        }
        strategy::complete_update(&kind, &mut object, &old);
        // With several versions, the stored object may have been checked by the schema of another one.
        let has_one_version = kind.custom.as_ref().is_some_and(|custom| custom.family.has_one_version);
        let was_checked =
            has_one_version && entry.was_written_under(kind.epoch()) && self.tolerated_nothing(&entry);
        if call.path.subresource.is_empty() {
            let (store, profile) = (&self.store, &self.profile);
            self.allocations.allocate(&kind, &mut object, Some(&old), store, profile, call.dry_run)?;
        }
        let subresource = &*call.path.subresource;
        let part =
            call.writes_part().then_some(StatusWrite { subresource, object: &delta, status, was_checked });
        let mut earlier = self.check_admin_access(call, &object, Some(&old));
        earlier.extend(self.check_claim_permissions(call, &object, &old));
        let rules =
            Validation { profile: &self.profile, draws: &mut self.draws, empties: &call.empties, earlier };
        validation::validate_update(&kind, &object, &old, part, rules, &mut call.warnings)?;
        // A scale is written like the object itself.
        if matches!(&*call.path.subresource, "" | "scale") {
            call.warnings.extend(validation::warnings(&kind, &object, Some(&old), &self.profile));
        } else if call.path.subresource == "status" {
            call.warnings.extend(validation::status_warnings(&kind, &object));
        }
        if !is_admitted {
            self.check_admission(call, attributes, Some((&object, owners.entries.as_deref())))?;
        }
        self.store_update(call, object, owners, entry, old)
    }

    /// Sets, keeps and drops fields as the strategy of the kind says.
    fn apply_strategy(&self, call: &Call<'_>, object: &mut Value, old: &Value) {
        let minor = self.profile.minor;
        prepare(call, object, old, minor);
        let context =
            strategy::Context { minor, now: call.now, user: call.request.user, shares_labels: false };
        strategy::prepare_part(&call.kind, object, old, &call.path.subresource, context);
        if strategy::counts_dropped(&call.kind) {
            count_generation(&call.kind, object, old, call);
        }
        strategy::drop_disabled(&call.kind, object, old, minor);
    }

    /// Sets the stored object as the baseline for decoding the body of an update: the decoder skips unchanged fields, which
    /// were decoded before. Custom resources get a baseline only if the update needs their delta.
    pub(super) fn set_baseline(&self, call: &mut Call<'_>) {
        let has_baseline = match &call.kind.custom {
            None => call.kind.is_storage(),
            // Defaults change the object after decoding, which would invalidate the delta.
            Some(custom) => !custom.version.schema.has_defaults && self.needs_delta(call),
        };
        let entry =
            self.entry(call).ok().filter(|entry| has_baseline && entry.was_written_under(call.kind.epoch()));
        call.baseline = entry.map(|entry| call.kind.written_form(entry));
    }

    /// The difference between the old and the new object, if the update needs it.
    fn delta(&self, call: &Call<'_>, old: &Value, object: &Value) -> Delta {
        if self.needs_delta(call) { Delta::between(old, object) } else { Delta::Other }
    }

    /// Whether an update needs the delta: to track field owners, or to validate the status of a custom resource.
    fn needs_delta(&self, call: &Call<'_>) -> bool {
        self.managed_fields || call.kind.custom.is_some() && call.writes_part()
    }

    /// Compares the uid and the resource version of the body with those of the stored object.
    fn check_versions(&self, call: &Call<'_>, object: &mut Value, old: &Value) -> Outcome<()> {
        let (resource, name) = (&call.kind.resource, &*call.path.name);
        check_uid(call, object, metadata::text(old, "uid"))?;
        let version =
            options::version(metadata::text(object, "resourceVersion")).map_err(BoxedRejection::internal)?;
        let current = metadata::text(old, "resourceVersion");
        match version.filter(|version| *version != 0) {
            None if !call.kind.rules.unconditional_update => {
                let error = FieldError {
                    cause: Cause::Invalid,
                    field: "metadata.resourceVersion".to_owned(),
                    value: Shown::Unsigned(0),
                    detail: "must be specified for an update".to_owned(),
                };
                Err(BoxedRejection::invalid(&resource.group, &resource.plural, name, &[error], &self.profile))
            }
            None => {
                metadata::metadata_mut(object).insert("resourceVersion".to_owned(), json!(current));
                Ok(())
            }
            Some(version) if version.to_string() == current => Ok(()),
            Some(_) => Err(BoxedRejection::modified(resource, name)),
        }
    }

    /// Stores an updated object, or removes one that only waited for its finalizers.
    pub(super) fn store_update(
        &mut self,
        call: &mut Call<'_>,
        object: Value,
        owners: FieldOwners,
        entry: Entry,
        old: Stored,
    ) -> Outcome<Reply> {
        if call.attempt.is_ahead() {
            return Err(self.stop_prepared(call, Write::Update { object, owners, entry, old }));
        }
        let (kind, key) = (&Arc::clone(&call.kind), call.key());
        if self.is_last_update(kind, &object) {
            if !call.dry_run {
                self.remove_object(kind, &key, call.now);
            }
            // No storage turns its empty lists into absent ones.
            let shown =
                with_empties(&object, &call.empties, |empty| object.pointer(&empty.pointer).is_some());
            let last = Stored::new(shown.into_owned(), owners.entries);
            let shown = kind.served_form(&last);
            return Ok(Reply { removed: Some(last), ..Reply::object(200, shown) });
        }
        let mut object = self.convert_for_storage(call, object, owners.entries.as_deref())?;
        if !call.dry_run {
            metadata::metadata_mut(&mut object).remove("selfLink");
        }
        if !call.is_encoded_anew && is_same(&object, &owners, &entry.stored()) {
            call.after = Some(old.clone());
            return Ok(Reply::object(200, kind.served_form(&old)));
        }
        if call.dry_run {
            return Ok(Reply::object(200, kind.serve_stored(&Stored::new(object, owners.entries))));
        }
        prepared::check_size(call, &key, &object, &owners)?;
        let stored = self.store.put(kind.table, &key, kind.epoch(), object, owners);
        let reply = kind.serve_stored(&stored);
        call.after = Some(if kind.custom.is_none() { stored } else { reply.clone() });
        self.follow(&Change { kind, key: &key, old: Some(&old), now: call.now });
        Ok(Reply::object(200, reply))
    }

    /// Whether the update removes the last finalizer of a terminating object, so that the object is deleted.
    fn is_last_update(&self, kind: &Kind, object: &Value) -> bool {
        let has_namespace_finalizers = kind.table == self.tables.namespaces
            && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        let grace = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        metadata::is_terminating(object)
            && metadata::finalizers(object).is_empty()
            && grace == 0
            && !has_namespace_finalizers
    }
}

/// Compares the uid in the body of an update with the actual one. The uid in a patch is no precondition: validation finds
/// that it is immutable.
fn check_uid(call: &Call<'_>, object: &Value, actual: &str) -> Outcome<()> {
    let uid = metadata::text(object, "uid");
    if uid.is_empty() || uid == actual || call.request.method == Method::Patch {
        return Ok(());
    }
    let (resource, path) = (&call.kind.resource, etcd::path(&call.kind, &call.key()));
    // A dry run checks the precondition above the storage, which adds the prefix.
    let shown = path.strip_prefix("/registry").filter(|_| call.dry_run).unwrap_or(&path);
    let text = format!(
        "StorageError: invalid object, Code: 4, Key: {shown}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {uid}, UID in object meta: {actual}"
    );
    Err(BoxedRejection::conflict(resource, &resource.plural, &call.path.name, &text))
}

/// Rejects an object whose name differs from the name in the path.
pub(crate) fn check_name(call: &Call<'_>, object: &Value) -> Outcome<()> {
    let (name, url) = (metadata::text(object, "name"), &*call.path.name);
    if name.is_empty() {
        let why = "was undeterminable: name must be provided";
        return Err(BoxedRejection::bad_request(format!(
            "the name of the object ({url} based on URL) {why}"
        )));
    }
    if name != url {
        let why = "does not match the name on the URL";
        return Err(BoxedRejection::bad_request(format!("the name of the object ({name}) {why} ({url})")));
    }
    Ok(())
}

/// Restores the fields that the endpoint cannot write from the stored object.
fn prepare(call: &Call<'_>, object: &mut Value, old: &Value, minor: u32) {
    let kind = &*call.kind;
    keep_metadata(metadata::metadata_mut(object), &old["metadata"]);
    match &*call.path.subresource {
        "status" => only_status(kind, object, old),
        // The subresource built this object from the stored object.
        "approval" | "ephemeralcontainers" | "resize" => {}
        "finalize" => strategy::copy_field(object, old, "status"),
        _ if kind.custom.is_none() => strategy::prepare_update(kind, object, old, minor),
        _ if kind.rules.status => strategy::copy_field(object, old, "status"),
        _ => {}
    }
}

/// Restores the metadata that an update cannot change, or that the client omitted.
fn keep_metadata(metadata: &mut Map<String, Value>, old: &Value) {
    for (fields, always) in [(&IMMUTABLE[..], true), (&KEPT_IF_ABSENT[..], false)] {
        for field in fields {
            match old.get(*field) {
                Some(value) if always && metadata.get(*field) == Some(value) => {}
                Some(value) if always || !metadata.contains_key(*field) => {
                    metadata.insert((*field).to_owned(), value.clone());
                }
                None if always => {
                    metadata.remove(*field);
                }
                _ => {}
            }
        }
    }
    if let Some(value) = old.get(DELETED) {
        metadata.insert(DELETED.to_owned(), value.clone());
    }
}

/// Restores everything but the status, and the metadata if the kind accepts it in status writes.
fn only_status(kind: &Kind, object: &mut Value, old: &Value) {
    let written: &[&str] = match kind.rules.status_metadata {
        StatusMetadata::Ignored => &["status"],
        StatusMetadata::Taken | StatusMetadata::TakenButLabels => &["status", "metadata"],
    };
    // `ResetObjectMetaForStatus` names the metadata that it restores, and forgets this field.
    let forgotten: &[&str] = if kind.custom.is_none() { &["generateName"] } else { &[] };
    restore(object, old, written, forgotten);
    if kind.rules.status_metadata == StatusMetadata::TakenButLabels {
        let metadata = metadata::metadata_mut(object);
        match old["metadata"].get("labels") {
            Some(labels) => metadata.insert("labels".to_owned(), labels.clone()),
            None => metadata.remove("labels"),
        };
    }
    if let Some(custom) = &kind.custom {
        default::fill(object, &custom.version.schema);
    }
}

/// Copies all top-level fields from `old`, except for those in `written`. Equal fields are not copied, for speed.
fn restore(object: &mut Value, old: &Value, written: &[&str], kept_metadata: &[&str]) {
    let is_written = |name: &str| written.contains(&name);
    if !is_written("metadata")
        && let Some(before) = old["metadata"].as_object()
    {
        take_over(metadata::metadata_mut(object), before, |name| kept_metadata.contains(&name));
    }
    if let (Some(fields), Some(before)) = (object.as_object_mut(), old.as_object()) {
        take_over(fields, before, |name| name == "metadata" || is_written(name));
    }
}

/// Makes the entries of `map` equal to those of `other`, except for entries that `is_kept` selects.
fn take_over(map: &mut Map<String, Value>, other: &Map<String, Value>, is_kept: impl Fn(&str) -> bool) {
    let given = map.iter().filter(|(name, _)| !is_kept(name));
    if given.eq(other.iter().filter(|(name, _)| !is_kept(name))) {
        return;
    }
    map.retain(|name, _| is_kept(name) || other.contains_key(name));
    for (name, value) in other.iter().filter(|(name, _)| !is_kept(name)) {
        if map.get(name) != Some(value) {
            map.insert(name.clone(), value.clone());
        }
    }
}

/// Whether an object and its owners are equal to the stored ones. Compares the fields backwards, because most writes change
/// the last ones (`spec`, `status`).
fn is_same(object: &Value, owners: &FieldOwners, other: &Stored) -> bool {
    let (Some(left), Some(right)) = (object.as_object(), other.as_object()) else {
        return *object == **other;
    };
    let is_same_tree = left.len() == right.len() && left.iter().rev().eq(right.iter().rev());
    is_same_tree && owners.entries.as_ref() == other.owners()
}

/// Increments the generation if the specification changed, or a part of the metadata that counts too. Some kinds tell an
/// empty list or map in the body from an absent one. A status write does not count metadata.
fn count_generation(kind: &Kind, object: &mut Value, old: &Value, call: &Call<'_>) {
    let rule = kind.rules.generation;
    let first = (rule == Generation::SpecificationFromZero).then_some(0);
    let Some(generation) = old["metadata"]["generation"].as_i64().or(first) else { return };
    let part = match rule {
        Generation::None | Generation::Constant => return,
        Generation::Specification | Generation::SpecificationFromZero | Generation::ExactSpecification => {
            None
        }
        Generation::SpecificationAndAnnotations => Some("annotations"),
        Generation::SpecificationAndLabels => Some("labels"),
    };
    let relevant =
        |name: &str| name != "metadata" && name != "apiVersion" && !(kind.rules.status && name == "status");
    let (empties, part) = (&call.empties, part.filter(|_| call.path.subresource != "status"));
    let has_new_part = part.is_some_and(|part| object["metadata"].get(part) != old["metadata"].get(part));
    let gives_empty = empties.iter().any(|empty| empty.pointer.split('/').nth(1).is_some_and(relevant));
    let is_exactly_new = gives_empty && rule == Generation::ExactSpecification;
    if has_new_part || is_exactly_new || differ(object, old, relevant) {
        object["metadata"]["generation"] = json!(generation.saturating_add(1));
    }
}

/// Whether two objects differ in a top-level field that `matters` selects.
fn differ(left: &Value, right: &Value, matters: impl Fn(&str) -> bool) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return left != right };
    let count = |map: &Map<String, Value>| map.keys().filter(|name| matters(name)).count();
    count(left) != count(right)
        || left.iter().any(|(name, value)| matters(name) && right.get(name) != Some(value))
}
