//! Rules of whole specifications.

use serde_json::{Value, json};

use super::{assert_container_errors, assert_errors, errors_on};

#[test]
fn affinity_terms_choose_something() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    assert_errors(vec![
        (
            json!({ "affinity": { "nodeAffinity": { required: { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "a", "operator": "Gt", "values": [] }] },
                { "matchFields": [{ "key": "spec.x", "operator": "In", "values": ["n"] }] },
            ] } } } }),
            &[
                "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]\
                 .matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or \
                 'Gt'",
                "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]\
                 .matchFields[0].key: Invalid value: \"spec.x\": not a valid field selector key",
            ],
        ),
        (
            json!({ "affinity": { "podAntiAffinity": { required: [
                { "topologyKey": "z", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"], "labelSelector": {} },
                { "topologyKey": "z", "matchLabelKeys": ["a"] },
            ] } } }),
            &[
                "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid \
                 value: \"a\": exists in both matchLabelKeys and mismatchLabelKeys",
                "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].matchLabelKeys: Forbidden: \
                 must not be specified when labelSelector is not set",
            ],
        ),
    ]);
}

#[test]
fn scheduling_fields_have_known_values() {
    assert_errors(vec![
        (
            json!({ "topologySpreadConstraints": [
                { "maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1 },
            ] }),
            &[
                "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if \
                 whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            ],
        ),
        (
            json!({ "tolerations": [{ "key": "a", "operator": "Gt", "value": "1", "effect": "X" }] }),
            &[
                "tolerations[0].operator: Unsupported value: \"Gt\": supported values: \"Equal\", \"Exists\", \"Lt\", \
                 \"Gt\"",
                "tolerations[0].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \
                 \"PreferNoSchedule\", \"NoExecute\"",
            ],
        ),
        (
            json!({ "schedulingGates": [{ "name": "a" }, { "name": "a" }], "nodeName": "n" }),
            &[
                "schedulingGates[1]: Duplicate value: \"a\"",
                "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            ],
        ),
        (
            json!({ "preemptionPolicy": "X", "activeDeadlineSeconds": 0 }),
            &[
                "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\"",
                "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            ],
        ),
    ]);
}

#[test]
fn names_in_the_network_are_valid() {
    assert_errors(vec![
        (
            json!({ "dnsPolicy": "None", "dnsConfig": {} }),
            &[
                "dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
            ],
        ),
        (
            json!({ "dnsConfig": { "nameservers": ["01.1.1.1"], "options": [{}], "searches": [".", "_a.b."] } }),
            &[
                "dnsConfig.nameservers[0]: Invalid value: \"01.1.1.1\": must not have leading 0s",
                "dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        (
            json!({ "hostAliases": [{ "ip": "::ffff:1.2.3.4", "hostnames": ["a"] }] }),
            &[
                "hostAliases[0].ip: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address",
            ],
        ),
        (
            json!({ "hostnameOverride": "a", "setHostnameAsFQDN": true }),
            &["hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true"],
        ),
    ]);
    let relaxed = json!({ "dnsConfig": { "nameservers": ["01.1.1.1"] } });
    assert_eq!(errors_on(35, &relaxed), [""; 0]);
}

#[test]
fn security_contexts_have_valid_profiles() {
    assert_errors(vec![
        (
            json!({ "securityContext": { "runAsUser": -1, "supplementalGroups": [1, -1], "seccompProfile": {
                "type": "Localhost",
            } } }),
            &[
                "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "securityContext.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is \
                 Localhost",
            ],
        ),
        (
            json!({ "hostNetwork": true, "securityContext": { "sysctls": [
                { "name": "net.a", "value": "1" }, { "name": "net/a", "value": "1" }, { "name": "a", "value": "1" },
            ] } }),
            &[
                "securityContext.sysctls[0].name: Invalid value: \"net.a\": may not be specified when 'hostNetwork' is \
                 true",
                "securityContext.sysctls[1].name: Invalid value: \"net/a\": may not be specified when 'hostNetwork' is \
                 true",
            ],
        ),
    ]);
    assert_container_errors(vec![
        (
            json!({ "securityContext": { "procMount": "Unmasked", "appArmorProfile": { "type": "X" } } }),
            &[
                "securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`",
                "securityContext.appArmorProfile.type: Unsupported value: \"X\": supported values: \"Localhost\", \
                 \"RuntimeDefault\", \"Unconfined\"",
            ],
        ),
        (
            json!({ "securityContext": { "windowsOptions": { "runAsUserName": "a\\b\\c" } } }),
            &[
                "securityContext.windowsOptions.runAsUserName: Invalid value: \"a\\\\b\\\\c\": runAsUserName cannot \
               contain more than one backslash",
            ],
        ),
    ]);
}

#[test]
fn fields_of_another_operating_system_are_rejected() {
    assert_errors(vec![
        (
            json!({ "os": { "name": "windows" }, "hostPID": true, "securityContext": { "fsGroup": 1 } }),
            &[
                "hostPID: Forbidden: cannot be set for a windows pod",
                "securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
            ],
        ),
        (
            json!({ "os": { "name": "linux" }, "containers": [{ "securityContext": { "windowsOptions": {} } }] }),
            &[
                "containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
            ],
        ),
        (json!({ "hostUsers": false, "hostIPC": true }), &["HostIPC: Forbidden: when `hostUsers` is false"]),
    ]);
}

#[test]
fn annotations_agree_with_fields() {
    let mut pod =
        super::pod_with(&json!({ "securityContext": { "seccompProfile": { "type": "Unconfined" } } }));
    pod["metadata"]["annotations"] = json!({
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "controller.kubernetes.io/pod-deletion-cost": "01",
        "container.apparmor.security.beta.kubernetes.io/x": "unconfined",
    });
    let mut found = super::errors_of(super::MINOR, &pod, None::<&Value>);
    found.sort();
    assert_eq!(
        found,
        [
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"x\": container \
             not found",
            "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"01\": must be a 32bit \
             integer",
            "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
        ]
    );
}
