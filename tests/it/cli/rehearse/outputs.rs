//! The files, changes and tables of `windtunnel rehearse`.

use serde_json::{Value, json};

use crate::cli::environment::{Output, TestEnvironment};

/// A file or a folder of `tests/dumps`.
fn dump(name: &str) -> String {
    format!("{}/tests/dumps/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A dump with a ClusterVersion only.
fn healthy() -> String {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "channel": "stable-4.16" },
        "status": { "history": [{
            "state": "Completed", "version": "4.16.3", "image": "example.com/r@sha256:1", "verified": true,
            "startedTime": "2026-03-02T08:00:00Z", "completionTime": "2026-03-02T08:40:00Z",
        }] },
    })
    .to_string()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

fn check_schema(schema: &Value, report: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(report).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {report:#}");
}

#[test]
fn an_emitted_scenario_stops_where_the_rehearsal_stopped_and_goes_on_with_its_steps() {
    let environment = TestEnvironment::new();
    let text = std::fs::read_to_string(dump("held-up.yaml")).unwrap();
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: shop}\nstringData: {word: swordfish}\n";
    environment.write("held-up.yaml", format!("{text}{secret}"));
    let output = environment.run(&[
        "rehearse",
        "held-up.yaml",
        "--to",
        "4.17.3",
        "--emit",
        "out",
        "--junit",
        "out.xml",
    ]);
    assert_eq!(output.code, Some(1), "{output}");
    let objects = environment.read("out/testdata/cluster.yaml");
    assert!(objects.contains("name: clerk") && !objects.contains("swordfish"), "{objects}");
    assert!(!objects.contains("kind: Secret"), "{objects}");

    let junit = environment.read("out.xml");
    for expected in [
        "tests=",
        r#"<testcase name="update to 4.17.3: accept: 1. ConfigMap openshift-config/admin-acks" classname="held-up.yaml">"#,
        r#"<failure message="ConfigMap openshift-config/admin-acks: "#,
        r#"<skipped message="oc get "#,
        "<system-out>Rehearsed 4.16.9 to 4.17.3 in 1 run: 6 stops",
    ] {
        assert!(junit.contains(expected), "{expected}\n{junit}");
    }

    let stopped = environment.run(&["run", "out", "--quiet"]);
    assert_eq!(stopped.code, Some(1), "{stopped}");
    let scenario = environment.read("out/update.yaml");
    let accept = "fields: {\"status.history[0].version\": 4.17.3}";
    let line = scenario.lines().position(|line| line.contains(accept)).unwrap() - 1;
    assert!(stopped.to_string().contains(&format!("out/update.yaml:{line}:")), "{stopped}\n{scenario}");

    // With the changes of all stops as steps, the update completes.
    let is_step = |line: &&str| line.starts_with("# - ");
    let edited: Vec<&str> =
        scenario.lines().map(|line| Some(line).filter(is_step).map_or(line, |line| &line[2..])).collect();
    environment.write("out/update.yaml", edited.join("\n"));
    let completed = environment.run(&["run", "out", "--quiet"]);
    assert_eq!(completed.code, Some(0), "{completed}\n{}", edited.join("\n"));

    let again = environment.run(&["rehearse", "held-up.yaml", "--to", "4.17.3", "--emit", "out"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("error: out: expected an empty or missing folder, found files"), "{again}");
}

#[test]
fn a_change_of_the_cluster_is_compared() {
    let environment = TestEnvironment::new();
    let arguments = ["rehearse", &dump("held-up.yaml"), "--to", "4.16.12", "--output", "json"];
    let changes = ["--what-if", "PodDisruptionBudget/shop/web=null", "--what-if", "worker.maxUnavailable=2"];
    let output = environment.run(&[&arguments[..], &changes].concat());
    assert_eq!(output.code, Some(1), "{output}");
    let report = json_of(&output);
    check_schema(&windtunnel::rehearsal::schema(), &report);
    let blames = |report: &Value| {
        let stops = report["stops"].as_array().unwrap();
        stops.iter().any(|stop| stop["cause"]["kind"] == "PodDisruptionBudget")
    };
    assert!(blames(&report) && !blames(&report["whatIf"][0]) && blames(&report["whatIf"][1]), "{report:#}");
    let worker = |report: &Value| report["duration"]["pools"]["worker"]["most"].as_i64().unwrap();
    assert!(worker(&report["whatIf"][1]) < worker(&report), "{report:#}");
    assert!(report["duration"]["total"]["most"].as_i64() >= Some(worker(&report)), "{report:#}");
    let text = environment.run(&[&arguments[..4], &changes].concat());
    for expected in [
        "  PodDisruptionBudget/shop/web=null  worker.maxUnavailable=2\n",
        "no more: PodDisruptionBudget shop/web (pool worker)",
    ] {
        assert!(text.stdout.contains(expected), "{expected} is not in {text}");
    }
}

#[test]
fn several_dumps_are_a_table_with_the_exit_code_of_the_worst() {
    let environment = TestEnvironment::new();
    environment.write("healthy.json", healthy());
    environment.write("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n");
    let held_up = dump("held-up.yaml");
    let output = environment.run(&["rehearse", "healthy.json", &held_up, "--to", "4.16.12", "--jobs", "2"]);
    assert_eq!(output.code, Some(1), "{output}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(lines[2].starts_with("DUMP"), "{output}");
    assert!(lines[3].contains("healthy.json") && lines[3].contains("unknown"), "{output}");
    assert!(lines[4].contains("held-up.yaml") && lines[4].contains("stops"), "{output}");

    let arguments = ["rehearse", "healthy.json", "node.yaml", "--to", "4.16.12", "--junit", "out.xml"];
    let output = environment.run(&[&arguments[..], &["--output", "json"]].concat());
    assert_eq!(output.code, Some(2), "{output}");
    let reports = json_of(&output);
    check_schema(&windtunnel::rehearsal::schema_of_several(), &reports);
    assert_eq!(reports[0]["report"]["result"], "unknown", "{reports:#}");
    assert!(
        reports[1]["error"].as_str().unwrap().contains("expected ClusterVersion `version`"),
        "{reports:#}"
    );
    assert!(environment.read("out.xml").contains(r#"<testcase name="read the dump" classname="node.yaml">"#));

    let output =
        environment.run(&["rehearse", "healthy.json", "node.yaml", "--to", "4.16.12", "--emit", "x"]);
    assert!(output.stderr.contains("error: --emit: expected one dump, found 2"), "{output}");
}

#[test]
fn the_way_back_and_the_page_are_of_the_rehearsed_run() {
    let environment = TestEnvironment::new();
    environment.write("healthy.json", healthy());
    let arguments = ["rehearse", "healthy.json", "--to", "4.17.2", "--back", "--html", "page.html"];
    let output = environment.run(&[&arguments[..], &["--output", "json"]].concat());
    assert_eq!(output.code, Some(3), "{output}");
    let report = json_of(&output);
    check_schema(&windtunnel::rehearsal::schema(), &report);
    assert_eq!(report["back"]["to"], "4.16.3", "{report:#}");
    assert!(report["back"]["moments"].as_i64() > Some(20), "{report:#}");
    let page = environment.read("page.html");
    assert!(page.contains("update from 4.16.3 to 4.17.2") && page.contains("</html>"));
}

#[test]
fn wrong_outputs_and_changes_are_errors_before_anything_runs() {
    let environment = TestEnvironment::new();
    environment.write("healthy.json", healthy());
    environment.write("folder/healthy.json", healthy());
    for (arguments, expected) in [
        (
            &["healthy.json", "--junit", "healthy.json"][..],
            "error: healthy.json: this is an input of the command, and would be overwritten",
        ),
        (
            &["folder", "--html", "folder/healthy.json"],
            "error: folder/healthy.json: this is a file of the dump, and would be overwritten",
        ),
        (&["healthy.json", "--junit", "none/a.xml"], "there is no folder none; create it first"),
        (
            &["healthy.json", "--what-if", "wroker.maxUnavailable=2"],
            "--what-if wroker.maxUnavailable=2: expected a MachineConfigPool of the dump, found none named `wroker`; did you mean `worker`?",
        ),
        (&["healthy.json", "--emit", "healthy.json"], "error: healthy.json: "),
    ] {
        let output = environment.run(&[&["rehearse", "--to", "4.16.9"], arguments].concat());
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{expected} is not in {output}");
    }
}

#[test]
#[cfg(all(feature = "live", feature = "serve"))]
fn a_live_cluster_stops_where_its_dump_does() {
    let environment = TestEnvironment::new();
    let held_up = dump("held-up.yaml");
    let served =
        crate::cli::serve::Served::start(&environment, &["--from", &held_up, "--kubeconfig", "config"]);
    let causes = |arguments: &[&str]| -> Vec<Value> {
        let output =
            environment.run(&[&["rehearse", "--to", "4.17.3", "--output", "json"], arguments].concat());
        assert_eq!(output.code, Some(1), "{output}");
        let report = json_of(&output);
        check_schema(&windtunnel::rehearsal::schema(), &report);
        report["stops"].as_array().unwrap().iter().map(|stop| stop["cause"].clone()).collect()
    };
    assert_eq!(causes(&["--kubeconfig", "config"]), causes(&[&held_up]));
    let wrong = environment.run(&["rehearse", "--to", "4.17.3", "--kubeconfig", "config", &held_up]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    drop(served);
}
