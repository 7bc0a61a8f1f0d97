//! Tests of what a service gets: families, addresses and ports.

use serde_json::{Value, json};

use super::{AllocatedAddresses, AllocationError, ServiceNetwork, allocate, prepare_create, prepare_update};
use crate::profile::Profile;

/// A service with these fields, as the server creates it, or the message that rejects it.
fn created(spec: &Value) -> Result<Value, String> {
    written(spec, None)
}

fn written(spec: &Value, old: Option<&Value>) -> Result<Value, String> {
    tried(spec, old, false)
}

fn tried(spec: &Value, old: Option<&Value>, dry_run: bool) -> Result<Value, String> {
    let mut service = json!({ "metadata": { "name": "x", "namespace": "a" }, "spec": spec });
    match old {
        None => prepare_create(&mut service),
        Some(old) => prepare_update(&mut service, &json!({ "spec": old })),
    }
    let old = old.map(|old| json!({ "spec": old }));
    let (network, profile) = (ServiceNetwork::default(), Profile::of(36, false));
    let mut taken = AllocatedAddresses::default();
    let done = allocate(&mut service, old.as_ref(), network, &mut taken, &profile, dry_run);
    done.map_err(|failure| match failure {
        AllocationError::Invalid(errors) => {
            errors.iter().map(|error| error.text(&profile)).collect::<Vec<_>>().join("; ")
        }
        AllocationError::Internal(why) | AllocationError::Unclassified(why) => why,
    })?;
    Ok(service["spec"].clone())
}

#[test]
fn families_and_policy_follow_from_the_addresses() {
    let (one, two) = (json!(["IPv4"]), json!(["IPv4", "IPv6"]));
    for (spec, families, policy) in [
        (json!({ "type": "ClusterIP" }), &one, "SingleStack"),
        (json!({ "type": "ClusterIP", "clusterIP": "10.0.0.7" }), &one, "SingleStack"),
        (json!({ "type": "ClusterIP", "clusterIP": "None" }), &two, "RequireDualStack"),
        (json!({ "type": "ClusterIP", "clusterIP": "None", "selector": { "a": "b" } }), &one, "SingleStack"),
        (
            json!({ "type": "ClusterIP", "clusterIP": "None", "ipFamilyPolicy": "SingleStack" }),
            &one,
            "SingleStack",
        ),
        (json!({ "type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack" }), &one, "PreferDualStack"),
    ] {
        let given = created(&spec).unwrap();
        assert_eq!(
            (&given["ipFamilies"], given["ipFamilyPolicy"].as_str()),
            (families, Some(policy)),
            "{spec}"
        );
    }
    assert_eq!(
        created(&json!({ "type": "ExternalName", "externalName": "a.b" })).unwrap()["ipFamilies"],
        Value::Null
    );
}

#[test]
fn impossible_families_and_addresses_are_rejected() {
    for (more, expected) in [
        (
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
        ),
        (
            json!({ "ipFamilies": ["IPv6"] }),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
        (
            json!({ "ipFamilies": ["IPv4", "IPv6"] }),
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when \
             multiple IP families are specified",
        ),
        (
            json!({ "clusterIP": "fd00::1" }),
            r#"spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster"#,
        ),
        (
            json!({ "clusterIP": "1.2.3.4" }),
            r#"spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range"#,
        ),
        (
            json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 1 }] }),
            "spec.ports[0].nodePort: Invalid value: 1: provided port is not in the valid range. The range of valid ports is \
             30000-32767",
        ),
    ] {
        let mut spec = json!({ "type": "ClusterIP" });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        assert_eq!(created(&spec).unwrap_err(), expected, "{more}");
    }
}

#[test]
fn ports_with_one_number_share_their_node_port() {
    let port = |name: &str, protocol: &str| json!({ "name": name, "port": 53, "protocol": protocol });
    let spec = json!({ "type": "NodePort", "ports": [port("a", "TCP"), port("b", "UDP"), { "name": "c", "port": 80 }] });
    let given = created(&spec).unwrap();
    let numbers: Vec<i64> = (0..3).map(|at| given["ports"][at]["nodePort"].as_i64().unwrap()).collect();
    assert!(numbers[0] == numbers[1] && numbers[0] != numbers[2], "{numbers:?}");
    // An update without the numbers keeps them, by name.
    let kept = written(&spec, Some(&given)).unwrap();
    let kept: Vec<i64> = (0..3).map(|at| kept["ports"][at]["nodePort"].as_i64().unwrap()).collect();
    assert_eq!(kept[2], numbers[2]);
}

#[test]
fn local_load_balancers_have_a_port_for_health_checks() {
    let local =
        json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{ "port": 80 }] });
    let given = created(&local).unwrap();
    assert!(given["healthCheckNodePort"].is_i64() && given["ports"][0]["nodePort"].is_i64(), "{given}");
    assert_eq!(written(&local, Some(&given)).unwrap()["healthCheckNodePort"], given["healthCheckNodePort"]);
    let mut plain = given.clone();
    plain["type"] = json!("ClusterIP");
    let plain = written(&plain, Some(&given)).unwrap();
    for field in ["healthCheckNodePort", "externalTrafficPolicy"] {
        assert_eq!(plain[field], Value::Null, "{plain}");
    }
    assert_eq!((&plain["ports"][0]["nodePort"], &plain["clusterIP"]), (&Value::Null, &given["clusterIP"]));
    let none =
        json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80 }] });
    assert_eq!(created(&none).unwrap()["ports"][0]["nodePort"], Value::Null);
}

#[test]
fn a_dry_run_accepts_node_ports_beyond_the_range_and_names_the_range_of_addresses() {
    let port = json!({ "type": "NodePort", "ports": [{ "port": 1, "nodePort": 80 }] });
    assert!(tried(&port, None, false).is_err_and(|why| why.contains("not in the valid range")));
    assert_eq!(tried(&port, None, true).map(|spec| spec["ports"][0]["nodePort"].clone()), Ok(json!(80)));
    let address = json!({ "type": "ClusterIP", "clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4"] });
    let why = |dry_run| tried(&address, None, dry_run).err().unwrap_or_default();
    assert!(why(false).ends_with("the provided network does not match the current range"), "{}", why(false));
    assert!(why(true).ends_with("The range of valid IPs is 10.0.0.0/24"), "{}", why(true));
}
