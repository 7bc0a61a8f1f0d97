//! Server-side apply of a Scale. Field managers own the number of replicas both in the Scale and in the object.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use crate::apply::{Applied, Managers, Replicas, Tracker, Versions};
use crate::call::{Call, Owners};
use crate::kinds::Kind;
use crate::kinds::custom::ScalePaths;
use crate::server::ApiServer;
use crate::status::Outcome;
use crate::store::Stored;
use crate::verbs::patch::apply;

const SCALE: Resource = Resource::namespaced("autoscaling", "v1", "Scale", "scales");

impl ApiServer {
    /// Applies the configuration to the Scale and returns the result. Stores the object's managed fields in the call.
    pub(super) fn apply_scale(
        &self,
        call: &mut Call<'_>,
        object: &Stored,
        current: &Value,
    ) -> Outcome<Value> {
        let config = apply::configuration(call, &SCALE)?;
        let replicas = self.replicas(&call.kind);
        let owners = Managers::stored(object);
        let kind = Arc::new(Kind { resource: SCALE, custom: None, ..(*call.kind).clone() });
        let served = [Arc::clone(&kind)];
        let tracker = Tracker { versions: Versions::new(&served, &kind), ..self.tracker(call) };
        let own = replicas.of_scale(&owners);
        let Applied { object: scale, managers } =
            tracker.apply(current, &config, own, false, call.options.force)?;
        let managers = replicas.of_object(owners, managers, &call.kind.resource.api_version());
        apply::report_repeated_keys(call)?;
        call.owners = Owners::Decided(managers);
        Ok(scale.unwrap_or_else(|| current.clone()))
    }

    /// Sets the owners of the fields of an object whose Scale an update or another patch changes. Go omits a number of
    /// zero, which therefore has no owner.
    pub(super) fn own_replicas(&self, call: &mut Call<'_>, object: &Stored, current: &Value, scale: &Value) {
        if !self.managed_fields {
            return;
        }
        let replicas = self.replicas(&call.kind);
        let owners = Managers::stored(object);
        let kind = Arc::new(Kind { resource: SCALE, custom: None, ..(*call.kind).clone() });
        let served = [Arc::clone(&kind)];
        let tracker = Tracker { versions: Versions::new(&served, &kind), ..self.tracker(call) };
        let managers = tracker.update(Some(current), scale, replicas.of_scale(&owners));
        let managers = replicas.of_object(owners, managers, &call.kind.resource.api_version());
        call.owners = Owners::Decided(managers);
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
