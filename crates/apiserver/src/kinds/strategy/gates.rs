//! Fields behind feature gates that are off by default: the server drops them, unless the stored object has them
//! (`dropDisabledFields`).

use serde_json::Value;

use super::pod;
use crate::kinds::Kind;
use crate::kinds::templates::template_path;
use crate::profile::since;

/// Group, plural, the pointer to the object with the field, the field, and the first minor that has it on by default.
type Row = (&'static str, &'static str, &'static str, &'static str, u32);

const NEVER: u32 = u32::MAX;
const AUTOSCALERS: &str = "horizontalpodautoscalers";
const ROLLING: &str = "/spec/updateStrategy/rollingUpdate";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // `MaxUnavailableStatefulSet`
    ("apps", "statefulsets", ROLLING, "maxUnavailable", NEVER),
    // `StatefulSetStartOrdinal`
    ("apps", "statefulsets", "/spec", "ordinals", 27),
    // `ServiceTrafficDistribution`
    ("", "services", "/spec", "trafficDistribution", 31),
    // `VolumeAttributesClass`
    ("", "persistentvolumes", "/spec", "volumeAttributesClassName", 34),
    ("", "persistentvolumeclaims", "/spec", "volumeAttributesClassName", 34),
    // `JobBackoffLimitPerIndex`, `JobSuccessPolicy`, `JobManagedBy`
    ("batch", "jobs", "/spec", "backoffLimitPerIndex", 29),
    ("batch", "jobs", "/spec", "maxFailedIndexes", 29),
    ("batch", "jobs", "/spec", "successPolicy", 31),
    ("batch", "jobs", "/spec", "managedBy", since::JOB_MANAGED_BY),
    // `HPAConfigurableTolerance`
    ("autoscaling", AUTOSCALERS, "/spec/behavior/scaleUp", "tolerance", since::AUTOSCALER_TOLERANCE),
    ("autoscaling", AUTOSCALERS, "/spec/behavior/scaleDown", "tolerance", since::AUTOSCALER_TOLERANCE),
    // `VolumeLimitScaling`
    ("storage.k8s.io", "csidrivers", "/spec", "preventPodSchedulingIfMissing", NEVER),
    // `CoordinatedLeaderElection`
    ("coordination.k8s.io", "leases", "/spec", "strategy", NEVER),
    ("coordination.k8s.io", "leases", "/spec", "preferredHolder", NEVER),
];

/// Removes fields of a template that need gates which are off by default (`DropDisabledTemplateFields`).
pub(super) fn drop_in_template(kind: &Kind, object: &mut Value, old: Option<&Value>, minor: u32) {
    let Some(path) = template_path(&kind.resource) else { return };
    let before = old.map(|old| path.iter().fold(old, |value, field| &value[*field]));
    let template = path.iter().try_fold(object, |value, field| value.get_mut(*field));
    if let Some(template) = template {
        pod::drop_disabled(template, before, minor);
    }
}

/// Drops the disabled fields of a new or updated object.
pub(super) fn drop_disabled(kind: &Kind, object: &mut Value, old: Option<&Value>, minor: u32) {
    let resource = &kind.resource;
    for (group, plural, pointer, field, since) in TABLE {
        if (*group, *plural) != (&*resource.group, &*resource.plural) || minor >= *since {
            continue;
        }
        let is_used = old.and_then(|old| old.pointer(pointer)?.get(field)).is_some();
        if let Some(owner) = object.pointer_mut(pointer).and_then(Value::as_object_mut)
            && !is_used
        {
            owner.remove(*field);
        }
    }
}
