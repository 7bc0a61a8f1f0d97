//! Rejects new external addresses of services, which take over traffic to others (`DenyServiceExternalIPs`).

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};

const SERVICES: Resource = Resource::namespaced("", "v1", "Service", "services");
const DENIED: &str = "Use of external IPs is denied by admission control";

/// The plug-in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DenyServiceExternalIps;

impl AdmissionPlugin for DenyServiceExternalIps {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(object) = object.filter(|_| request.writes(&SERVICES)) else { return Ok(()) };
        let old: Vec<&Value> = request.old.into_iter().flat_map(addresses).collect();
        if addresses(object).all(|address| old.contains(&address)) {
            return Ok(());
        }
        Err(AdmissionRejection::Forbidden(DENIED.to_owned()))
    }
}

fn addresses(service: &Value) -> impl Iterator<Item = &Value> {
    service["spec"]["externalIPs"].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    #[test]
    fn services_keep_their_addresses_and_get_no_more() {
        let service = |addresses: &[&str]| json!({ "spec": { "externalIPs": addresses } });
        let check = |new: &[&str], old: Option<&[&str]>| {
            let (new, old) = (service(new), old.map(service));
            Cluster::new(36).validate(&DenyServiceExternalIps, &SERVICES, "", &new, old.as_ref())
        };
        let denied = Err(AdmissionRejection::Forbidden(DENIED.to_owned()));
        assert_eq!(check(&[], None), Ok(()));
        assert_eq!(check(&["a"], None), denied);
        assert_eq!(check(&["a"], Some(&["b", "a"])), Ok(()));
        assert_eq!(check(&["a", "c"], Some(&["b", "a"])), denied);
    }
}
