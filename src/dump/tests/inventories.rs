//! Tests of the counts of files.

use super::*;

fn read_all(files: &[(&str, &str)]) -> Dump {
    let source = |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
    Dump::read_all(files.iter().map(source)).0
}

#[track_caller]
fn check(path: &str, text: &str, class: Class, remark: &str) {
    let dump = read_all(&[(path, text)]);
    let [file] = dump.inventory.files() else { panic!("{:?}", dump.inventory) };
    assert_eq!((file.class, file.remark.as_str()), (class, remark), "{path}");
}

#[test]
fn every_file_has_one_class() {
    check("a.yaml", OPERATOR, Class::Read, "");
    check("rules.json", r#"{"data": {"groups": []}}"#, Class::Read, "alerts");
    check("a.json", "{\"a\": 1}", Class::NoObject, "YAML or JSON without objects");
    check("a.json", "{\"a\": }", Class::NotUnderstood, "1:7: expected JSON: expected value");
    check("text", "[not yaml", Class::NoObject, "no YAML or JSON");
    check("a.yaml", "kind: Node\napiVersion: v1\n", Class::NotUnderstood, "an object without a name");
    let kindless = "metadata: {name: a}\nspec: {}\n";
    check(
        "x.yaml",
        kindless,
        Class::NotUnderstood,
        "an object without a kind, and the path does not have it",
    );
    check(
        "multi-networkpolicy",
        "error: the server doesn't have a resource type \"multi-networkpolicy\"\n",
        Class::NotCollected,
        "multi-networkpolicy: the server doesn't have a resource type \"multi-networkpolicy\"",
    );
    check("gather.logs", "2024-10-24T14:43:40.4Z Gathering data\n", Class::NoObject, "a log");
}

#[test]
fn what_could_not_be_collected_is_named() {
    let lines = |path: &str, text: &str| read_all(&[(path, text)]).inventory.uncollected_lines("mg");
    let budgets = r#"{"a": "could not find it", "b": "could not find it", "c": "forbidden"}"#;
    let path = "cluster-resources/pod-disruption-budgets-errors.json";
    assert_eq!(
        lines(path, budgets),
        [
            format!("not collected: poddisruptionbudgets in 2 namespaces: could not find it ({path})"),
            format!("not collected: poddisruptionbudgets in namespace c: forbidden ({path})"),
        ]
    );
    let log = "2024-10-24T14:45:15.2Z     [skipping gathering secrets/support due to error: secrets \"support\" not found, \
               skipping gathering sharedsecrets.example.io due to error: the server doesn't have a resource type \"sharedsecrets\"]\n\
               2024-10-24T14:45:15.4Z error: the server doesn't have a resource type \"clusters\"\n";
    assert_eq!(
        lines("mg/gather.logs", log),
        [
            "not collected: clusters: the server doesn't have a resource type \"clusters\" (gather.logs)",
            "not collected: sharedsecrets.example.io: the server doesn't have a resource type \"sharedsecrets\" (gather.logs)",
        ]
    );
    let report = r#"{"status_reports": [{"name": "clusterconfig/pdbs", "errors": ["forbidden"]},
        {"name": "clusterconfig/config_maps", "errors": ["configmaps \"a\" not found"]}]}"#;
    assert_eq!(
        lines("insights-operator/gathers.json", report),
        ["not collected: clusterconfig/pdbs: forbidden (insights-operator/gathers.json)"]
    );
    assert_eq!(
        lines(
            "execution-data/summary.txt",
            "cluster-resources (S) : 1ms\nlogs/a (F) : 2ms\nSucceeded (S), Failed (F)\n"
        ),
        ["not collected: logs/a: the collector failed (execution-data/summary.txt)"]
    );
}

#[test]
fn the_numbers_add_up() {
    let newer = "apiVersion: v1\nkind: Node\nmetadata: {name: n, resourceVersion: '2'}\n";
    let older = "apiVersion: v1\nkind: Node\nmetadata: {name: n, resourceVersion: '1', labels: {a: b}}\n";
    let dump = read_all(&[
        ("a.yaml", newer),
        ("b.yaml", older),
        ("c.yaml", newer),
        ("d.yaml", OPERATOR),
        ("e.yaml", "a: 1"),
    ]);
    let inventory = &dump.inventory;
    let classes: usize = Class::ALL.iter().map(|class| inventory.count(*class)).sum();
    assert_eq!((classes, inventory.files().len()), (5, 5));
    assert_eq!((inventory.objects(), inventory.kept(), inventory.seconds()), (4, 2, (1, 1)));
    assert_eq!(dump.objects().count(), 2);
    assert_eq!(
        inventory.summary(),
        "5 files: 4 read (2 objects and 1 copy, 1 state replaced by newer or fuller ones), 1 without objects, \
         0 not understood, 0 not collected"
    );
}

#[test]
fn one_layout_does_not_hide_another() {
    let version = "{\"apiVersion\": \"config.openshift.io/v1\", \"kind\": \"ClusterVersion\", \"metadata\": {\"name\": \"version\"}}";
    let files = [
        ("mixed/cv.json", version),
        (
            "mixed/must-gather/cluster-scoped-resources/config.openshift.io/clusteroperators/dns.yaml",
            OPERATOR,
        ),
    ];
    assert_eq!(read_all(&files).objects().count(), 2);
    let dump = read(&files).unwrap();
    assert_eq!((dump.list(&CLUSTER_VERSIONS).count(), dump.list(&CLUSTER_OPERATORS).count()), (1, 1));
    // A broken file beside the folders of `oc adm inspect` has no wanted object.
    let broken = [files[1], ("mixed/must-gather/monitoring/status.json", "{oops")];
    assert_eq!(read(&broken).unwrap().list(&CLUSTER_OPERATORS).count(), 1);
    assert_eq!(read(&[files[0], broken[1]]).unwrap_err().len(), 1);
}
