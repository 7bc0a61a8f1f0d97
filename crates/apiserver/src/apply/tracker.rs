//! What a write does to the owners of fields: updates take what they change, applies ask first.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use super::conflict::{self, Conflict};
use super::managers::{BEFORE_FIRST_APPLY, Entry, Manager, Managers, Operation};
use super::set::FieldSet;
use super::shape::zero;
use super::typed::{self, Comparison, Problem};
use super::versions::Versions;
use crate::metadata;
use crate::status::{Outcome, Refused};

/// What nobody owns, because everybody must say it or the server sets it.
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

/// One write, as far as the owners of fields go.
#[derive(Debug)]
pub(crate) struct Tracker<'a> {
    pub(crate) versions: Versions<'a>,
    /// Whose write it is.
    pub(crate) name: Cow<'a, str>,
    /// Through which subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// What the endpoint resets whatever is written: nobody gets to own that through it.
    pub(crate) reset: Cow<'a, FieldSet>,
    /// The time of the write, RFC 3339.
    pub(crate) now: String,
}

/// What an apply comes to.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The object; `None` if it stays as it is.
    pub(crate) object: Option<Value>,
    pub(crate) managers: Managers,
}

impl Tracker<'_> {
    /// The entries after an update from `old` to `new`; of a new object `old` is `None`. An object without entries has
    /// none until it is applied.
    pub(crate) fn update(&self, old: Option<&Value>, new: &Value, mut managers: Managers) -> Managers {
        let shape = self.versions.shape();
        let nothing;
        let old = match old {
            Some(_) if managers.0.is_empty() => return managers,
            Some(old) => old,
            None => {
                nothing = zero(shape);
                &nothing
            }
        };
        let comparison = typed::compare(old, new, shape).without(&self.reset);
        if !comparison.is_empty() {
            self.reconcile(&mut managers);
            // Nobody can stop an update.
            let _ = self.settle(old, new, &comparison, &mut managers, None, true);
            let mut changed = comparison.changed();
            changed.subtract(&UNOWNED);
            if !changed.is_empty() {
                managers.add_update(self.manager(Operation::Update), changed, &self.now);
            }
        }
        managers.cap();
        managers
    }

    /// Applies `config` to `live`; of an object that is not there, `live` has nothing but its type.
    ///
    /// # Errors
    /// `config` does not have the shape of the kind; or it changes fields of others, and `force` is not set.
    pub(crate) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        is_new: bool,
        force: bool,
    ) -> Outcome<Applied> {
        let shape = self.versions.shape();
        typed::validate(config, shape, false).map_err(|problems| untyped("patch", config, &problems))?;
        typed::validate(live, shape, true).map_err(|problems| untyped("live", live, &problems))?;
        let managers = if managers.0.is_empty() && !is_new {
            self.named(BEFORE_FIRST_APPLY).update(None, live, managers)
        } else {
            managers
        };
        match self.try_apply(live, config, managers.clone(), force)? {
            Ok(applied) => Ok(applied),
            Err(conflicts) => match self.unsettled(live, conflicts) {
                conflicts if conflicts.is_empty() => {
                    self.try_apply(live, config, managers, true)?.map_err(conflict::refused)
                }
                conflicts => Err(conflict::refused(conflicts)),
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
        self.reconcile(&mut managers);
        let shape = self.versions.shape();
        let merged = typed::merge(live, config, shape).map_err(|problems| {
            Refused::internal(format!("failed to merge config: {}", Problem::text(&problems)))
        })?;
        let mut fields = typed::fields(config, shape);
        fields.subtract_with_children(&self.reset);
        let me = self.manager(Operation::Apply);
        let last = managers.position(&me).map(|place| managers.0.remove(place));
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        managers.0.push(Entry { manager: me.clone(), time, fields });
        let object = self.prune(merged, &managers, last.as_ref());
        let comparison = typed::compare(live, &object, shape).without(&self.reset);
        if let Err(conflicts) = self.settle(live, &object, &comparison, &mut managers, Some(&me), force) {
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

    /// Takes from all managers but one what a write changed or removed.
    ///
    /// # Errors
    /// Fields of others that it changes, unless it is forced.
    fn settle(
        &self,
        old: &Value,
        new: &Value,
        comparison: &Comparison,
        managers: &mut Managers,
        except: Option<&Manager>,
        force: bool,
    ) -> Result<(), Vec<Conflict>> {
        let own = self.versions.own();
        let mut conflicts = Vec::new();
        let mut changes: Vec<(String, Option<(FieldSet, FieldSet)>)> =
            vec![(own, Some((comparison.changed(), comparison.removed.clone())))];
        let mut kept = Vec::with_capacity(managers.0.len());
        for mut entry in std::mem::take(&mut managers.0) {
            if except == Some(&entry.manager) {
                kept.push(entry);
                continue;
            }
            let version = &entry.manager.api_version;
            if !changes.iter().any(|(found, _)| found == version) {
                changes.push((version.clone(), self.changes_in(version, old, new)));
            }
            let found = changes.iter().find(|(found, _)| found == version);
            // What is owned in a version that is served no more is owned by nobody.
            let Some((_, Some((changed, removed)))) = found else { continue };
            if !force {
                let fields = entry.fields.intersection(changed);
                if !fields.is_empty() {
                    conflicts.push(Conflict { manager: entry.manager.clone(), fields });
                }
            }
            entry.fields.subtract(changed);
            entry.fields.subtract(removed);
            kept.push(entry);
        }
        kept.retain(|entry| !entry.fields.is_empty());
        managers.0 = kept;
        if conflicts.is_empty() { Ok(()) } else { Err(conflicts) }
    }

    /// What changed and what was removed, as another version sees it.
    fn changes_in(&self, version: &str, old: &Value, new: &Value) -> Option<(FieldSet, FieldSet)> {
        let (old, shape) = self.versions.convert(old, version)?;
        let (new, _) = self.versions.convert(new, version)?;
        let comparison = typed::compare(&old, &new, shape);
        Some((comparison.changed(), comparison.removed))
    }

    /// Brings what is owned in line with the schema of today.
    fn reconcile(&self, managers: &mut Managers) {
        for entry in &mut managers.0 {
            if let Some(shape) = self.versions.shape_in(&entry.manager.api_version) {
                typed::reconcile(&mut entry.fields, shape);
            }
        }
    }

    /// What the manager is called whose write it is.
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

    /// The same write by another name.
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

/// 500 of a value that does not have the shape of its kind.
fn untyped(what: &str, object: &Value, problems: &[Problem]) -> Refused {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").rsplit_once('/').unwrap_or(("", text("apiVersion")));
    let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
    Refused::internal(format!(
        "failed to create typed {what} object ({namespace}/{name}; {group}/{version}, Kind={}): {}",
        text("kind"),
        Problem::text(problems)
    ))
}
