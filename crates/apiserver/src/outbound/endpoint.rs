//! Resolves the Service of a webhook call to an address (`ResolveCluster` of `k8s.io/apiserver/pkg/util/proxy`).

use serde_json::Value;
use windtunnel_core::{Object, Resource};

use crate::gotext::quote;
use crate::outbound::hooks::{HookCall, HookService};

const ENDPOINTS: Resource = Resource::namespaced("", "v1", "Endpoints", "endpoints");
const SERVICES: Resource = Resource::namespaced("", "v1", "Service", "services");

/// Sets the current address of the call's Service. `find` returns an object of the cluster.
pub(crate) fn with_service_endpoint(
    mut call: HookCall,
    find: impl Fn(&Resource, &str, &str) -> Option<Object>,
) -> HookCall {
    if let Some(service) = &mut call.target.service {
        let found = find(&SERVICES, &service.namespace, &service.name);
        let is_outside = found.as_ref().is_some_and(|found| found["spec"]["type"] == "ExternalName");
        let has_address = |endpoints: &Object| {
            endpoints
                .list("/subsets")
                .iter()
                .any(|subset| subset["addresses"].as_array().is_some_and(|all| !all.is_empty()))
        };
        service.has_backend = is_outside
            || find(&ENDPOINTS, &service.namespace, &service.name).is_some_and(|found| has_address(&found));
        let missing = || format!("service {} not found", quote(&service.name));
        service.endpoint =
            found.ok_or_else(missing).and_then(|found| address(&found.to_value()["spec"], service));
    }
    call
}

/// The `host:port` of a Service. A Service of type ExternalName accepts any port.
fn address(spec: &Value, service: &HookService) -> Result<String, String> {
    let text = |field: &str| spec[field].as_str().unwrap_or_default();
    match text("type") {
        "ExternalName" => Ok(join(text("externalName"), service.port)),
        "ClusterIP" if text("clusterIP") == "None" => {
            Err("cannot route to service with ClusterIP \"None\"".to_owned())
        }
        "ClusterIP" | "NodePort" | "LoadBalancer" => {
            let mut ports = spec["ports"].as_array().into_iter().flatten();
            if ports.any(|port| port["port"] == service.port) {
                return Ok(join(text("clusterIP"), service.port));
            }
            Err(format!("no service port {} found for service {}", service.port, quote(&service.name)))
        }
        other => Err(format!("unsupported service type {}", quote(other))),
    }
}

/// Joins host and port like Go's `net.JoinHostPort`.
fn join(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn address_requires_a_port_of_the_service() {
        let service = HookService::new("ns", "a", 443);
        for (spec, expected) in [
            (json!({ "type": "ExternalName", "externalName": "x.io" }), Ok("x.io:443")),
            (
                json!({ "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{ "port": 443 }] }),
                Ok("10.0.0.1:443"),
            ),
            (
                json!({ "type": "NodePort", "clusterIP": "fd00::1", "ports": [{ "port": 443 }] }),
                Ok("[fd00::1]:443"),
            ),
            (
                json!({ "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }] }),
                Err("no service port 443 found for service \"a\""),
            ),
            (
                json!({ "type": "ClusterIP", "clusterIP": "None", "ports": [{ "port": 443 }] }),
                Err("cannot route to service with ClusterIP \"None\""),
            ),
        ] {
            let found = address(&spec, &service);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{spec}");
        }
    }
}
