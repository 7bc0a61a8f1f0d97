//! The effect of a write on the owners of fields: updates take over the fields that they change, applies may
//! conflict.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use super::conflict::{self, Conflict};
use super::managers::{BEFORE_FIRST_APPLY, Entry, Manager, Managers, Operation};
use super::shape::{Form, ListMerge};
use super::typed::{self, Comparison, ValidationError};
use super::versions::Versions;
use crate::field_set::FieldSet;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};

/// Fields without owners, because every request contains them or the server sets them.
pub(super) static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_names(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// A write that changes the owners of fields.
#[derive(Debug)]
pub(crate) struct Tracker<'a> {
    pub(crate) versions: Versions<'a>,
    /// The field manager of the write.
    pub(crate) name: Cow<'a, str>,
    /// The subresource of the write; empty for the main resource.
    pub(crate) subresource: &'a str,
    /// The fields that the endpoint resets. Nobody becomes their owner through it.
    pub(crate) reset: Cow<'a, FieldSet>,
    /// The time of the write, RFC 3339.
    pub(crate) now: String,
}

/// The result of an apply.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The object; `None` if it is unchanged.
    pub(crate) object: Option<Value>,
    pub(crate) managers: Managers,
}

impl Tracker<'_> {
    /// The entries after an update from `old` to `new`; `old` is `None` for a new object. An existing object
    /// without entries gets none until it is applied. A write succeeds without owners, rather than failing for their sake.
    pub(crate) fn update(&self, old: Option<&Value>, new: &Value, managers: Managers) -> Managers {
        if old.is_some() && managers.0.is_empty() {
            return managers;
        }
        self.try_update(old, new, managers).unwrap_or_default()
    }

    /// The entries after an update.
    ///
    /// # Errors
    /// The owners cannot be compared: in a version of an entry, or because of the values themselves.
    fn try_update(
        &self,
        old: Option<&Value>,
        new: &Value,
        mut managers: Managers,
    ) -> Result<Managers, String> {
        let shape = self.versions.shape();
        let nothing;
        let old = match old {
            Some(old) => old,
            None => {
                nothing = self.versions.zero();
                &nothing
            }
        };
        for (object, what) in [(new, "new"), (old, "live")] {
            let task = format!("convert {what} object");
            self.check_comparable(object)
                .map_err(|why| failed(&task, object, " to smd typed", &why).message.clone())?;
        }
        let comparison = typed::compare(old, new, shape).without(&self.reset);
        if comparison.is_undefined {
            return Err("failed to compare objects".to_owned());
        }
        self.reconcile(&mut managers, old)?;
        // Updates are forced, so there are no conflicts.
        let _ = self.remove_from_others(old, new, &comparison, &mut managers, None, true)?;
        let mut changed = comparison.changed();
        changed.subtract(&UNOWNED);
        if !changed.is_empty() {
            managers.add_update(self.manager(Operation::Update), changed, &self.now);
        }
        managers.merge_oldest_updates();
        Ok(managers)
    }

    /// Requires that an object does not contradict its schema: a custom resource may, since an earlier schema or the lack of
    /// validation lets it.
    ///
    /// # Errors
    /// The message about its errors.
    pub(super) fn check_comparable(&self, object: &Value) -> Result<(), String> {
        if !self.versions.is_custom() {
            return Ok(());
        }
        typed::validate(object, self.versions.shape(), true).map_err(|errors| ValidationError::text(&errors))
    }

    /// Applies `config` to `live`. For a new object, `live` contains only its type.
    ///
    /// # Errors
    /// `config` does not have the shape of the kind, or it changes fields of other managers and
    /// `force` is not set.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        is_new: bool,
        force: bool,
    ) -> Outcome<Applied> {
        let shape = self.versions.shape();
        let managers = if managers.0.is_empty() && !is_new {
            self.named(BEFORE_FIRST_APPLY).try_update(None, live, managers).map_err(|why| {
                BoxedRejection::internal(format!("failed to create manager for existing fields: {why}"))
            })?
        } else {
            managers
        };
        typed::validate(config, shape, false).map_err(|errors| untyped("patch", config, &errors))?;
        typed::validate(live, shape, true).map_err(|errors| untyped("live", live, &errors))?;
        match self.try_apply(live, config, managers.clone(), force)? {
            Ok(applied) => Ok(applied),
            Err(conflicts) => match self.remaining_conflicts(live, conflicts) {
                conflicts if conflicts.is_empty() => {
                    self.try_apply(live, config, managers, true)?.map_err(conflict::rejection)
                }
                conflicts => Err(conflict::rejection(conflicts)),
            },
        }
    }

    fn try_apply(
        &self,
        live: &Value,
        config: &Value,
        mut managers: Managers,
        force: bool,
    ) -> Outcome<Result<Applied, Vec<Conflict>>> {
        self.reconcile(&mut managers, live).map_err(BoxedRejection::internal)?;
        let shape = self.versions.shape();
        let merged = typed::merge(live, config, shape).map_err(|errors| {
            BoxedRejection::internal(format!("failed to merge config: {}", ValidationError::text(&errors)))
        })?;
        let mut fields = typed::fields(config, shape);
        fields.subtract_with_children(&self.reset);
        let me = self.manager(Operation::Apply);
        let last = managers.position(&me).map(|place| managers.0.remove(place));
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        managers.0.push(Entry { manager: me.clone(), time, fields });
        let object = self
            .prune(merged, &managers, last.as_ref())
            .map_err(|why| BoxedRejection::internal(format!("failed to prune fields: {why}")))?;
        let comparison = typed::compare(live, &object, shape).without(&self.reset);
        let others = self.remove_from_others(live, &object, &comparison, &mut managers, Some(&me), force);
        if let Err(conflicts) = others.map_err(BoxedRejection::internal)? {
            return Ok(Err(conflicts));
        }
        let changes = object != *live;
        if let Some(place) = managers.position(&me) {
            let entry = &mut managers.0[place];
            entry.fields.subtract(&UNOWNED);
            if changes {
                entry.time = Some(self.now.clone());
            }
            if entry.fields.is_empty() {
                managers.0.remove(place);
            }
        }
        Ok(Ok(Applied { object: changes.then_some(object), managers }))
    }

    /// Removes changed and removed fields from the entries of all managers except one. Returns the changed fields of other
    /// managers, unless the write is forced.
    ///
    /// # Errors
    /// An object cannot be converted to the version of an entry.
    fn remove_from_others(
        &self,
        old: &Value,
        new: &Value,
        comparison: &Comparison,
        managers: &mut Managers,
        except: Option<&Manager>,
        force: bool,
    ) -> Result<Result<(), Vec<Conflict>>, String> {
        let own = self.versions.own();
        let mut conflicts = Vec::new();
        let mut changes: Vec<(String, Option<(FieldSet, FieldSet)>)> =
            vec![(own, Some((comparison.changed(), comparison.removed.clone())))];
        let mut remaining = Vec::with_capacity(managers.0.len());
        for mut entry in std::mem::take(&mut managers.0) {
            if except == Some(&entry.manager) {
                remaining.push(entry);
                continue;
            }
            let version = &entry.manager.api_version;
            if !changes.iter().any(|(found, _)| found == version) {
                changes.push((version.clone(), self.changes_in(version, old, new)?));
            }
            let found = changes.iter().find(|(found, _)| found == version);
            // Fields owned in a version that a built-in kind no longer has lose their owner.
            let Some((_, Some((changed, removed)))) = found else { continue };
            if !force {
                let fields = entry.fields.intersection(changed);
                if !fields.is_empty() {
                    conflicts.push(Conflict { manager: entry.manager.clone(), fields });
                }
            }
            entry.fields.subtract(changed);
            entry.fields.subtract(removed);
            remaining.push(entry);
        }
        remaining.retain(|entry| !entry.fields.is_empty());
        managers.0 = remaining;
        Ok(if conflicts.is_empty() { Ok(()) } else { Err(conflicts) })
    }

    /// The changed and the removed fields in another version.
    fn changes_in(
        &self,
        version: &str,
        old: &Value,
        new: &Value,
    ) -> Result<Option<(FieldSet, FieldSet)>, String> {
        let failed = |what: &str, why: String| format!("failed to convert {what} object: {why}");
        let Some((old, shape)) = self.versions.convert(old, version).map_err(|why| failed("old", why))?
        else {
            return Ok(None);
        };
        let Some((new, _)) = self.versions.convert(new, version).map_err(|why| failed("new", why))? else {
            return Ok(None);
        };
        let reset = self.versions.reset_in(version, self.subresource, &self.reset);
        let comparison = typed::compare(&old, &new, shape).without(&reset);
        Ok(Some((comparison.changed(), comparison.removed)))
    }

    /// Whether the value at a JSON pointer is inside of a list that is compared as a whole. Go compares such lists exactly:
    /// absent and empty values differ.
    pub(crate) fn compares_exactly(&self, object: &Value, pointer: &str) -> bool {
        let (mut shape, mut value, mut whole) = (self.versions.shape(), object, false);
        for name in pointer.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            let next = match (shape.form(Some(value)), value) {
                (Form::List(merge, inner), Value::Array(items)) => {
                    if whole || matches!(merge, ListMerge::Atomic) {
                        return true;
                    }
                    shape = inner;
                    name.parse().ok().and_then(|index: usize| items.get(index))
                }
                (form, _) => {
                    whole |= matches!(form, Form::Map { atomic: true });
                    shape = typed::shape_under(shape, &name);
                    value.get(&name)
                }
            };
            let Some(next) = next else { return false };
            value = next;
        }
        false
    }

    /// Adapts the owned fields to the current schema. Entries in a version that a built-in kind no longer has are dropped.
    ///
    /// # Errors
    /// The object cannot be converted to the version of an entry.
    fn reconcile(&self, managers: &mut Managers, live: &Value) -> Result<(), String> {
        let mut reconciled = Vec::with_capacity(managers.0.len());
        for mut entry in std::mem::take(&mut managers.0) {
            if let Some((_, shape)) = self.versions.convert(live, &entry.manager.api_version)? {
                typed::reconcile(&mut entry.fields, shape);
                reconciled.push(entry);
            }
        }
        managers.0 = reconciled;
        Ok(())
    }

    /// The name of the manager of this write.
    pub(super) fn manager_name(&self) -> &str {
        if self.name.is_empty() { "unknown" } else { &self.name }
    }

    fn manager(&self, operation: Operation) -> Manager {
        Manager {
            name: self.manager_name().to_owned(),
            operation,
            api_version: self.versions.own(),
            subresource: self.subresource.to_owned(),
        }
    }

    /// The same write with another manager name.
    fn named(&self, name: &'static str) -> Self {
        Self {
            versions: self.versions,
            name: Cow::Borrowed(name),
            subresource: self.subresource,
            reset: self.reset.clone(),
            now: self.now.clone(),
        }
    }
}

/// A 500 error about a value that does not have the shape of its kind.
fn untyped(what: &str, object: &Value, errors: &[ValidationError]) -> BoxedRejection {
    failed(&format!("create typed {what} object"), object, "", &ValidationError::text(errors))
}

/// A 500 error about an object that the server failed to process.
pub(crate) fn failed(task: &str, object: &Value, target: &str, why: &str) -> BoxedRejection {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").rsplit_once('/').unwrap_or(("", text("apiVersion")));
    let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
    BoxedRejection::internal(format!(
        "failed to {task} ({namespace}/{name}; {group}/{version}, Kind={}){target}: {why}",
        text("kind")
    ))
}
