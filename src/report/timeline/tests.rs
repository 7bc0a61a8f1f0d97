//! Tests of the timeline, on a small record.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, Resource, resources};

use super::render;
use crate::record::{Entry, Event, Header, Record, WriteEvent};

/// Builds a record and keeps the last state of its objects.
struct History {
    record: Record,
    now: Time,
}

impl History {
    fn new() -> Self {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let header = Header {
            scenario: "s".to_owned(),
            ids: Vec::new(),
            seed: 1,
            epoch: now,
            windtunnel: "0.1.0".to_owned(),
            ..Header::default()
        };
        Self { record: Record::new(header, Vec::new()), now }
    }

    fn after(&mut self, seconds: i64) -> &mut Self {
        self.now += jiff::SignedDuration::from_secs(seconds);
        self
    }

    fn event(&mut self, event: Event) -> &mut Self {
        self.record.entries.push(Entry { at: self.now, event });
        self
    }

    fn step(&mut self, text: &str) -> &mut Self {
        self.event(Event::Step { text: text.to_owned() })
    }

    fn outcome(&mut self, text: &str, failure: Option<&str>) -> &mut Self {
        self.event(Event::Outcome {
            text: text.to_owned(),
            failure: failure.map(str::to_owned),
            kind: None,
            held_before: false,
        })
    }

    /// Adds a write of `object` by `by`; null deletes it.
    fn write(
        &mut self,
        by: &str,
        resource: &Resource,
        namespace: &str,
        name: &str,
        object: Value,
    ) -> &mut Self {
        self.answered(by, resource, namespace, name, 200, "", Some(object))
    }

    fn refused(&mut self, by: &str, resource: &Resource, name: &str, code: u16, message: &str) -> &mut Self {
        self.answered(by, resource, "", name, code, message, None)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a write, for the two functions above")]
    fn answered(
        &mut self,
        by: &str,
        resource: &Resource,
        namespace: &str,
        name: &str,
        code: u16,
        message: &str,
        object: Option<Value>,
    ) -> &mut Self {
        let key = resource.key(namespace, name);
        let before = self.record.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Write(write) if write.key == key && write.code < 400 => Some(write.after.clone()),
            _ => None,
        });
        self.event(Event::Write(Box::new(WriteEvent {
            by: by.to_owned(),
            process: String::new(),
            verb: "update".to_owned(),
            kind: resource.kind.to_string(),
            key,
            subresource: String::new(),
            code,
            message: message.to_owned(),
            before: before.flatten(),
            after: object.filter(|object| !object.is_null()).map(Object::new),
        })))
    }
}

fn cluster_version(wanted: Option<&str>, progress: &str, history: &Value) -> Value {
    let mut object = json!({
        "spec": {"channel": "stable-4.14"},
        "status": {
            "availableUpdates": null,
            "history": history,
            "conditions": [
                {"type": "Available", "status": "True", "message": "Done applying 4.14.1"},
                {"type": "Progressing", "status": if wanted.is_some() { "True" } else { "False" }, "message": progress},
            ],
        },
    });
    if let Some(version) = wanted {
        object["spec"]["desiredUpdate"] = json!({"version": version, "force": false});
    }
    object
}

fn pod(phase: &str, waiting: &str) -> Value {
    json!({
        "spec": {"initContainers": [{"name": "cleanup"}, {"name": "move"}]},
        "status": {
            "phase": phase,
            "initContainerStatuses": [{"name": "cleanup", "state": {"waiting": {"reason": waiting}}}],
        },
    })
}

fn insight(updating: &str, completion: u32) -> Value {
    let document = format!(
        "uid: cv-version\nacquiredAt: \"2024-01-01T00:{completion:02}:00Z\"\ntype: ClusterVersion\n\
         clusterVersion:\n    conditions:\n    - type: Updating\n      status: \"{updating}\"\n      \
         reason: R\n    assessment: Progressing\n    completion: {completion}\n"
    );
    json!({"data": {"usc.cpi.cv-version": document, "other": "x"}})
}

