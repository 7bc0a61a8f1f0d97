//! Tests of small dumps.

mod conversions;
mod inventories;
mod shapes;

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, NAMESPACES, NODES};

use super::*;

const WANTED: &[&Resource] = &[&CLUSTER_OPERATORS, &CLUSTER_VERSIONS, &DEPLOYMENTS, &NODES];

fn read(files: &[(&str, &str)]) -> Result<Dump, Vec<String>> {
    let source = |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
    Dump::parse(files.iter().map(source), WANTED)
}

fn check(files: &[(&str, &str)], resource: &Resource, expected: &[&str]) {
    let dump = read(files).unwrap();
    let names: Vec<&str> = dump.list(resource).map(Object::name).collect();
    assert_eq!(names, expected, "{files:?}");
}

const OPERATOR: &str = "apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: dns}\n";

#[test]
fn finds_objects_by_kind_in_files_of_any_format() {
    check(&[("whatever.yaml", OPERATOR)], &CLUSTER_OPERATORS, &["dns"]);
    check(
        &[("a", &format!("{OPERATOR}---\n---\n{}", OPERATOR.replace("dns", "etcd")))],
        &CLUSTER_OPERATORS,
        &["dns", "etcd"],
    );
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}"#;
    check(&[("x.json", json)], &NODES, &["b", "a"]);
    let typed =
        "apiVersion: config.openshift.io/v1\nkind: ClusterOperatorList\nitems: [{metadata: {name: dns}}]";
    check(&[("x.yaml", typed)], &CLUSTER_OPERATORS, &["dns"]);
    let other_group = "apiVersion: example.io/v1\nkind: ClusterOperator\nmetadata: {name: dns}\n";
    check(
        &[("x.yaml", other_group), ("empty.yaml", ""), ("other.json", "{\"a\": 1}")],
        &CLUSTER_OPERATORS,
        &[],
    );
}

#[test]
fn keeps_the_newer_state_and_rejects_two_clusters() {
    let state = |kind: &str, version: u32, uid: &str, label: &str| {
        format!(
            "apiVersion: {kind}\nmetadata: {{name: n, uid: {uid}, resourceVersion: '{version}', labels: {{l: {label}}}}}"
        )
    };
    let labels = |kind: &str, one: (u32, &str, &str), other: (u32, &str, &str)| {
        let texts = [one, other].map(|(version, uid, label)| state(kind, version, uid, label));
        let dump = read(&[("a", &texts[0]), ("b", &texts[1])])?;
        Ok::<String, Vec<String>>(dump.list(&NODES).filter_map(|node| node.label("l")).collect())
    };
    let node = "v1\nkind: Node";
    assert_eq!(labels(node, (9, "u", "old"), (10, "u", "new")).unwrap(), "new");
    assert_eq!(labels(node, (10, "u", "new"), (9, "u", "old")).unwrap(), "new");
    assert_eq!(labels(node, (9, "u", "old"), (10, "v", "recreated")).unwrap(), "recreated");
    assert_eq!(
        labels("config.openshift.io/v1\nkind: ClusterVersion", (9, "u", "a"), (9, "v", "b")).unwrap_err(),
        [
            "b: clusterversions.config.openshift.io/n belongs to another cluster than that in a; expected the files of one cluster"
        ]
    );
    assert_eq!(read(&[("a", OPERATOR), ("b", OPERATOR)]).unwrap().list(&CLUSTER_OPERATORS).count(), 1);
    // Without versions, the more complete state counts.
    let other = OPERATOR.replace("{name: dns}", "{name: dns, labels: {a: b}}");
    for files in [[("a", OPERATOR), ("b", &other)], [("a", &other), ("b", OPERATOR)]] {
        let dump = read(&files).unwrap();
        assert_eq!(dump.list(&CLUSTER_OPERATORS).next().unwrap().label("a"), Some("b"));
        assert_eq!(dump.inventory.seconds(), (0, 1));
    }
}

#[test]
fn reports_invalid_files_with_their_position() {
    let errors = read(&[("a.yaml", "kind: [\n"), ("b.json", "{\n \"a\": }")]).unwrap_err();
    assert!(errors[0].starts_with("a.yaml:"), "{errors:?}");
    assert_eq!(errors[1], "b.json:2:7: expected JSON: expected value");
}

#[test]
fn finds_objects_in_flow_style() {
    let operator = OPERATOR.trim_end().replace('\n', ", ");
    check(&[("x.yaml", &format!("{{{operator}}}\n"))], &CLUSTER_OPERATORS, &["dns"]);
    let etcd = operator.replace("dns", "etcd");
    check(&[("x.yaml", &format!("{{{operator}}}\n---\n{{{etcd}}}\n"))], &CLUSTER_OPERATORS, &["dns", "etcd"]);
    let quoted =
        r#"{"apiVersion": config.openshift.io/v1, "kind": ClusterOperator, "metadata": {"name": dns}}"#;
    check(&[("x.yaml", quoted)], &CLUSTER_OPERATORS, &["dns"]);
}

#[test]
fn reports_the_error_of_the_likely_form() {
    let error = |path: &str, text: &str| read(&[(path, text)]).unwrap_err().remove(0);
    for (path, text) in
        [("a.yaml", "{\"kind\": \"Node\""), ("a.json", "{\"kind\": }"), ("a.json", "{kind: [")]
    {
        assert!(error(path, text).starts_with(&format!("{path}:1:")), "{text}");
        assert!(error(path, text).contains(": expected JSON: "), "{text}: {}", error(path, text));
    }
    let flow = error("a.yaml", "{kind: Node, metadata: [\n");
    assert!(flow.starts_with("a.yaml:") && !flow.contains("JSON"), "{flow}");
}

