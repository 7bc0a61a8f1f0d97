//! Payloads from folders: `--payload VERSION=DIR`, and `payload` in scenarios.

use std::fmt::Write as _;

use super::environment::TestEnvironment;

const ANNOTATED: &str =
    "  annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}\n";

/// The manifest with the keys by which the operator of a payload verifies updates.
const KEYS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: release-verification
  namespace: openshift-config-managed
  annotations: {include.release.openshift.io/self-managed-high-availability: \"true\", release.openshift.io/verification-config-map: \"\"}
data:
  verifier-public-key-redhat: a key
  store-official: https://storage.googleapis.com/openshift-release/official/signatures/openshift/release
";
const KEYS_FILE: &str = "0000_90_cluster-update-keys_configmap.yaml";

/// Writes a payload of `operators` components with nine manifests each, its keys, and its two index files.
pub(crate) fn write_payload(environment: &TestEnvironment, folder: &str, version: &str, operators: usize) {
    let metadata = format!(r#"{{"kind": "cincinnati-metadata-v0", "version": "{version}"}}"#);
    let images = format!(
        r#"{{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {{"name": "{version}"}}}}"#
    );
    environment.write(&format!("{folder}/release-metadata"), metadata);
    environment.write(&format!("{folder}/image-references"), images);
    environment.write(&format!("{folder}/{KEYS_FILE}"), KEYS);
    for index in 0..operators {
        let level = [5, 10, 20, 25, 30, 50, 50, 50, 50, 70][index % 10];
        for (name, text) in component(index, version) {
            environment.write(&format!("{folder}/0000_{level:02}_sample-{index}-operator_{name}.yaml"), text);
        }
    }
}

/// The manifests of a typical operator component.
fn component(index: usize, version: &str) -> Vec<(&'static str, String)> {
    let space = format!("openshift-sample-{index}");
    let object = |api: &str, kind: &str, name: &str, namespaced: bool, rest: &str| {
        let namespace = if namespaced { format!("  namespace: {space}\n") } else { String::new() };
        format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n{namespace}{ANNOTATED}{rest}")
    };
    let mut fields = String::new();
    for field in 0..60 {
        let description = "A description of the field that is as long as those of real operators";
        writeln!(fields, "              field{field}: {{type: string, description: {description}}}").unwrap();
    }
    let crd = format!(
        "spec:\n  group: e.com\n  scope: Cluster\n  names: {{plural: samples{index}, singular: sample{index}, kind: Sample{index}, \
         listKind: Sample{index}List}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      \
         openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            \
         properties:\n{fields}"
    );
    let binding = format!(
        "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\nsubjects:\n\
         - {{kind: ServiceAccount, name: operator, namespace: {space}}}\n"
    );
    let deployment = format!(
        "spec:\n  selector: {{matchLabels: {{name: operator}}}}\n  template:\n    metadata: {{labels: {{name: operator}}}}\n    \
         spec:\n      serviceAccountName: operator\n      containers:\n      - name: operator\n        image: quay.io/e@sha256:1\n        \
         env:\n        - {{name: RELEASE_VERSION, value: {version}}}\n"
    );
    let name = format!("sample-{index}");
    vec![
        ("00_namespace", object("v1", "Namespace", &space, false, "")),
        (
            "01_crd",
            object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                &format!("samples{index}.e.com"),
                false,
                &crd,
            ),
        ),
        (
            "02_sample",
            object(
                "e.com/v1",
                &format!("Sample{index}"),
                "cluster",
                false,
                &format!("spec: {{field1: v{version}}}\n"),
            ),
        ),
        ("03_account", object("v1", "ServiceAccount", "operator", true, "")),
        ("04_binding", object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", &name, false, &binding)),
        ("05_service", object("v1", "Service", "metrics", true, "spec: {ports: [{port: 443}]}\n")),
        ("06_config", object("v1", "ConfigMap", "config", true, &format!("data: {{version: {version}}}\n"))),
        ("07_deployment", object("apps/v1", "Deployment", "operator", true, &deployment)),
        (
            "08_operator",
            object(
                "config.openshift.io/v1",
                "ClusterOperator",
                &name,
                false,
                &format!("spec: {{}}\nstatus:\n  versions:\n  - {{name: operator, version: {version}}}\n"),
            ),
        ),
    ]
}

/// An update whose end is checked in the last component.
fn update(last: usize) -> String {
    format!(
        "name: by manifests
cluster: {{version: 4.18.1}}
releases: {{4.18.2: }}
timeline:
- update: {{to: 4.18.2}}
- expect: {{object: ClusterVersion/version, condition: {{type: Available, message: Done applying 4.18.2}}, within: 3h}}
- expect: {{object: ConfigMap/openshift-sample-{last}/config, fields: {{data.version: 4.18.2}}}}
- expect:
    object: ClusterOperator/sample-{last}
    fields: {{\"status.versions[0].version\": 4.18.2, \"status.relatedObjects\": \"\"}}
"
    )
}

#[test]
fn a_cluster_is_installed_and_updated_by_nine_hundred_manifests() {
    let environment = TestEnvironment::with(&[("s.yaml", &update(99))]);
    write_payload(&environment, "old", "4.18.1", 1);
    write_payload(&environment, "new", "4.18.2", 100);
    let arguments = ["run", "s.yaml", "--payload", "4.18.1=old", "--payload", "4.18.2=new", "--quiet"];
    let output = environment.run(&arguments);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("PASS  by manifests"), "{output}");
}

#[test]
fn the_two_folders_of_a_release_image_are_a_payload_as_well() {
    let text = update(0).replace("releases: {4.18.2: }", "releases: {4.18.2: {payload: image}}");
    let environment = TestEnvironment::with(&[("below/s.yaml", &text)]);
    write_payload(&environment, "below/image/release-manifests", "4.18.2", 1);
    let template = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: template\n  namespace: openshift-config\n{ANNOTATED}data: {{image: '{{{{.ReleaseImage}}}}'}}\n"
    );
    environment.write("below/image/manifests/0000_00_cluster-version-operator_05_map.yaml", template);
    let more = "- expect:\n    object: ConfigMap/openshift-config/template\n    fields: {data.image: {contains: '@sha256:'}}\n";
    environment.write("below/s.yaml", format!("{text}{more}"));
    let output = environment.run(&["run", "below", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn mistakes_in_a_payload_are_reported_before_the_run() {
    let environment = TestEnvironment::with(&[("s.yaml", &update(0))]);
    write_payload(&environment, "p", "4.18.2", 1);
    environment.write("p/0000_05_b_1.yaml", "apiVersion: v1\nkind: [a\n");
    environment.write("p/0000_05_b_2.yaml", "apiVersion: v1\nkind: Secret\n");
    insta::assert_snapshot!(environment.run(&["run", "s.yaml", "--payload", "4.18.2=p"]), @"
    exit 2
    --- stderr
    error: p/0000_05_b_1.yaml:2:7: unclosed bracket '['
    error: p/0000_05_b_2.yaml:1:1: expected `metadata.name` in this Secret, found none
    ");
    insta::assert_snapshot!(environment.run(&["run", "s.yaml", "--payload", "4.18.2=none"]), @"
    exit 2
    --- stderr
    error: none: No such file or directory (os error 2)
    ");
    write_payload(&environment, "other", "4.18.2", 1);
    insta::assert_snapshot!(environment.run(&["run", "s.yaml", "--payload", "4.18.3=other"]), @"
    exit 2
    --- stderr
    error: other: expected the payload of 4.18.3, found 4.18.2 in its release-metadata
    ");
    insta::assert_snapshot!(environment.run(&["run", "s.yaml", "--payload", "p"]), @"
    exit 2
    --- stderr
    error: invalid value 'p' for '--payload <VERSION=DIR>': expected VERSION=DIR, such as 4.18.9=payload

    For more information, try '--help'.
    ");
    environment.write("t.yaml", update(0).replace("{4.18.2: }", "\n  4.18.2: {payload: corupt}"));
    insta::assert_snapshot!(environment.run(&["run", "t.yaml"]), @"
    exit 2
    --- stderr
    error: t.yaml:4:21: corupt: No such file or directory (os error 2); did you mean `corrupt`?
    ");
}

/// A scenario that updates from a folder to a folder.
fn update_to(from: &str, to: &str, how: &str, then: &str) -> String {
    format!(
        "name: from folder to folder
cluster: {{version: {from}, payload: old}}
releases: {{{to}: {{payload: new}}}}
timeline:
- update: {{to: {to}{how}}}
{then}"
    )
}

fn completes(version: &str) -> String {
    format!(
        "- expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: \"False\", message: Cluster version is {version}}}, within: 3h}}\n"
    )
}

#[test]
fn the_keys_in_the_running_payload_verify_the_next_release() {
    let rejected = |why: &str| {
        format!(
            "- expect:\n    object: ClusterVersion/version\n    condition: {{type: ReleaseAccepted, status: \"False\", reason: RetrievePayload, message: {{contains: \"The update cannot be verified: {why}\"}}}}\n    within: 5m\n"
        )
    };
    let completes = completes("4.18.2");
    let other_key = KEYS.replace("public-key-redhat", "public-key-site");
    let unsigned = rejected("unable to verify");
    let impossible = rejected("verification is not possible");
    let explicit = "cluster: {keyrings: [verifier-public-key-redhat], ";
    for (keys, cluster, how, then) in [
        (KEYS, "cluster: {", "", &completes),
        (other_key.as_str(), "cluster: {", "", &unsigned),
        ("", "cluster: {", "", &impossible),
        ("", "cluster: {", ", force: true", &completes),
        ("", explicit, "", &completes),
    ] {
        let text = update_to("4.18.1", "4.18.2", how, then).replace("cluster: {", cluster);
        let environment = TestEnvironment::with(&[("s.yaml", &text)]);
        write_payload(&environment, "old", "4.18.1", 1);
        write_payload(&environment, "new", "4.18.2", 1);
        // Only the keys of the running payload count.
        environment.write(&format!("old/{KEYS_FILE}"), if keys.is_empty() { "# none\n" } else { keys });
        let output = environment.run(&["run", "s.yaml", "--quiet"]);
        assert_eq!(output.code, Some(0), "{keys} {how}: {output}");
    }
}

#[test]
fn keys_without_a_store_are_a_mistake() {
    let environment = TestEnvironment::with(&[("s.yaml", &update(0))]);
    write_payload(&environment, "p", "4.18.2", 1);
    environment.write(&format!("p/{KEYS_FILE}"), KEYS.replace("https://", "ftp://"));
    environment.write("p/0000_90_more_1.yaml", KEYS.replace("store-", "other-"));
    insta::assert_snapshot!(environment.run(&["run", "s.yaml", "--payload", "4.18.2=p"]), @r#"
    exit 2
    --- stderr
    error: p/0000_90_cluster-update-keys_configmap.yaml: expected a URL with http, https or file as `store-official` of ConfigMap release-verification, found `"ftp://storage.googleapis.com/openshift-release/official/signatures/openshift/release"`
    error: p/0000_90_more_1.yaml: expected a URL `store-...` in `data` of ConfigMap release-verification, found none
    "#);
}

#[test]
fn a_payload_of_a_minor_without_facts_has_those_of_the_nearest() {
    let text = update_to("5.0.3", "5.1.0", "", &completes("5.1.0"));
    let environment =
        TestEnvironment::with(&[("s.yaml", &text), ("t.yaml", &text.replace("name: ", "name: again "))]);
    write_payload(&environment, "old", "5.0.3", 1);
    write_payload(&environment, "new", "5.1.0", 1);
    let output = environment.run(&["run", "s.yaml", "t.yaml", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
    let note = "note: windtunnel has no facts for 5.1: payloads of 5.1 are completed with those of 5.0\n";
    assert_eq!(output.stderr, note, "once, although two scenarios need it");
    let common = text.replace("releases: {5.1.0: {payload: new}}\n", "").replace(", payload: old", "");
    environment.write("s.yaml", common);
    let given = ["run", "s.yaml", "--quiet", "--payload", "5.1.0=new"];
    let given = environment.run(&given);
    assert_eq!((given.code, given.stderr.as_str()), (Some(0), note), "{given}");
}

#[test]
fn an_update_applies_the_definitions_in_its_folder_and_no_others() {
    let then = completes("4.18.2")
        + "- expect: {object: CustomResourceDefinition/samples0.e.com, fields: {\"metadata.ownerReferences[0].name\": version}}
# Its installer created it, and no payload owns it.
- expect: {object: CustomResourceDefinition/proxies.config.openshift.io, fields: {metadata.ownerReferences: \"\"}}
";
    let environment = TestEnvironment::with(&[("s.yaml", &update_to("4.18.1", "4.18.2", "", &then))]);
    write_payload(&environment, "old", "4.18.1", 1);
    write_payload(&environment, "new", "4.18.2", 1);
    let output = environment.run(&["run", "s.yaml", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn manifests_that_real_operators_have_are_accepted() {
    // Of two equal keys the last counts; group, resource and name of a related object may be missing; and the
    // namespace of an operand exists before its operator runs.
    let operator = "apiVersion: config.openshift.io/v1
kind: ClusterOperator
metadata:
  name: kube-apiserver
  annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}
status:
  versions:
  - {name: operator, version: VERSION}
  relatedObjects:
  - {resource: namespaces, name: unused}
  - {resource: namespaces}
";
    let role = "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: prometheus
  namespace: nowhere
  namespace: openshift-kube-apiserver
  annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}
rules: []
";
    let then = completes("4.18.2")
        + "- expect: {object: Role/openshift-kube-apiserver/prometheus}
- expect: {object: ClusterOperator/kube-apiserver, fields: {\"status.relatedObjects[1].name\": \"\", \"status.relatedObjects[0].name\": unused}}
";
    let environment = TestEnvironment::with(&[("s.yaml", &update_to("4.18.1", "4.18.2", "", &then))]);
    for (folder, version) in [("old", "4.18.1"), ("new", "4.18.2")] {
        write_payload(&environment, folder, version, 1);
        environment.write(
            &format!("{folder}/0000_20_kube-apiserver-operator_07_clusteroperator.yaml"),
            operator.replace("VERSION", version),
        );
        environment.write(&format!("{folder}/0000_90_kube-apiserver-operator_01_role.yaml"), role);
    }
    let output = environment.run(&["run", "s.yaml", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
}