fn example() -> Record {
    const CVO: &str = "cluster-version-operator";
    const USC: (&str, &str) = ("openshift-update-status-controller", "status-api-cm-prototype");
    let (cv, cm) = (&resources::CLUSTER_VERSIONS, &resources::CONFIG_MAPS);
    let one = json!([{"version": "4.14.1", "startedTime": "a", "state": "Completed"}]);
    let two = |state: &str| {
        json!([
            {"version": "4.14.8", "startedTime": "b", "state": state},
            {"version": "4.14.1", "startedTime": "a", "state": "Completed"},
        ])
    };
    let mut history = History::new();
    let h = &mut history;
    h.after(-1)
        .write("installer", &resources::NODES, "", "n0", json!({"status": {}}))
        .write("installer", cv, "", "version", cluster_version(None, "Cluster version is 4.14.1", &one))
        .write("installer", cm, USC.0, USC.1, json!({}))
        .after(1)
        .event(Event::Process { program: CVO.to_owned(), pod: "ns/cvo-1".to_owned(), started: true })
        .after(60)
        .step("update to 4.14.8")
        .write(
            "administrator",
            cv,
            "",
            "version",
            cluster_version(Some("4.14.8"), "Cluster version is 4.14.1", &one),
        )
        .outcome("update to 4.14.8", None)
        .step("expect ClusterVersion/version Progressing=False within 10m");
    let pods = &resources::PODS;
    h.write(CVO, pods, "ns", "version-4.14.8-abcde", pod("Pending", "PodInitializing"))
        .after(1)
        .write("kubelet n0", pods, "ns", "version-4.14.8-abcde", pod("Pending", "ErrImagePull"))
        .write("kubelet n0", pods, "ns", "version-4.14.8-abcde", pod("Pending", "ErrImagePull"))
        .after(1)
        .write(CVO, pods, "ns", "version-4.14.8-abcde", Value::Null);
    for done in [10, 20, 30, 40] {
        let message = format!("Working towards 4.14.8: {done} of 863 done (1% complete)");
        h.after(30).write(CVO, cv, "", "version", cluster_version(Some("4.14.8"), &message, &two("Partial")));
        h.write("usc", cm, USC.0, USC.1, insight("True", done));
        h.write(
            CVO,
            &resources::LEASES,
            "ns",
            "version",
            json!({"spec": {"holderIdentity": "x", "renewTime": done}}),
        );
        h.write(CVO, &resources::EVENTS, "ns", "e", json!({"message": done.to_string()}));
    }
    more_kinds(h);
    h.after(3600)
        .refused(
            "mco",
            &resources::NODES,
            "n0",
            422,
            "Node \"n0\" is invalid: spec: Invalid value: \"a\": no\nmore",
        )
        .event(Event::Kubernetes { minor: 28 })
        .write(CVO, cv, "", "version", cluster_version(None, "Cluster version is 4.14.8", &two("Completed")))
        .write("usc", cm, USC.0, USC.1, json!({"data": {}}))
        .outcome(
            "expect ClusterVersion/version Progressing=False within 10m",
            Some("not within 10m:\nProgressing was `True`"),
        );
    history.record
}

fn more_kinds(history: &mut History) {
    let crd =
        |max: u32, generation: u32| json!({"metadata": {"generation": generation}, "spec": {"max": max}});
    let operator =
        |version: &str| json!({"status": {"versions": [{"name": "operator", "version": version}]}});
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}});
    let (crds, operators) = (&resources::CUSTOM_RESOURCE_DEFINITIONS, &resources::CLUSTER_OPERATORS);
    let node = |state: &str, cordoned: bool| {
        json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": state}},
            "spec": {"unschedulable": cordoned}})
    };
    history
        .after(5)
        .write("cvo", crds, "", "things.example.com", crd(1, 1))
        .write("cvo", crds, "", "things.example.com", crd(2, 2))
        .write("etcd", operators, "", "etcd", operator("4.14.1"))
        .write("etcd", operators, "", "etcd", operator("4.14.8"))
        .write("cvo", &resources::DEPLOYMENTS, "ns", "d", image("a@sha256:1"))
        .write("cvo", &resources::DEPLOYMENTS, "ns", "d", image("a@sha256:2"))
        .write("mco", &resources::NODES, "", "n1", node("Done", false))
        .write("mco", &resources::NODES, "", "n1", node("Working", true))
        .write("a", &resources::ROLES, "ns", "r", json!({"a": {"x": 1}, "b": 1, "c": 1, "d": 1}))
        .write("a", &resources::ROLES, "ns", "r", json!({"a": {"x": 2}, "b": 2, "c": 2, "e": 1}));
}

#[test]
fn a_timeline_fits_its_terminal() {
    insta::assert_snapshot!(render(&example(), 120));
}

#[test]
fn without_a_width_nothing_is_cut() {
    insta::assert_snapshot!(render(&example(), 0));
}

