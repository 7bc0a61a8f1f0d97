//! Pods that each check rejects, with its texts.

use serde_json::{Value, json};

use super::*;
use crate::admission::builtin::pod_security::policy::Version;

/// The details of the violations of a standard by a pod on a server.
fn found(pod: &Value, level: Level, version: i64, server: u32) -> String {
    let pod = Pod::new(pod).unwrap();
    details(&violations(pod, Standard { level, version: Version::Minor(version) }, server))
}

#[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
fn baseline_of(spec: Value) -> String {
    found(&json!({ "spec": spec }), Baseline, 36, 36)
}

/// A specification that satisfies the restricted level, with these changes.
#[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
fn restricted_with(changes: Value) -> Value {
    let context = json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    let mut spec = json!({
        "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
        "containers": [{ "name": "a", "securityContext": context }],
    });
    for (name, value) in changes.as_object().unwrap() {
        spec[name] = value.clone();
    }
    json!({ "spec": spec })
}

fn restricted_of(changes: Value) -> String {
    found(&restricted_with(changes), Restricted, 36, 36)
}

/// A specification with a container for each of these security contexts: `a`, `b` and so on.
fn contexts(contexts: &[Value]) -> Value {
    let containers: Value = ('a'..)
        .zip(contexts)
        .map(|(name, context)| json!({ "name": name, "securityContext": context }))
        .collect();
    json!({ "containers": containers })
}

