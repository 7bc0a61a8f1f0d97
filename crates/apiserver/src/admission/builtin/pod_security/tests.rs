//! Labels of namespaces, and the levels that they enforce.

use serde_json::json;
use windtunnel_core::Resource;

use super::*;
use crate::admission::builtin::testing::Cluster;

const DEPLOYMENTS: Resource = Resource::namespaced("apps", "v1", "Deployment", "deployments");

fn namespace(labels: &[(&str, &str)]) -> Value {
    let labels: Value = labels
        .iter()
        .map(|(name, value)| (format!("pod-security.kubernetes.io/{name}"), json!(value)))
        .collect();
    json!({ "metadata": { "name": "n", "labels": labels } })
}

fn cluster(labels: &[(&str, &str)]) -> Cluster {
    Cluster::new(36).with([(NAMESPACES, namespace(labels))])
}

fn pod(image: &str) -> Value {
    json!({ "metadata": { "name": "p", "namespace": "n" },
        "spec": { "hostNetwork": true, "containers": [{ "name": "a", "image": image }] } })
}

fn check(cluster: &mut Cluster, object: &Value, old: Option<&Value>) -> Result<(), AdmissionRejection> {
    cluster.validate(&PodSecurity::default(), &PODS, "", object, old)
}

const VIOLATION: &str = "violate PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)";

#[test]
fn pods_that_violate_the_enforced_level_are_rejected() {
    let rejection = AdmissionRejection::Forbidden(VIOLATION.replacen("violate", "violates", 1));
    let mut baseline = cluster(&[("enforce", "baseline")]);
    assert_eq!(check(&mut baseline, &pod("x"), None), Err(rejection.clone()));
    assert_eq!(check(&mut baseline, &pod("x"), Some(&pod("x"))), Ok(()), "nothing changes");
    assert_eq!(check(&mut baseline, &pod("y"), Some(&pod("x"))), Err(rejection.clone()));
    let mut debugged = pod("x");
    debugged["spec"]["ephemeralContainers"] = json!([{ "name": "d", "image": "x" }]);
    let old = pod("x");
    let part =
        baseline.validate(&PodSecurity::default(), &PODS, "ephemeralcontainers", &debugged, Some(&old));
    assert_eq!(part, Err(rejection));
    assert_eq!(baseline.validate(&PodSecurity::default(), &PODS, "status", &pod("y"), Some(&old)), Ok(()));
    assert!(baseline.warnings.is_empty());
    assert_eq!(check(&mut cluster(&[]), &pod("x"), None), Ok(()));
}

#[test]
fn pods_and_templates_that_violate_the_other_level_cause_warnings() {
    let warning = [format!("would {VIOLATION}")];
    let mut warns = cluster(&[("warn", "baseline")]);
    assert_eq!(check(&mut warns, &pod("x"), None), Ok(()));
    assert_eq!(warns.warnings, warning);
    let deployment =
        json!({ "metadata": { "name": "d", "namespace": "n" }, "spec": { "template": pod("x") } });
    for labels in [("enforce", "baseline"), ("warn", "baseline")] {
        let mut cluster = cluster(&[labels]);
        assert_eq!(cluster.validate(&PodSecurity::default(), &DEPLOYMENTS, "", &deployment, None), Ok(()));
        assert_eq!(cluster.warnings, warning);
        assert_eq!(
            cluster.validate(&PodSecurity::default(), &DEPLOYMENTS, "scale", &deployment, None),
            Ok(())
        );
        assert_eq!(cluster.warnings.len(), 1);
    }
    let mut earlier = cluster(&[("enforce", "baseline")]).at(25);
    assert_eq!(earlier.validate(&PodSecurity::default(), &DEPLOYMENTS, "", &deployment, None), Ok(()));
    assert!(earlier.warnings.is_empty());
}

