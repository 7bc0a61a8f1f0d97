//! Tests that load the files of a payload as tasks.

use serde_json::json;
use windtunnel_core::rng::Streams;

use super::*;
use crate::cvo::{InstalledPayload, Surroundings};
use crate::payload::Payload as Files;

const HEAD: &str = "{include.release.openshift.io/self-managed-high-availability: \"true\"";

fn selection() -> Selection {
    Selection { major: 4, ..Selection::default() }
}

fn manifest(api_version: &str, kind: &str, name: &str, more: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}, annotations: {HEAD}}}}}\n{more}"
    )
}

fn files(manifests: &[(&str, &str)]) -> Vec<(String, String)> {
    let metadata = r#"{"kind": "cincinnati-metadata-v0", "version": "4.18.9"}"#;
    let images =
        r#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "4.18.9"}}"#;
    let own = [("release-metadata", metadata), ("image-references", images)];
    own.iter().chain(manifests).map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The release of these files, if they can be parsed.
fn release(files: Vec<(String, String)>) -> Option<Release> {
    let payload = Files::parse(files, "quay.io/r@sha256:1").ok()?;
    Some(Release::with_payload(&payload.version.clone(), Arc::new(payload)))
}

fn load(manifests: &[(&str, &str)]) -> Payload {
    let release = release(files(manifests)).unwrap();
    Payload::load(&release, selection())
}

/// `kind name` of each object, or `(n)` for tasks without one.
fn names(payload: &Payload) -> Vec<String> {
    let name = |task: &Task| match task.object() {
        Some(object) => format!("{} {}", text(object, "kind"), text(&object["metadata"], "name")),
        None => format!("({})", task.manifests()),
    };
    payload.tasks.iter().map(name).collect()
}

#[test]
fn adds_the_manifests_in_the_operators_own_image_if_the_folder_lacks_them() {
    let payload = load(&[("0000_10_a_1.yaml", &manifest("v1", "Namespace", "a", ""))]);
    let expected = [
        "Namespace openshift-cluster-version",
        "CustomResourceDefinition clusteroperators.config.openshift.io",
        "CustomResourceDefinition clusterversions.config.openshift.io",
        "Deployment cluster-version-operator",
        "ConfigMap admin-gates",
        "Service cluster-version-operator",
        "ServiceMonitor cluster-version-operator",
        "PrometheusRule cluster-version-operator",
        "Namespace a",
    ];
    assert_eq!(names(&payload), expected);
    assert_eq!(payload.total, 9);
    let deployment = "spec: {template: {spec: {containers: [{name: cluster-version-operator, image: '{{.ReleaseImage}}'}]}}}\n";
    let own = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cluster-version-operator, namespace: openshift-cluster-version, annotations: "
        .to_owned()
        + HEAD
        + "}}\n"
        + deployment;
    let payload = load(&[("manifests/0000_00_cluster-version-operator_03_deployment.yaml", &own)]);
    assert_eq!(names(&payload), ["Deployment cluster-version-operator"], "nothing else is added");
    let own: Vec<&Value> = payload
        .tasks
        .iter()
        .filter_map(Task::object)
        .filter(|object| object["kind"] == "Deployment")
        .collect();
    let [own] = own.as_slice() else { panic!("{:?}", names(&payload)) };
    let template = &own["spec"]["template"];
    assert_eq!(template["spec"]["containers"][0]["image"], "quay.io/r@sha256:1");
    assert_eq!(
        template["metadata"]["annotations"][windtunnel_controllers::PROGRAM],
        "true",
        "its pods run a simulated program"
    );
}

#[test]
fn objects_of_unserved_groups_are_not_written_unless_the_payload_defines_their_kind() {
    let stream = manifest("image.openshift.io/v1", "ImageStream", "cli", "");
    let class = manifest("security.openshift.io/v1", "SecurityContextConstraints", "restricted", "");
    let definition = "spec: {group: security.openshift.io, names: {kind: SecurityContextConstraints, plural: securitycontextconstraints}}\n";
    let definition = manifest(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "securitycontextconstraints.security.openshift.io",
        definition,
    );
    let files = [("0000_10_a_1.yaml", stream.as_str()), ("0000_10_a_2.yaml", &class)];
    assert_eq!(names(&load(&files))[8..], ["(1)", "(1)"]);
    let files = [files[0], files[1], ("0000_10_a_0.yaml", definition.as_str())];
    let payload = load(&files);
    assert_eq!(names(&payload)[9..], ["(1)", "SecurityContextConstraints restricted"]);
    let release = release(self::files(&files)).unwrap();
    let cluster_version = json!({ "metadata": { "uid": "u", "name": "version" } });
    let installed = InstalledPayload::of(&release, "", &cluster_version);
    let around = Surroundings { proxy: &Value::Null, infrastructure: &Value::Null };
    let installed = installed.objects(&cluster_version, around);
    let (resource, object) = installed.last().unwrap();
    assert_eq!(resource.plural, "securitycontextconstraints");
    assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u");
}

#[test]
fn an_installed_cluster_has_the_schemas_of_its_installer_but_its_payload_does_not() {
    let definition = manifest(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "proxies.config.openshift.io",
        "spec: {group: config.openshift.io, names: {kind: Proxy, plural: proxies}}\n",
    );
    let release = release(files(&[("0000_10_a_1.yaml", &definition)])).unwrap();
    let installed = InstalledPayload::of(&release, "", &Value::Null);
    let around = Surroundings { proxy: &Value::Null, infrastructure: &Value::Null };
    let cluster_version = json!({ "metadata": { "uid": "u", "name": "version" } });
    let objects = installed.objects(&cluster_version, around);
    let owner = |name: &str| {
        let named = |object: &&(_, Value)| object.1["metadata"]["name"] == name;
        let [(_, object)] = objects.iter().filter(named).collect::<Vec<_>>()[..] else { panic!("{name}") };
        object["metadata"]["ownerReferences"][0]["uid"].clone()
    };
    assert_eq!(owner("proxies.config.openshift.io"), "u", "that of the payload");
    assert_eq!(owner("infrastructures.config.openshift.io"), Value::Null);
    assert!(installed.definition("infrastructures.config.openshift.io").is_some());
    let payload = Payload::load(&release, selection());
    assert!(!names(&payload).iter().any(|name| name.contains("infrastructures")));
}

#[test]
fn an_installed_cluster_has_the_injected_variables_in_its_workloads() {
    let deployment = "spec: {template: {spec: {containers: [{name: main}]}}}\n";
    let with = |into: &str| {
        let annotations = format!("{HEAD}, config.openshift.io/inject-proxy: {into}}}");
        manifest("apps/v1", "Deployment", "a", deployment).replace(&format!("{HEAD}}}"), &annotations)
    };
    let (proxy, infrastructure) = (
        json!({ "status": { "httpProxy": "http://p" } }),
        json!({ "status": { "apiServerInternalURI": "https://a:1" } }),
    );
    for (into, expected) in [("main", "HTTP_PROXY"), ("absent", "")] {
        let release = release(files(&[("0000_10_a_1.yaml", &with(into))])).unwrap();
        let around = Surroundings { proxy: &proxy, infrastructure: &infrastructure };
        let objects = InstalledPayload::of(&release, "", &Value::Null).objects(&Value::Null, around);
        let find_deployment = |name: &str| {
            objects
                .iter()
                .find(|(_, object)| object["kind"] == "Deployment" && object["metadata"]["name"] == name)
        };
        let environment = |name: &str| {
            find_deployment(name).unwrap().1["spec"]["template"]["spec"]["containers"][0]["env"].clone()
        };
        assert_eq!(environment("a")[0]["name"].as_str().unwrap_or_default(), expected);
        assert_eq!(environment(crate::cvo::NAME)[1]["value"], "a");
    }
}

#[test]
fn recognizes_an_unknown_operator_by_its_manifests() {
    let deployment = "spec: {template: {spec: {serviceAccountName: lamp, containers: [{name: a, env: [{name: OPERATOR_IMAGE_VERSION, value: 4.18.9}]}]}}}\n";
    let binding = "subjects: [{kind: ServiceAccount, name: lamp, namespace: ''}]\n";
    let files = [
        ("0000_10_lamp_1.yaml", manifest("apps/v1", "Deployment", "lamp-operator", deployment)),
        (
            "0000_10_lamp_2.yaml",
            manifest("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "lamp", binding),
        ),
        (
            "0000_10_lamp_3.yaml",
            manifest(
                "config.openshift.io/v1",
                "ClusterOperator",
                "lamp",
                "status: {versions: [{name: operator, version: 4.18.9}], relatedObjects: [{resource: lamps}]}\n",
            ),
        ),
        ("0000_20_bare_1.yaml", manifest("config.openshift.io/v1", "ClusterOperator", "bare", "")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let release = release(self::files(&files)).unwrap();
    let installed = InstalledPayload::of(&release, "", &Value::Null);
    let [lamp, bare] = installed.operators().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(lamp.deployment, "lamp-operator");
    assert_eq!(lamp.account, crate::release::Account::Named("lamp".to_owned()));
    assert_eq!(release.versions_of(lamp), [("operator".to_owned(), "4.18.9".to_owned())]);
    assert_eq!(lamp.related_objects(), json!([{ "group": "", "resource": "lamps", "name": "" }]));
    assert_eq!(bare.related_objects(), Value::Null);
    assert_eq!(bare.deployment, "");
    assert_eq!(bare.account, crate::release::Account::Unknown);
    assert_eq!(release.versions_of(bare), []);
}

#[test]
fn loading_a_damaged_manifest_does_not_panic() {
    let good = manifest(
        "apps/v1",
        "Deployment",
        "cluster-version-operator",
        "spec: {template: {spec: {containers: [{env: []}]}}}\n",
    ) + "---\n"
        + &manifest(
            "config.openshift.io/v1",
            "ClusterOperator",
            "a",
            "status: {versions: [{name: a, version: b}], relatedObjects: []}\n",
        );
    let mut stream = Streams::new(1).stream("damage");
    let mut draw = |most: usize| usize::try_from(stream.between(0, most as u64 - 1)).unwrap();
    let mut parsed = 0;
    for _ in 0..500 {
        let mut letters: Vec<char> = good.chars().collect();
        let at = draw(letters.len());
        let until = (at + draw(12)).min(letters.len());
        let strange = ["", "1", "[]", "{}", "~", "\n", "a: 1", "'"][draw(8)];
        letters.splice(at..until, strange.chars());
        let text: String = letters.into_iter().collect();
        if let Some(release) = release(files(&[("0000_10_a_1.yaml", &text)])) {
            parsed += 1;
            assert!(Payload::load(&release, selection()).total > 0);
        }
    }
    assert!((50..450).contains(&parsed), "{parsed}: some files can be parsed and some cannot");
}

#[test]
fn the_machine_config_operator_has_the_label_by_which_its_controller_finds_it() {
    let release = Release::find(&"4.18.3".parse().unwrap()).unwrap();
    let payload = Payload::load(&release, selection());
    let find = |name: &str| {
        let mut objects = payload.tasks.iter().filter_map(Task::object);
        objects.find(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == name).unwrap()
    };
    for (name, key) in [("machine-config-operator", "k8s-app"), ("dns-operator", "name")] {
        let (labels, deployment) = (json!({ (key): name }), find(name));
        assert_eq!(deployment["spec"]["selector"]["matchLabels"], labels);
        assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], labels);
    }
}
