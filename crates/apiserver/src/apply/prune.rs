//! Removes fields that a manager no longer applies, and the migration from client-side `kubectl apply`.

use std::borrow::Cow;

use serde_json::Value;

use super::conflict::Conflict;
use super::managers::{Entry, Managers};
use super::shape::Shape;
use super::tracker::Tracker;
use super::typed::{self, with_named_fields};
use crate::field_set::FieldSet;

/// The annotation in which client-side `kubectl apply` stores the applied configuration.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager name of `kubectl apply --server-side`.
pub(crate) const KUBECTL: &str = "kubectl";

impl Tracker<'_> {
    /// The merged object without the fields that the manager applied last time, does not apply now, and
    /// nobody else owns.
    ///
    /// # Errors
    /// An object cannot be converted to the version of an entry.
    pub(super) fn prune(
        &self,
        merged: Value,
        managers: &Managers,
        last: Option<&Entry>,
    ) -> Result<Value, String> {
        let Some(last) = last.filter(|entry| !entry.fields.is_empty()) else { return Ok(merged) };
        let version = &last.manager.api_version;
        let last_version = |what: &str, why: String| {
            format!("failed to convert {what} object to last applied version: {why}")
        };
        let Some((before, shape)) =
            self.versions.convert(&merged, version).map_err(|why| last_version("merged", why))?
        else {
            return Ok(merged);
        };
        let removed = with_named_fields(&last.fields, shape);
        let pruned = typed::remove(&before, &removed, shape);
        let pruned = self
            .add_back_owned(&before, pruned, managers, version)
            .map_err(|why| format!("failed add back owned items: {why}"))?;
        let dangling = |why| format!("failed add back dangling items: {}", last_version("pruned", why));
        let Some((pruned, _)) = self.versions.convert(&pruned, version).map_err(dangling)? else {
            return Ok(merged);
        };
        // Fields that this manager did not own stay, with or without another owner.
        let mut difference = with_named_fields(&typed::fields(&before, shape), shape);
        difference.subtract(&with_named_fields(&typed::fields(&pruned, shape), shape));
        let removed = difference.intersection(&removed);
        let pruned = typed::remove(&before, &removed, shape);
        let object = self.versions.convert(&pruned, &self.versions.own())?;
        Ok(object.map(|(object, _)| object.into_owned()).unwrap_or(merged))
    }

    /// Restores the fields that any manager owns now, version by version; that of the last apply is the
    /// first.
    fn add_back_owned(
        &self,
        merged: &Value,
        pruned: Value,
        managers: &Managers,
        first: &str,
    ) -> Result<Value, String> {
        let mut versions: Vec<(&str, FieldSet)> = Vec::new();
        for entry in &managers.0 {
            let version = entry.manager.api_version.as_str();
            match versions.iter_mut().find(|(found, _)| *found == version) {
                Some((_, fields)) => fields.add(entry.fields.clone()),
                None => versions.push((version, entry.fields.clone())),
            }
        }
        versions.sort_by_key(|(version, _)| (*version != first, *version));
        let (mut merged, mut pruned) = (Cow::Borrowed(merged), pruned);
        for (version, owned) in versions {
            let failed = |what: &str, why: String| {
                format!("failed to convert {what} object at version {version}: {why}")
            };
            let whole = self.versions.convert(&merged, version).map_err(|why| failed("merged", why))?;
            let Some((whole, shape)) = whole else { continue };
            let part = self.versions.convert(&pruned, version).map_err(|why| failed("pruned", why))?;
            let Some((part, _)) = part else { continue };
            let next = without_unowned(&whole, &part, &owned, shape);
            merged = Cow::Owned(whole.into_owned());
            pruned = next;
        }
        Ok(pruned)
    }

    /// The conflicts that remain for `kubectl`, which owns the fields that it applied on the client side:
    /// those whose values equal the annotation.
    pub(super) fn remaining_conflicts(&self, live: &Value, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let Some(owned) = (self.name == KUBECTL).then(|| self.last_applied(live)).flatten() else {
            return conflicts;
        };
        let rest = conflicts.into_iter().map(|Conflict { manager, mut fields }| {
            fields.subtract(&owned);
            Conflict { manager, fields }
        });
        rest.filter(|conflict| !conflict.fields.is_empty()).collect()
    }

    /// The fields of the annotation whose values in the object are the same.
    fn last_applied(&self, live: &Value) -> Option<FieldSet> {
        let text = live["metadata"]["annotations"].get(LAST_APPLIED)?.as_str()?;
        let last: Value = serde_json::from_str(text).ok()?;
        let shape = self.versions.shape();
        if last["apiVersion"] != *self.versions.own() || typed::validate(&last, shape, false).is_err() {
            return None;
        }
        let mut fields = typed::fields(&last, shape);
        let comparison = typed::compare(&last, live, shape);
        fields.subtract(&comparison.changed());
        fields.subtract(&comparison.removed);
        Some(fields)
    }
}

/// `whole` without the fields that are neither in `part` nor owned.
fn without_unowned(whole: &Value, part: &Value, owned: &FieldSet, shape: Shape<'_>) -> Value {
    let mut removed = with_named_fields(&typed::fields(whole, shape), shape);
    removed.subtract(&with_named_fields(&typed::fields(part, shape), shape));
    removed.subtract(&with_named_fields(owned, shape));
    typed::remove(whole, &removed, shape)
}