#[test]
fn baseline_names_the_offending_fields() {
    let rows = [
        (json!({ "hostNetwork": true, "hostIPC": true }), "host namespaces (hostNetwork=true, hostIPC=true)"),
        (json!({ "volumes": [{ "name": "v", "hostPath": {} }] }), r#"hostPath volumes (volume "v")"#),
        (
            json!({ "containers": [{ "name": "a", "ports": [{ "hostPort": 9 }, { "hostPort": 80 }, { "hostPort": 0 }] }] }),
            r#"hostPort (container "a" uses hostPorts 80, 9)"#,
        ),
        (
            json!({ "initContainers": [{ "name": "b", "livenessProbe": { "httpGet": { "host": "h" } } }],
                "containers": [{ "name": "a", "lifecycle": { "preStop": { "tcpSocket": { "host": "g" } } } }] }),
            r#"probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "g", "h")"#,
        ),
        (
            contexts(&[json!({ "privileged": true }), json!({ "privileged": false })]),
            r#"privileged (container "a" must not set securityContext.privileged=true)"#,
        ),
        (
            contexts(&[json!({ "procMount": "Unmasked" }), json!({ "procMount": "Default" })]),
            r#"procMount (container "a" must not set securityContext.procMount to "Unmasked")"#,
        ),
        (
            contexts(&[
                json!({ "capabilities": { "add": ["NET_RAW", "CHOWN"] } }),
                json!({ "capabilities": { "add": ["BPF"] } }),
            ]),
            r#"non-default capabilities (containers "a", "b" must not include "BPF", "NET_RAW" in securityContext.capabilities.add)"#,
        ),
        (
            json!({ "securityContext": { "sysctls": [{ "name": "z" }, { "name": "net.ipv4.tcp_rmem" }, { "name": "a" }] } }),
            "forbidden sysctls (z, a)",
        ),
    ];
    for (spec, expected) in rows {
        assert_eq!(baseline_of(spec), expected);
    }
}

#[test]
fn baseline_names_the_pod_and_its_containers() {
    let mut spec = contexts(&[
        json!({ "seLinuxOptions": { "type": "x", "user": "u" }, "windowsOptions": { "hostProcess": true } }),
        json!({ "seLinuxOptions": { "type": "container_engine_t" }, "seccompProfile": { "type": "Localhost" } }),
        json!({ "seccompProfile": { "type": "Unconfined" }, "appArmorProfile": { "type": "Unconfined" } }),
    ]);
    spec["securityContext"] =
        json!({ "seLinuxOptions": { "role": "r" }, "windowsOptions": { "hostProcess": true } });
    let annotations = json!({ "container.apparmor.security.beta.kubernetes.io/a": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/b": "localhost/x", "other": "unconfined" });
    let pod = json!({ "metadata": { "annotations": annotations }, "spec": spec });
    let expected = [
        "forbidden AppArmor profiles (container \"c\" and annotation must not set AppArmor profile type to \"Unconfined\", \
         \"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")",
        "seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: type \"x\"; user may not be \
         set; role may not be set)",
        "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        "hostProcess (pod and container \"a\" must not set securityContext.windowsOptions.hostProcess=true)",
    ];
    assert_eq!(found(&pod, Baseline, 36, 36), expected.join(", "));
}

#[test]
fn restricted_requires_fields() {
    assert_eq!(restricted_of(json!({})), "");
    let bare = found(&json!({ "spec": { "containers": [{ "name": "a" }] } }), Restricted, 36, 36);
    let expected = [
        r#"allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)"#,
        r#"unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])"#,
        r#"runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)"#,
        r#"seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#,
    ];
    assert_eq!(bare, expected.join(", "));
    let bad = contexts(&[
        json!({ "allowPrivilegeEscalation": false, "runAsUser": 0, "runAsNonRoot": false,
            "capabilities": { "drop": ["ALL"], "add": ["NET_BIND_SERVICE", "CHOWN"] } }),
        json!({ "allowPrivilegeEscalation": false, "procMount": "Unmasked" }),
    ]);
    let expected = [
        r#"unrestricted capabilities (container "b" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "CHOWN" in securityContext.capabilities.add)"#,
        r#"procMount (container "b" must not set securityContext.procMount to "Unmasked")"#,
        r#"runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)"#,
        r#"runAsUser=0 (container "a" must not set runAsUser=0)"#,
    ];
    assert_eq!(restricted_of(bad), expected.join(", "));
}

#[test]
fn restricted_limits_volumes() {
    let volumes = json!([
        { "name": "a", "emptyDir": {} }, { "name": "b", "nfs": {} }, { "name": "c", "hostPath": {} },
        { "name": "d", "image": {} }, { "name": "e", "new": {} }, { "name": "f", "nfs": {} },
    ]);
    let pod = restricted_with(json!({ "volumes": volumes }));
    let expected = r#"restricted volume types (volumes "b", "c", "e", "f" use restricted volume types "hostPath", "nfs", "unknown")"#;
    assert_eq!(found(&pod, Restricted, 36, 36), expected);
    let expected = r#"restricted volume types (volumes "b", "c", "d", "e", "f" use restricted volume types "hostPath", "nfs", "unknown")"#;
    assert_eq!(found(&pod, Restricted, 36, 32), expected);
    assert!(found(&pod, Restricted, 36, 23).starts_with(r#"hostPath volumes (volume "c"), restricted"#));
}

#[test]
fn pods_for_windows_and_with_own_users_are_exempt() {
    let windows = json!({ "os": { "name": "windows" }, "containers": [{ "name": "a" }],
        "securityContext": { "runAsNonRoot": true } });
    assert_eq!(restricted_of(windows.clone()), "");
    let older = found(&restricted_with(windows), Restricted, 24, 36);
    assert_eq!(older.matches("container \"a\"").count(), 3, "{older}");

    let mut own =
        contexts(&[json!({ "procMount": "Unmasked", "runAsUser": 0, "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] } })]);
    own["hostUsers"] = json!(false);
    own["securityContext"] = json!({ "seccompProfile": { "type": "Localhost" } });
    let own = json!({ "spec": own });
    let procs = r#"procMount (container "a" must not set securityContext.procMount to "Unmasked")"#;
    assert_eq!(found(&own, Baseline, 35, 36), "");
    assert_eq!(found(&own, Baseline, 34, 36), procs);
    assert_eq!(found(&own, Restricted, 35, 36), procs);
    assert_eq!(found(&own, Restricted, 34, 36).matches('(').count(), 3);
}

#[test]
fn checks_depend_on_the_version() {
    let bare = json!({ "metadata": { "annotations": { "seccomp.security.alpha.kubernetes.io/pod": "unconfined" } },
        "spec": { "containers": [{ "name": "a", "securityContext": { "runAsUser": 0 } }] } });
    let count = |version| found(&bare, Restricted, version, 36).matches('(').count();
    assert_eq!([count(0), count(8), count(18), count(19), count(22), count(23)], [2, 3, 3, 3, 4, 5]);
    let annotation =
        r#"seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")"#;
    assert_eq!(found(&bare, Baseline, 18, 36), annotation);
    assert_eq!(found(&bare, Baseline, 19, 36), "");
    let sysctls = |name: &str, version| {
        let pod = json!({ "spec": { "securityContext": { "sysctls": [{ "name": name }] } } });
        found(&pod, Baseline, version, 36)
    };
    let [keepalive, reserved] = ["net.ipv4.tcp_keepalive_time", "net.ipv4.ip_local_reserved_ports"];
    assert_eq!([sysctls(reserved, 27), sysctls(keepalive, 29)], ["", ""]);
    assert_eq!(sysctls(reserved, 26), format!("forbidden sysctls ({reserved})"));
    assert_eq!(sysctls(keepalive, 28), format!("forbidden sysctls ({keepalive})"));
}

#[test]
fn messages_depend_on_the_server() {
    let context = json!({ "seLinuxOptions": { "user": "u" } });
    let pod = json!({ "metadata": { "annotations": { "container.apparmor.security.beta.kubernetes.io/a": "x" } },
        "spec": contexts(&[context]) });
    let expected = "forbidden AppArmor profile (container.apparmor.security.beta.kubernetes.io/a=\"x\"), seLinuxOptions \
                    (container \"a\" set forbidden securityContext.seLinuxOptions: )";
    assert_eq!(found(&pod, Baseline, 25, 25), expected);
    assert!(found(&pod, Baseline, 26, 26).ends_with("seLinuxOptions: user may not be set)"));
}
