//! Deprecated versions of built-in kinds, and the warnings that clients get (`k8s:prerelease-lifecycle-gen`).

use windtunnel_core::Resource;

/// Group, version and plural; the minor that deprecates it; the minor that removes it, if known; the
/// replacement, if there is one.
type Row = (&'static str, &'static str, &'static str, u32, Option<u32>, Option<&'static str>);

const FLOW: &str = "flowcontrol.apiserver.k8s.io";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("", "v1", "componentstatuses", 19, None, None),
    ("", "v1", "endpoints", 33, None, Some("discovery.k8s.io/v1 EndpointSlice")),
    ("autoscaling", "v2beta2", "horizontalpodautoscalers", 23, Some(26), Some("autoscaling/v2 HorizontalPodAutoscaler")),
    ("batch", "v1beta1", "cronjobs", 21, Some(25), Some("batch/v1 CronJob")),
    ("discovery.k8s.io", "v1beta1", "endpointslices", 21, Some(25), Some("discovery.k8s.io/v1 EndpointSlice")),
    ("events.k8s.io", "v1beta1", "events", 19, Some(25), Some("events.k8s.io/v1 Event")),
    (FLOW, "v1beta2", "flowschemas", 26, Some(29), Some("flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema")),
    (FLOW, "v1beta2", "prioritylevelconfigurations", 26, Some(29),
        Some("flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration")),
    (FLOW, "v1beta3", "flowschemas", 29, Some(32), Some("flowcontrol.apiserver.k8s.io/v1 FlowSchema")),
    (FLOW, "v1beta3", "prioritylevelconfigurations", 29, Some(32),
        Some("flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration")),
    ("node.k8s.io", "v1beta1", "runtimeclasses", 22, Some(25), Some("node.k8s.io/v1 RuntimeClass")),
    ("policy", "v1beta1", "poddisruptionbudgets", 21, Some(25), Some("policy/v1 PodDisruptionBudget")),
    ("storage.k8s.io", "v1beta1", "csistoragecapacities", 24, Some(27), Some("storage.k8s.io/v1 CSIStorageCapacity")),
];

/// The first minor that warns about a version of a kind, and the warning.
pub(super) fn of(resource: &Resource) -> Option<(u32, String)> {
    let row = TABLE
        .iter()
        .find(|row| (row.0, row.1, row.2) == (&*resource.group, &*resource.version, &*resource.plural))?;
    let (.., since, removed, instead) = row;
    let mut text = format!("{} {} is deprecated in v1.{since}+", resource.api_version(), resource.kind);
    if let Some(removed) = removed {
        text.push_str(&format!(", unavailable in v1.{removed}+"));
    }
    if let Some(instead) = instead {
        text.push_str(&format!("; use {instead}"));
    }
    Some((*since, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_both_minors_and_the_replacement() {
        let budget = Resource::namespaced("policy", "v1beta1", "PodDisruptionBudget", "poddisruptionbudgets");
        let text = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 \
                    PodDisruptionBudget";
        assert_eq!(of(&budget), Some((21, text.to_owned())));
        let status = Resource::cluster("", "v1", "ComponentStatus", "componentstatuses");
        assert_eq!(of(&status), Some((19, "v1 ComponentStatus is deprecated in v1.19+".to_owned())));
    }
}