#[test]
fn namespaces_need_valid_labels() {
    let invalid = namespace(&[("enforce", "x"), ("warn-version", "1.2")]);
    let valid = namespace(&[]);
    let check = |object: &Value, old: Option<&Value>| {
        Cluster::new(36).validate(&PodSecurity::default(), &NAMESPACES, "", object, old)
    };
    let Err(AdmissionRejection::Invalid(fields)) = check(&invalid, None) else {
        panic!("expected field errors")
    };
    assert_eq!(fields[0].field, "metadata.labels[pod-security.kubernetes.io/enforce]");
    assert_eq!((fields.len(), &fields[1].value), (2, &json!("1.2")));
    assert!(check(&invalid, Some(&valid)).is_err());
    assert_eq!(check(&invalid, Some(&invalid)), Ok(()), "the same errors as before");
    assert_eq!(check(&valid, None), Ok(()));
}

#[test]
fn a_stricter_level_warns_about_existing_pods() {
    let warnings = |old: &[(&str, &str)], new: &[(&str, &str)]| {
        let mut cluster = cluster(old).with([(PODS, pod("x"))]);
        cluster
            .validate(&PodSecurity::default(), &NAMESPACES, "", &namespace(new), Some(&namespace(old)))
            .unwrap();
        cluster.warnings
    };
    let baseline = [("enforce", "baseline")];
    let expected = [
        r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#,
        "p: host namespaces",
    ];
    assert_eq!(warnings(&[], &baseline), expected);
    assert!(warnings(&baseline, &baseline).is_empty());
    assert!(warnings(&[("enforce", "restricted")], &baseline).is_empty());
    assert!(warnings(&baseline, &[("enforce", "privileged")]).is_empty());
    let versions = warnings(&baseline, &[("enforce", "baseline"), ("enforce-version", "v1.30")]);
    assert_eq!(versions.len(), 2);
}

/// The plug-in with a namespace, a user and a runtime class that are exempt, and a default policy.
fn configured(defaults: &Value) -> PodSecurity {
    let configuration = json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
        "defaults": defaults,
        "exemptions": { "usernames": ["u"], "namespaces": ["n"], "runtimeClasses": ["r"] },
    });
    PodSecurity(Settings::read(&configuration).unwrap())
}

#[test]
fn namespaces_without_labels_have_the_default_policy() {
    let plugin = configured(&json!({ "enforce": "baseline" }));
    let mut pod = pod("x");
    pod["metadata"]["namespace"] = json!("m");
    let other = json!({ "metadata": { "name": "m" } });
    let mut cluster = Cluster::new(36).with([(NAMESPACES, other)]);
    let rejection = AdmissionRejection::Forbidden(VIOLATION.replacen("violate", "violates", 1));
    assert_eq!(cluster.validate(&plugin, &PODS, "", &pod, None), Err(rejection));
    pod["spec"]["runtimeClassName"] = json!("r");
    assert_eq!(cluster.validate(&plugin, &PODS, "", &pod, None), Ok(()), "its runtime class is exempt");
    pod["spec"]["runtimeClassName"] = json!("s");
    cluster.user.user = "u".to_owned();
    assert_eq!(cluster.validate(&plugin, &PODS, "", &pod, None), Ok(()), "its user is exempt");
}

#[test]
fn labels_of_an_exempt_namespace_have_no_effect_and_cause_a_warning() {
    let plugin = configured(&json!({}));
    let mut exempt = cluster(&[("enforce", "baseline")]);
    assert_eq!(exempt.validate(&plugin, &PODS, "", &pod("x"), None), Ok(()));
    assert!(exempt.warnings.is_empty());
    let labelled = namespace(&[("enforce", "baseline"), ("audit-version", "v1.30")]);
    assert_eq!(exempt.validate(&plugin, &NAMESPACES, "", &labelled, None), Ok(()));
    assert!(exempt.warnings.is_empty(), "a new namespace");
    let plain = namespace(&[]);
    assert_eq!(exempt.validate(&plugin, &NAMESPACES, "", &labelled, Some(&plain)), Ok(()));
    assert_eq!(exempt.validate(&plugin, &NAMESPACES, "", &plain, Some(&labelled)), Ok(()));
    let warning = r#"namespace "n" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored"#;
    assert_eq!(exempt.warnings, [warning]);
}
