//! Rejects pods that keep others away from more than their node (`LimitPodHardAntiAffinityTopology`).

use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;
use windtunnel_core::text_of;

const HOST: &str = "kubernetes.io/hostname";

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LimitPodHardAntiAffinityTopology;

impl AdmissionPlugin for LimitPodHardAntiAffinityTopology {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let writes = request.operation != AdmissionOperation::Delete && request.writes(&PODS);
        let Some(pod) = object.filter(|_| writes) else { return Ok(()) };
        let affinity = &pod["spec"]["affinity"]["podAntiAffinity"];
        let terms =
            affinity["requiredDuringSchedulingIgnoredDuringExecution"].as_array().into_iter().flatten();
        let mut keys = terms.map(|term| text_of(term, "topologyKey")).filter(|key| *key != HOST);
        match keys.next() {
            None => Ok(()),
            Some(key) => Err(AdmissionRejection::Forbidden(format!(
                "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOST} is allowed"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    #[test]
    fn pods_keep_others_away_from_their_node_only() {
        let check = |key: &str| {
            let required = json!([{ "topologyKey": HOST }, { "topologyKey": key }]);
            let affinity =
                json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } });
            let pod = json!({ "spec": { "affinity": affinity } });
            Cluster::new(36).validate(&LimitPodHardAntiAffinityTopology, &PODS, "", &pod, None)
        };
        assert_eq!(check(HOST), Ok(()));
        let expected = "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key \
                        kubernetes.io/hostname is allowed";
        assert_eq!(check("zone"), Err(AdmissionRejection::Forbidden(expected.to_owned())));
    }
}
