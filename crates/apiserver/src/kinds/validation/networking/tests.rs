//! Tests of the rules of network kinds: an object and the errors that it has.

use serde_json::{Value, json};

use super::{endpoints, ingress, ip_address, network_policy, service, service_cidr};
use crate::kinds::validation::{Errors, Validator};
use crate::profile::Profile;

fn errors(validator: Validator, object: &Value, old: Option<&Value>) -> String {
    let profile = Profile::of(36, false);
    let mut errors = Errors::new(&profile);
    validator(object, old, &mut errors);
    errors.into_found().iter().map(|error| error.text(&profile)).collect::<Vec<_>>().join("; ")
}

/// A service of type `ClusterIP` with other fields.
fn cluster_ip(more: &Value) -> Value {
    let mut spec = json!({
        "type": "ClusterIP", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "sessionAffinity": "None",
        "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }],
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "metadata": { "name": "x" }, "spec": spec })
}

#[test]
fn services_need_the_fields_of_their_type() {
    let port = json!({ "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080 });
    for (more, expected) in [
        (json!({}), ""),
        (
            json!({ "type": "X" }),
            r#"spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
        ),
        (json!({ "ports": [] }), "spec.ports: Required value"),
        (
            json!({ "ports": [port] }),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            json!({ "sessionAffinity": "ClientIP", "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 0 } } }),
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than \
             86400",
        ),
        (
            json!({ "externalTrafficPolicy": "Local" }),
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
        ),
        (
            json!({ "externalIPs": ["127.0.0.1"], "externalTrafficPolicy": "Cluster" }),
            "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            json!({ "loadBalancerSourceRanges": ["10.0.0.0/8"] }),
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            json!({ "loadBalancerClass": "a/b" }),
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            json!({ "trafficDistribution": "X" }),
            r#"spec.trafficDistribution: Unsupported value: "X": supported values: "PreferClose", "PreferSameZone", "PreferSameNode""#,
        ),
        (
            json!({ "healthCheckNodePort": 30000 }),
            "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and \
             `externalTrafficPolicy` is 'Local'",
        ),
        (
            json!({ "ports": [{ "port": 80, "protocol": "TCP", "appProtocol": "a/b/c" }] }),
            "spec.ports[0].appProtocol",
        ),
    ] {
        let found = errors(service::service, &cluster_ip(&more), None);
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{more}: {found}");
    }
}

#[test]
fn the_addresses_of_a_service_agree_with_each_other() {
    for (more, expected) in [
        (
            json!({ "clusterIPs": ["10.0.0.8"] }),
            r#"spec.clusterIPs: Invalid value: ["10.0.0.8"]: first value must match `clusterIP`"#,
        ),
        (json!({ "clusterIPs": null }), "spec.clusterIPs: Required value"),
        (
            json!({ "clusterIP": null }),
            r#"spec.clusterIPs: Invalid value: ["10.0.0.9"]: must be empty when `clusterIP` is not specified"#,
        ),
        (
            json!({ "clusterIPs": ["10.0.0.9", "10.0.0.8"] }),
            r#"spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.8"]: may specify no more than one IP for each IP family"#,
        ),
        (
            json!({ "ipFamilies": ["IPv6"] }),
            "spec.clusterIPs[0]: Invalid value: \"10.0.0.9\": expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
        (json!({ "ipFamilies": ["IPv4", "IPv4"] }), r#"spec.ipFamilies[1]: Duplicate value: "IPv4""#),
        (json!({ "clusterIPs": ["10.0.0.9", "fd00::9"], "ipFamilies": ["IPv4", "IPv6"] }), ""),
    ] {
        assert_eq!(errors(service::service, &cluster_ip(&more), None), expected, "{more}");
    }
}

#[test]
fn the_first_address_of_a_service_stays() {
    let old = cluster_ip(&json!({ "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" }));
    for (more, expected) in [
        (json!({ "ipFamilies": ["IPv4"] }), ""),
        (
            json!({ "clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8"], "ipFamilies": ["IPv4"] }),
            r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set"#,
        ),
        (
            json!({ "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"] }),
            r#"spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set"#,
        ),
    ] {
        assert_eq!(errors(service::service, &cluster_ip(&more), Some(&old)), expected, "{more}");
    }
    let balancer =
        json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "loadBalancerClass": "a/b" });
    let found = errors(
        service::service,
        &cluster_ip(&json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Cluster" })),
        Some(&cluster_ip(&balancer)),
    );
    assert_eq!(found, "spec.loadBalancerClass: Invalid value: null: may not change once set");
}

#[test]
fn only_load_balancers_have_addresses_in_their_status() {
    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.x", "ipMode": "VIP" }] } });
    let mut object = cluster_ip(&json!({ "type": "LoadBalancer" }));
    object["status"] = status;
    let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    let expected = format!("status.loadBalancer.ingress[0].ip: Invalid value: \"1.2.3.x\": {why}");
    assert_eq!(errors(service::status, &object, None), expected);
    object["spec"]["type"] = json!("ClusterIP");
    let expected =
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'";
    assert_eq!(errors(service::status, &object, None), expected);
}

#[test]
fn endpoints_need_addresses_and_ports() {
    for (subset, expected) in [
        (json!({ "addresses": [{ "ip": "10.1.1.1" }], "ports": [{ "port": 80, "protocol": "TCP" }] }), ""),
        (json!({}), "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"),
        (
            json!({ "addresses": [{ "ip": "169.254.0.1" }] }),
            "subsets[0].addresses[0].ip: Invalid value: \"169.254.0.1\": may not be in the link-local range \
             (169.254.0.0/16, fe80::/10)",
        ),
        (
            json!({ "addresses": [{ "ip": "10.1.1.1" }], "ports": [{ "port": 0, "protocol": "TCP" }] }),
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
    ] {
        let object = json!({ "subsets": [subset] });
        assert_eq!(errors(endpoints::endpoints, &object, None), expected, "{subset}");
        assert_eq!(errors(endpoints::endpoints, &object, Some(&object)), "", "{subset}");
    }
}

#[test]
fn slices_limit_the_addresses_and_hints_of_endpoints() {
    let slice = |endpoint: Value| json!({ "addressType": "IPv4", "endpoints": [endpoint] });
    for (endpoint, expected) in [
        (json!({ "addresses": ["10.1.1.1"] }), ""),
        (
            json!({ "addresses": ["fd00::1"] }),
            "endpoints[0].addresses: Invalid value: \"fd00::1\": must be an IPv4 address",
        ),
        (
            json!({ "addresses": vec!["10.1.1.1"; 101] }),
            "endpoints[0].addresses: Too many: 101: must have at most 100 items",
        ),
        (
            json!({ "addresses": ["10.1.1.1"], "hints": { "forZones": [{ "name": "a" }, { "name": "a" }] } }),
            "endpoints[0].hints.forZones[1].name: Duplicate value: \"a\"",
        ),
    ] {
        assert_eq!(errors(endpoints::slice, &slice(endpoint.clone()), None), expected, "{endpoint}");
    }
}

#[test]
fn backends_of_ingresses_are_services_or_resources() {
    for (backend, expected) in [
        (json!({ "service": { "name": "s", "port": { "number": 80 } } }), ""),
        (json!({ "service": { "name": "1s", "port": { "name": "web" } } }), ""),
        (json!({}), "spec.defaultBackend: Invalid value: \"\": resource or service backend is required"),
        (json!({ "resource": { "kind": "K" } }), "spec.defaultBackend.resource.name: Required value"),
        (
            json!({ "service": { "name": "s", "port": { "name": "web", "number": 1 } } }),
            "spec.defaultBackend: Invalid value: \"\": cannot set both port name & port number",
        ),
    ] {
        let object = json!({ "spec": { "defaultBackend": backend } });
        assert_eq!(errors(ingress::ingress, &object, None), expected, "{backend}");
    }
}

#[test]
fn stored_ranges_of_policies_may_be_ambiguous() {
    let policy =
        |range: &str| json!({ "spec": { "egress": [{ "to": [{ "ipBlock": { "cidr": range } }] }] } });
    let expected = "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the \
                    prefix length";
    let (new, old) = (policy("10.0.0.1/8"), policy("10.0.0.0/8"));
    assert_eq!(errors(network_policy::network_policy, &new, Some(&old)), expected);
    assert_eq!(errors(network_policy::network_policy, &new, Some(&new)), "");
    let mut warnings = Vec::new();
    network_policy::warn(&new, &mut warnings);
    assert_eq!(warnings.len(), 1);
}

#[test]
fn addresses_of_services_have_a_parent_and_ranges_are_canonical() {
    let parent = json!({ "resource": "services", "namespace": "a", "name": "b" });
    let address = |parent: &Value| json!({ "spec": { "parentRef": parent } });
    assert_eq!(errors(ip_address, &address(&parent), None), "");
    assert_eq!(errors(ip_address, &address(&Value::Null), None), "spec.parentRef: Required value");
    let other = address(&json!({ "resource": "services", "name": "c" }));
    let shown = r#"{"Group":"","Resource":"services","Namespace":"","Name":"c"}"#;
    let expected = format!("spec.parentRef: Invalid value: {shown}: field is immutable");
    assert_eq!(errors(ip_address, &other, Some(&address(&parent))), expected);
    let ranges = |list: &[&str]| json!({ "spec": { "cidrs": list } });
    for (list, old, expected) in [
        (vec!["10.0.0.0/24"], vec![], ""),
        (vec![], vec![], "spec.cidrs: Required value: at least one CIDR required"),
        (
            vec!["10.0.1.0/24"],
            vec!["10.0.0.0/24"],
            "spec.cidrs[0]: Invalid value: \"10.0.1.0/24\": field is immutable",
        ),
        (vec!["10.0.0.0/24", "fd00::/112"], vec!["10.0.0.0/24"], ""),
    ] {
        let old = (!old.is_empty()).then(|| ranges(&old));
        assert_eq!(errors(service_cidr, &ranges(&list), old.as_ref()), expected, "{list:?}");
    }
}
