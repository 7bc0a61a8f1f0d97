//! Server-side apply of a Scale. Field managers own the number of replicas both in the Scale and in the object.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use crate::apply::{Applied, Managers, Replicas, Tracker, Versions};
use crate::call::{Call, Owners};
use crate::kinds::Kind;
use crate::kinds::custom::ScalePaths;
use crate::kinds::view::View;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::server::ApiServer;
use crate::store::Stored;
use crate::verbs::patch::apply;

/// The kind Scale, beside the kind that has it.
fn scale_kind(kind: &Kind) -> Arc<Kind> {
    let plain = Kind { view: View::Storage, custom: None, defaults: None, validators: None, ..kind.clone() };
    Arc::new(Kind { resource: SCALE, ..plain })
}

/// The kind of a Scale.
pub(super) const SCALE: Resource = Resource::namespaced("autoscaling", "v1", "Scale", "scales");

/// The owners of the fields of a Scale before and after a write, as mutating admission sees them.
#[derive(Debug, Default)]
pub(super) struct ScaleOwners {
    pub(super) old: Managers,
    pub(super) new: Managers,
}

impl ApiServer {
    /// Applies the configuration to the Scale and returns the result. Stores the object's managed fields in the call.
    pub(super) fn apply_scale(
        &self,
        call: &mut Call<'_>,
        object: &Stored,
        current: &Value,
    ) -> Outcome<(Value, ScaleOwners)> {
        let config = apply::configuration(call, &SCALE)?;
        let replicas = self.replicas(&call.kind);
        let owners = Managers::stored(object);
        let kind = scale_kind(&call.kind);
        let served = [Arc::clone(&kind)];
        let tracker =
            Tracker { versions: Versions::new(&served, &kind, self.catalog.minor()), ..self.tracker(call) };
        let own = replicas.of_scale(&owners);
        // The converter of custom resources does not know the type of an untyped Scale.
        let unconverted = |task: &str, object: &str| {
            let target = "request to convert CR to an invalid group/version: autoscaling/v1";
            BoxedRejection::internal(format!(
                "{task} ({object}; autoscaling/v1, Kind=Scale) to proper version: {target}"
            ))
        };
        if call.kind.custom.is_some() && own.is_empty() {
            let task = "failed to create manager for existing fields: failed to convert live object";
            return Err(unconverted(task, "/"));
        }
        let Applied { object: scale, managers } =
            tracker.apply(current, &config, own.clone(), false, call.options.force)?;
        if call.kind.custom.is_some() && scale.is_some() {
            let (namespace, name) = (metadata::text(&config, "namespace"), metadata::text(&config, "name"));
            return Err(unconverted("failed to convert new object", &format!("{namespace}/{name}")));
        }
        let of_scale = ScaleOwners { old: own, new: managers.clone() };
        let managers = replicas.of_object(owners, managers, &call.kind.resource.api_version());
        apply::report_repeated_keys(call)?;
        call.owners = Owners::Decided(managers);
        Ok((scale.unwrap_or_else(|| current.clone()), of_scale))
    }

    /// The Scale of a call with its patch, which is no apply.
    pub(super) fn patch_scale(&self, call: &mut Call<'_>, current: &Value) -> Outcome<Value> {
        let (patch_type, patch, repeated) = self.read_patch(call)?;
        let scale = scale_kind(&call.kind);
        let kind = std::mem::replace(&mut call.kind, scale);
        let old = Stored::new(current.clone(), None);
        let patched = self.with_patch(call, patch_type, &patch, repeated, &old);
        call.kind = kind;
        call.empties.clear();
        patched
    }

    /// Sets the owners of the fields of an object whose Scale an update or another patch changes. Go omits a number of
    /// zero, which therefore has no owner.
    pub(super) fn own_replicas(
        &self,
        call: &mut Call<'_>,
        object: &Stored,
        current: &Value,
        scale: &Value,
    ) -> ScaleOwners {
        if !self.managed_fields {
            return ScaleOwners::default();
        }
        let replicas = self.replicas(&call.kind);
        let owners = Managers::stored(object);
        let kind = scale_kind(&call.kind);
        let served = [Arc::clone(&kind)];
        let tracker =
            Tracker { versions: Versions::new(&served, &kind, self.catalog.minor()), ..self.tracker(call) };
        let old = replicas.of_scale(&owners);
        let new = tracker.update(Some(current), scale, old.clone());
        let of_scale = ScaleOwners { old, new: new.clone() };
        call.owners = Owners::Decided(replicas.of_object(owners, new, &call.kind.resource.api_version()));
        of_scale
    }

    /// The path of the number of replicas in each served version of a kind.
    fn replicas(&self, kind: &Kind) -> Replicas {
        let served = self.catalog.versions(&kind.resource.group, &kind.resource.plural);
        let path = |kind: &Arc<Kind>| {
            let paths = match &kind.custom {
                Some(custom) => custom.version.scale.clone()?,
                None => ScalePaths::of_workloads(),
            };
            Some(paths.spec.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect())
        };
        Replicas(served.iter().map(|kind| (kind.resource.api_version(), path(kind))).collect())
    }
}
