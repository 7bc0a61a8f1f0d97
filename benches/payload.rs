//! Updates with real manifests: a payload of realistic size is generated, read and applied.

use std::sync::Arc;

use windtunnel::plan::{Plan, ReleasePlan};
use windtunnel::scenario;
use windtunnel_openshift::payload::{File, Payload};
use windtunnel_openshift::release::Release;

use crate::measure::Table;
use crate::run::run_plan;

/// Operators in the payload, of nine manifests each.
const OPERATORS: usize = 100;
/// Fields of each schema, whose descriptions make it as large as a typical real one.
const FIELDS: usize = 250;

const PLAN: &str = "name: update by manifests
cluster: {version: 4.18.1}
releases: {4.18.2: }
timeline:
- update: {to: 4.18.2}
- expect: {object: ClusterVersion/version, condition: {type: Available, message: Done applying 4.18.2}, within: 3h}
";

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let (from, to) = (files("4.18.1"), files("4.18.2"));
    let size = to.iter().map(|(_, text)| text.len()).sum::<usize>() / 1_000_000;
    let reading = table.time(|| to.clone(), |files| read(files, "4.18.2"))?;
    let manifests = format!("{} manifests, {size} MB", OPERATORS * 9);
    table.row("read a payload", reading, manifests, "");
    let (from, to) = (read(from, "4.18.1")?, read(to, "4.18.2")?);
    let plan = plan(&from, &to)?;
    let update = table.time(|| (), |()| run_plan(&plan))?;
    table.row("install one, update to another", update, String::new(), "under 2 s");
    Ok(())
}

fn read(files: Vec<File>, version: &str) -> Result<Release, String> {
    let version = version.parse().map_err(|_| "no version".to_owned())?;
    let payload = Payload::parse(files, "quay.io/release").map_err(|problems| problems.join("\n"))?;
    Ok(Release::with_payload(&version, Arc::new(payload)))
}

fn plan(from: &Release, to: &Release) -> Result<Plan, String> {
    let mut plan = scenario::parse("", PLAN, &Release::find).map_err(|problems| problems.to_string())?;
    plan.cluster.release = from.clone();
    plan.cluster.releases = vec![ReleasePlan::plain(to.clone())];
    Ok(plan)
}

/// The keys by which the operator verifies the update.
const KEYS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: release-verification
  namespace: openshift-config-managed
  annotations:
    include.release.openshift.io/self-managed-high-availability: \"true\"
    release.openshift.io/verification-config-map: \"\"
data:
  verifier-public-key-redhat: key
  store-official: https://storage.googleapis.com/openshift-release/official/signatures/openshift/release
";

fn files(version: &str) -> Vec<File> {
    let metadata = format!(r#"{{"kind": "cincinnati-metadata-v0", "version": "{version}"}}"#);
    let images = format!(
        r#"{{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {{"name": "{version}"}}}}"#
    );
    let mut files = vec![("release-metadata".to_owned(), metadata), ("image-references".to_owned(), images)];
    files.push(("0000_90_cluster-update-keys_configmap.yaml".to_owned(), KEYS.to_owned()));
    for index in 0..OPERATORS {
        let level = [5, 10, 20, 25, 30, 50, 50, 50, 50, 70][index % 10];
        for (name, text) in manifests(index, version) {
            files.push((format!("0000_{level:02}_sample-{index}-operator_{name}.yaml"), text));
        }
    }
    files
}

/// The manifests of a typical operator component.
fn manifests(index: usize, version: &str) -> [(&'static str, String); 9] {
    let head = |api: &str, kind: &str, name: &str, namespace: &str| {
        let namespace =
            if namespace.is_empty() { String::new() } else { format!("\n  namespace: {namespace}") };
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}{namespace}\n  annotations:\n    \
             include.release.openshift.io/self-managed-high-availability: \"true\"\n"
        )
    };
    let space = format!("openshift-sample-{index}");
    let mut schema = String::new();
    for field in 0..FIELDS {
        schema += &format!(
            "                field{field}:\n                  type: string\n                  description: >-\n                    \
             the purpose of field {field}, in one or two sentences like those in the schemas of real operators, so that the\n                    \
             file is about as long as theirs\n"
        );
    }
    let binding = format!(
        "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\nsubjects:\n- {{kind: ServiceAccount, name: operator, namespace: {space}}}\n"
    );
    let crd = format!(
        "spec:\n  group: sample.example.com\n  scope: Cluster\n  names: {{plural: samples{index}, singular: sample{index}, kind: Sample{index}, listKind: Sample{index}List}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              all:\n                type: object\n                properties:\n{}",
        schema.replace("\n                ", "\n                  ").replacen(
            "                field0",
            "                  field0",
            1
        )
    );
    let deployment = format!(
        "spec:\n  replicas: 1\n  selector: {{matchLabels: {{name: operator}}}}\n  template:\n    metadata: {{labels: {{name: operator}}}}\n    spec:\n      serviceAccountName: operator\n      containers:\n      - name: operator\n        image: quay.io/sample@sha256:{index:064}\n        env:\n        - {{name: RELEASE_VERSION, value: {version}}}\n"
    );
    let operator = format!(
        "spec: {{}}\nstatus:\n  versions:\n  - {{name: operator, version: {version}}}\n  relatedObjects:\n  - {{group: \"\", resource: namespaces, name: {space}}}\n"
    );
    let sample = format!("spec: {{all: {{field1: {version}}}}}\n");
    let name = format!("sample-{index}");
    [
        ("00_namespace", head("v1", "Namespace", &space, "")),
        (
            "01_crd",
            head(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                &format!("samples{index}.sample.example.com"),
                "",
            ) + &crd,
        ),
        ("02_sample", head("sample.example.com/v1", &format!("Sample{index}"), "cluster", "") + &sample),
        ("03_account", head("v1", "ServiceAccount", "operator", &space)),
        ("03_binding", head("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", &name, "") + &binding),
        (
            "04_service",
            head("v1", "Service", "metrics", &space)
                + "spec: {ports: [{name: https, port: 443}], selector: {name: operator}}\n",
        ),
        ("05_config", head("v1", "ConfigMap", "config", &space) + &format!("data: {{version: {version}}}\n")),
        ("07_deployment", head("apps/v1", "Deployment", "operator", &space) + &deployment),
        ("08_clusteroperator", head("config.openshift.io/v1", "ClusterOperator", &name, "") + &operator),
    ]
}