#[test]
fn takes_alerts_from_prometheus_alerts_or_rules() {
    let alerts = |path: &str, text: &str| read(&[(path, text)]).unwrap().alerts.unwrap();
    let rules = r#"{"data": {"groups": [{"rules": [{"record": "r"}, {"alerts": [{"state": "firing"}]}]}]}}"#;
    assert_eq!(alerts("r.json", rules), r#"{"data":{"alerts":[{"state":"firing"}]},"status":"success"}"#);
    assert_eq!(alerts("a.json", r#"{"data":{"alerts":[]}}"#), r#"{"data":{"alerts":[]}}"#);
    assert_eq!(alerts("x-alerts.json", "{"), "{");
    let both = [("m/alerts.json", r#"{"data":{"alerts":[]}}"#), ("m/rules.json", rules)];
    assert_eq!(read(&both).unwrap().alerts.unwrap(), r#"{"data":{"alerts":[]}}"#);
    let map =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"alerts": "x"}}"#;
    assert_eq!(read(&[("a.json", map)]).unwrap().alerts, None);
}

#[test]
fn files_with_attributes_of_macos_are_recognized_by_their_names() {
    assert!(is_apple_double("._version.yaml") && is_apple_double("dump/namespaces/._a.json.gz"));
    assert!(!is_apple_double("dump/._folder/a.yaml") && !is_apple_double(".hidden.yaml"));
}

#[test]
fn only_wanted_files_of_a_must_gather_are_read() {
    let check = |path: &str, wanted: &[&Resource], expected: Look| {
        assert_eq!(look(path, b"a: 1\n", Wanted::Kinds(wanted)), expected, "{path}");
    };
    for path in [
        "g/image/cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
        "g/image/cluster-scoped-resources/config.openshift.io/clusteroperators/dns.yaml",
        "g/image/cluster-scoped-resources/core/nodes/a.yaml",
        "g/image/monitoring/prometheus/rules.json",
        "g/image/namespaces/openshift-machine-config-operator/apps/deployments.yaml",
        "a/nodes.yaml",
        "b.json.gz",
    ] {
        check(path, WANTED, Look::Read);
    }
    for path in [
        "g/image/cluster-scoped-resources/config.openshift.io/infrastructures.yaml",
        "g/image/cluster-scoped-resources/example.io/nodes/a.yaml",
        "g/image/namespaces/a/a.yaml",
        "g/image/namespaces/a/pods/p/p.yaml",
    ] {
        check(path, WANTED, Look::Unwanted);
    }
    check("g/image/namespaces/a/a.yaml", &[&NAMESPACES], Look::Read);
    check("g/timestamp", WANTED, Look::NoObject("no YAML or JSON"));
    assert_eq!(look("output", b"apiVersion: v1\n", Wanted::Kinds(WANTED)), Look::Read);
    assert_eq!(look("a/audit.log", b"{\"kind\": \"Event\"}", Wanted::All), Look::NoObject("a log"));
}

/// Reads files within limits; the error is a limit that they exceed.
fn within(limits: Limits, files: &[(&str, &str)]) -> Result<Dump, String> {
    let mut gathering = Gathering::new(Wanted::Kinds(WANTED), limits);
    for (path, text) in files {
        let parsed = gathering.parse(Source { path: (*path).to_owned(), text: (*text).to_owned() }, path)?;
        gathering.add(parsed);
    }
    Ok(gathering.into_valid().unwrap())
}

#[test]
fn files_together_stay_within_the_limits() {
    let limits = |values, documents, bytes| Limits { values, documents, bytes };
    let operator = |number: usize| (format!("{number}.yaml"), OPERATOR.replace("dns", &format!("o{number}")));
    let owned: Vec<(String, String)> = (0..4).map(operator).collect();
    let four: Vec<(&str, &str)> = owned.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let all = within(limits(36, 4, 8000), &four).unwrap();
    assert_eq!(all.list(&CLUSTER_OPERATORS).count(), 4);
    let error = |limits| within(limits, &four).unwrap_err();
    assert_eq!(error(limits(35, 4, 8000)), "3.yaml: this has more than 35 values or 70 lines of YAML");
    assert_eq!(error(limits(36, 3, 8000)), "3.yaml: this has more than 3 documents");
    assert_eq!(error(limits(36, 4, 4000)), "2.yaml: this needs more than 4,000 bytes of memory");
    // An object that is not kept needs no memory afterwards: because of its kind, or because it occurs twice.
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    assert!(within(limits(1000, 100, 2000), &[("a", pod); 10]).is_ok());
    assert!(within(limits(1000, 100, 4000), &[("a", OPERATOR); 10]).is_ok());
}

#[test]
fn json_is_not_parsed_as_yaml() {
    // JSON takes no values from the limit of YAML.
    let limits = || Limits { values: 0, documents: 0, bytes: 10_000 };
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}"#;
    assert_eq!(within(limits(), &[("x", node)]).unwrap().list(&NODES).count(), 1);
    assert!(within(limits(), &[("x.json", "\n[1, 2]\n"), ("y.json", " \n\n\n\n")]).unwrap().is_empty());
    assert!(within(limits(), &[("x.yaml", "[a, b]\n")]).is_err());
    check(&[("x.yaml", &format!("[a, b]\n---\n{OPERATOR}"))], &CLUSTER_OPERATORS, &["dns"]);
}

#[test]
fn a_limit_is_one_problem() {
    let many = "---\n".repeat(1_000_002);
    let sources = ["a", "b", "c"].map(|path| Source { path: path.to_owned(), text: many.clone() });
    let (_, problems) = Dump::read_all(sources);
    assert_eq!(problems, ["a: this has more than 1,000,000 documents"]);
}