#[test]
fn the_file_form_of_a_record_gives_the_same_timeline() {
    let record = example();
    let parsed = Record::parse(&record.to_lines()).unwrap();
    assert_eq!(render(&parsed, 120), render(&record, 120));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [72, 80, 100, 160] {
        let text = render(&example(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
    }
}

#[test]
fn the_last_insights_of_a_record_are_rendered() {
    let mut history = History::new();
    let home = "openshift-update-status-controller";
    history.write("usc", &resources::CONFIG_MAPS, home, "status-api-cm-prototype", insight("False", 3));
    insta::assert_snapshot!(crate::report::insights::at_the_end(&history.record));
    assert_eq!(crate::report::insights::at_the_end(&example()), "");
}

#[test]
fn without_a_config_map_the_last_insights_are_those_of_the_update_status() {
    let mut history = History::new();
    let of = |uid: &str, kind: &str, reason: &str| {
        let conditions = json!([{"type": kind, "status": "False", "reason": reason}]);
        json!({"uid": uid, "type": "Node", "node": {"name": uid, "conditions": conditions}})
    };
    let insights = json!([of("node-a", "Updating", "Completed"), of("node-b", "Available", "NotReady")]);
    let pools = json!([{"name": "worker", "informers": [{"name": "ni", "insights": insights}]}]);
    let status = json!({"status": {"workerPools": pools}});
    history.write("usc", &resources::UPDATE_STATUSES, "", "cluster", status);
    let text = crate::report::insights::at_the_end(&history.record);
    assert!(text.starts_with("usc.ni.node-a: Updating=False Completed\nusc.ni.node-b:\n    "), "{text}");
    assert!(text.contains("\n      conditions:\n") && text.contains("reason: NotReady"), "{text}");
}

#[test]
fn rows_that_differ_only_in_digits_are_reduced_to_the_first_and_last() {
    let mut history = History::new();
    for message in ["1 of 9", "2 of 9", "3 of 9", "waiting", "4 of 9", "waiting", "waiting", "5 of 9"] {
        let conditions = json!([{"type": "P", "status": "True", "message": message}]);
        history.after(1).write(
            "a",
            &resources::NODES,
            "",
            "n",
            json!({"status": {"conditions": conditions}}),
        );
    }
    let text = render(&history.record, 0);
    let shown: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(shown, ["1 of 9", "3 of 9", "waiting", "4 of 9", "waiting", "5 of 9"]);
}

#[test]
fn requests_and_replicas_that_differ_only_in_digits_are_all_shown() {
    let mut history = History::new();
    let none = json!([]);
    for version in ["4.14.8", "4.14.9", "4.14.10"] {
        let object = cluster_version(Some(version), "", &none);
        history.after(1).write("administrator", &resources::CLUSTER_VERSIONS, "", "version", object);
    }
    for replicas in [2, 1, 0, 1] {
        let object = json!({ "spec": { "replicas": replicas } });
        history.after(1).write("administrator", &resources::DEPLOYMENTS, "a", "dns-operator", object);
    }
    let text = render(&history.record, 0);
    let values = |what: &str| -> Vec<&str> {
        text.lines()
            .filter_map(|line| line.split(what).nth(1))
            .map(|rest| rest.split(' ').next().unwrap_or_default())
            .collect()
    };
    assert_eq!(values("requested "), ["4.14.8", "4.14.9", "4.14.10"], "\n{text}");
    assert_eq!(values("replicas "), ["1", "0", "1"], "\n{text}");
}

#[test]
fn the_controller_config_version_of_a_node_is_not_shown() {
    let mut history = History::new();
    for (version, state) in [("1", "Done"), ("2", "Done"), ("3", "Working")] {
        let prefix = "machineconfiguration.openshift.io";
        let annotations = json!({
            format!("{prefix}/lastSyncedControllerConfigResourceVersion"): version, format!("{prefix}/state"): state,
        });
        let node = json!({ "metadata": { "annotations": annotations } });
        history.after(1).write("mcd", &resources::NODES, "", "n", node);
    }
    let text = render(&history.record, 0);
    let of_node: Vec<&str> = text.lines().filter(|line| line.contains("Node/n")).collect();
    assert_eq!(of_node.len(), 2, "\n{text}");
    assert!(of_node[0].contains("created") && of_node[1].contains("state=Working"), "\n{text}");
}

#[test]
fn a_long_timeline_of_a_run_that_passed_has_the_main_changes_only() {
    let (operator, node) = (&resources::CLUSTER_OPERATORS, &resources::NODES);
    let version = |version: &str| json!({"status": {"versions": [{"name": "operator", "version": version}]}});
    let mut history = History::new();
    let installed: &[&str] = &["dns", "etcd"];
    for name in installed {
        history.write("o", operator, "", name, version("4.14.1"));
    }
    history.step("update");
    for renewal in 0..70 {
        let lease = json!({"spec": {"holderIdentity": format!("holder {}", ["a", "b"][renewal % 2])}});
        history.after(26).write("o", &resources::LEASES, "ns", "o", lease);
    }
    for name in installed {
        history.after(1).write("o", operator, "", name, version("4.14.8"));
    }
    let state = |state: &str| json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": state}}});
    history.write("m", node, "", "worker-0", state("Done"));
    history.write("m", node, "", "worker-0", state("Working"));
    history.write("m", node, "", "worker-0", state("Done"));
    let record = history.outcome("update", None).record.clone();
    insta::assert_snapshot!(super::render_passed(&record, 60), @"
    0:00:00  ClusterOperators  version operator=4.14.1: dns, etcd
    0:30:22  ClusterOperators  version operator=4.14.8: dns, etcd
    0:30:22  Node/worker-0     state=Done                                  m
    0:30:22  ok update
        ...  78 more rows with --verbose
    ");
    let short = Record::new(record.header.clone(), record.entries[..10].to_vec());
    assert_eq!(super::render_passed(&short, 100), render(&short, 100));
}
