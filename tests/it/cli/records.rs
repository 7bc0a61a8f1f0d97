//! `run --record` and `windtunnel report`.

use super::environment::{TestEnvironment, check};
use super::scenarios::{CALM, STALLED, WRONG};

/// The lines of a record of [`CALM`].
fn record_of_calm() -> String {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM)]);
    environment.run(&["run", "--quiet", "--record", "calm.jsonl", "calm.yaml"]);
    environment.read("calm.jsonl")
}

#[test]
fn report_prints_the_timeline_of_the_run() {
    for (scenario, code) in [(STALLED, 0), (WRONG, 1)] {
        let environment = TestEnvironment::with(&[("s.yaml", scenario)]);
        let run = environment.run(&["run", "--record", "s.jsonl", "s.yaml"]);
        let reported = environment.run(&["report", "s.jsonl"]);
        assert_eq!((run.code, reported.code), (Some(code), Some(code)), "{run}{reported}");
        let (story, _) = reported.stdout.split_once("\n\n").unwrap();
        assert!(story.contains("cluster installed") && story.lines().count() > 4, "{story}");
        assert!(run.stdout.contains(&format!("\n\n{story}\n\n")), "{run}\n{reported}");
        let result = if code == 0 { "PASS  a non-existent digest" } else { "FAIL  a wrong expectation" };
        assert!(reported.stdout.contains(result) && run.stdout.contains(result), "{reported}");
    }
}

#[test]
fn several_records_get_distinct_names_in_a_folder() {
    let files = [("a/x.1.yaml", CALM), ("b/x.1.yaml", WRONG), ("b/x.2.yaml", CALM)];
    let environment = TestEnvironment::with(&files);
    environment.run(&["run", "--quiet", "--record", "out/", "a", "b"]);
    let records = ["out/x.1-2.jsonl", "out/x.1.jsonl", "out/x.2.jsonl"];
    assert_eq!(environment.files()[3..], records);
    assert!(environment.read("out/x.1-2.jsonl").contains("a wrong expectation"));
    let file = environment.run(&["run", "--quiet", "--record", "other", "a", "b"]);
    let expected =
        "--record other: expected a folder for the records of 3 scenarios, found a file; write `other/`";
    assert!(file.code == Some(2) && file.stderr.contains(expected), "{file}");
    // An existing folder is used as a folder, even for a single record.
    environment.run(&["run", "--quiet", "--record", "out", "b/x.2.yaml"]);
    assert_eq!(environment.files()[3..], records);
    // So is a path that says so.
    environment.run(&["run", "--quiet", "--record", "new/", "b/x.2.yaml"]);
    assert!(environment.files().contains(&"new/x.2.jsonl".to_owned()), "{:?}", environment.files());
}

#[test]
fn records_become_one_junit_file() {
    let environment = TestEnvironment::with(&[("a.yaml", CALM), ("b.yaml", WRONG)]);
    environment.run(&["run", "--quiet", "--record", "out/", "a.yaml", "b.yaml"]);
    let output = environment.run(&["report", "out", "--junit", "j.xml"]);
    assert_eq!(output.code, Some(1), "{output}");
    let found = environment.read("j.xml");
    for expected in [
        r#"tests="2" skipped="0" errors="0" failures="1""#,
        r#"<testcase name="calm" classname="out/a.jsonl""#,
        r#"<testcase name="a wrong expectation" classname="out/b.jsonl""#,
        r#"type="product""#,
        "the end of the timeline:",
    ] {
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    assert!(!found.contains("run it again"), "{found}");
}

#[test]
fn an_invalid_record_is_reported_with_its_line() {
    let report = |text: &str| check(&[("r.jsonl", text)], &["report", "r.jsonl"]);
    insta::assert_snapshot!(report(""), @"
        exit 2
        --- stderr
        error: r.jsonl:1: expected the header of a record: EOF while parsing a value at column 0
        ");
    insta::assert_snapshot!(report("name: a scenario\n"), @"
        exit 2
        --- stderr
        error: r.jsonl:1: expected the header of a record: expected ident at column 2
        ");
    let record = record_of_calm();
    let damaged = |line: usize, with: &str| {
        let mut lines: Vec<&str> = record.lines().collect();
        lines[line - 1] = with;
        report(&lines.join("\n"))
    };
    let last = record.lines().count();
    assert!(
        damaged(last, "{\"at\": 5\n").contains(&format!("error: r.jsonl:{last}: expected an entry")),
        "a line break"
    );
    assert!(
        damaged(last, "{\"at\": 5}").contains(&format!("error: r.jsonl:{last}: expected exactly one")),
        "valid JSON"
    );
    insta::assert_snapshot!(damaged(3, "{\"at\": 5"), @"
        exit 2
        --- stderr
        error: r.jsonl:3: expected an entry of a record: EOF while parsing an object at column 8
        ");
    insta::assert_snapshot!(damaged(4, "{\"at\": 5}"), @r"
        exit 2
        --- stderr
        error: r.jsonl:4: expected exactly one of `write`, `step`, `outcome`, `command`, `kubernetes`, `alert`, `process`, `fault`
        ");
    insta::assert_snapshot!(damaged(5, "{\"at\": 5, \"stepp\": \"x\"}"), @"
    exit 2
    --- stderr
    error: r.jsonl:5: expected an entry of a record: unknown field `stepp`, expected one of `at`, `write`, `step`, `outcome`, `failure`, `failureKind`, `heldBefore`, `command`, `code`, `stdout`, `stderr`, `kubernetes`, `alert`, `labels`, `annotations`, `process`, `fault`, `pod`, `started` at column 17
    ");
    insta::assert_snapshot!(check(&[], &["report", "none.jsonl"]), @"
        exit 2
        --- stderr
        error: none.jsonl: No such file or directory (os error 2)
        ");
    insta::assert_snapshot!(check(&[("a/b", "")], &["report", "a"]), @"
        exit 2
        --- stderr
        error: a: expected files named *.jsonl here, found none
        ");
}

#[test]
fn an_incomplete_last_line_of_a_record_is_ignored() {
    let record = record_of_calm();
    let whole = record.trim_end().rsplit_once('\n').unwrap().0;
    let report = |bytes: &[u8]| {
        let environment = TestEnvironment::new();
        environment.write("r.jsonl", bytes);
        environment.run(&["report", "r.jsonl"])
    };
    let expected = report(format!("{whole}\n").as_bytes());
    let line = record.lines().count();
    let notice = format!(
        "r.jsonl:{line}: ignored the last line, which is incomplete: the recording was interrupted\n"
    );
    for rest in [&b"{\"at\":5,\"write\":{\"by"[..], b"{", b"{\"at\":5,\"step\":\"\xc3", b"\0\0\0\0"] {
        let output = report(&[whole.as_bytes(), b"\n", rest].concat());
        assert_eq!((output.code, &output.stdout), (expected.code, &expected.stdout), "{output}");
        assert_eq!(output.stderr, format!("{notice}{}", expected.stderr));
    }
    let complete = report(record.trim_end().as_bytes());
    assert!(!complete.stderr.contains("ignored"), "{complete}");
}

#[test]
fn status_shows_any_moment_of_a_record() {
    const UPDATE: &str = "name: an update in progress\ncluster: {version: 4.14.1}\nreleases: {4.14.8: }\n\
                          timeline:\n- update: {to: 4.14.8}\n- advance: 10m\n";
    let environment = TestEnvironment::with(&[("s.yaml", UPDATE)]);
    environment.run(&["run", "--quiet", "--record", "s.jsonl", "s.yaml"]);
    let status = |args: &[&str]| environment.run(&[&["status", "s.jsonl"], args].concat());
    assert_eq!(status(&["--at", "0s"]).stdout, "The cluster is not updating.\n");
    insta::assert_snapshot!(status(&["--at", "9m"]).stdout, @"
    = Control Plane =
    Assessment:      Progressing
    Target Version:  4.14.8 (from 4.14.1)
    Updating:        kube-apiserver
    Completion:      6% (2 operators updated, 1 updating, 30 waiting)
    Duration:        8m44s (Est. Time Remaining: 56m)
    Operator Health: 33 Healthy

    Control Plane Nodes
    NAME       ASSESSMENT   PHASE     VERSION   EST   MESSAGE
    master-0   Outdated     Pending   4.14.1    ?     
    master-1   Outdated     Pending   4.14.1    ?     
    master-2   Outdated     Pending   4.14.1    ?     

    = Worker Upgrade =

    WORKER POOL   ASSESSMENT   COMPLETION   STATUS
    worker        Pending      0% (0/3)     3 Available, 0 Progressing, 0 Draining

    Worker Pool Nodes: worker
    NAME       ASSESSMENT   PHASE     VERSION   EST   MESSAGE
    worker-0   Outdated     Pending   4.14.1    ?     
    worker-1   Outdated     Pending   4.14.1    ?     
    worker-2   Outdated     Pending   4.14.1    ?     

    = Update Health =
    SINCE   LEVEL   IMPACT   MESSAGE
    8m44s   Info    None     Update is proceeding well
    ");
    let table = status(&["--details", "operators"]).stdout;
    assert!(table.contains("\nUpdating Cluster Operators\nNAME "), "{table}");
    let late = status(&["--at", "3000h"]);
    assert!(late.stderr.contains("--at: 3000h is after the end of the record, which is "), "{}", late.stderr);
    let wrong = status(&["--at", "soon"]);
    assert_eq!(wrong.code, Some(2));
    assert_eq!(wrong.stderr, "error: --at: expected a time since the start such as `1h30m`, found `soon`\n");
}

/// An environment with the record `s.jsonl` of [`STALLED`].
fn environment_with_record() -> TestEnvironment {
    let environment = TestEnvironment::with(&[("s.yaml", STALLED)]);
    environment.run(&["run", "--quiet", "--record", "s.jsonl", "s.yaml"]);
    environment
}

#[test]
fn logs_prints_the_lines_of_pods_in_a_record() {
    let environment = environment_with_record();
    let logs = |args: &[&str]| environment.run(&[&["logs", "s.jsonl"], args].concat());
    let list = logs(&[]).stdout;
    assert!(
        list.starts_with("POD ") && list.contains("\nopenshift-cluster-version/cluster-version-operator-"),
        "{list}"
    );
    let all = logs(&["cluster-version-operator"]).stdout;
    for part in [
        "] Started syncing cluster version \"",
        "] Finished syncing cluster version \"",
        "] Spawning Pod version--",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(
        all.contains(" updatepayload.go:351] Pod version--") && all.contains(" failed at pending "),
        "{all}"
    );
    assert!(!all.contains("Running sync for "), "{all}");
    let last = logs(&[
        "openshift-cluster-version/cluster",
        "-c",
        "cluster-version-operator",
        "--tail",
        "2",
        "--timestamps",
    ]);
    let lines: Vec<&str> = last.stdout.lines().collect();
    let (time, line) = lines[1].split_once(' ').unwrap();
    assert!(lines.len() == 2 && time.ends_with('Z') && all.ends_with(&format!("{line}\n")), "{last}");
    let run = logs(&["cluster-version-operator", "--from", "0s"]).stdout;
    assert!(run.len() < all.len() && all.ends_with(&run), "{run}");
    insta::assert_snapshot!(logs(&["cluster-version-operator", "--from", "1h"]), @r"
        exit 1
        --- stderr
        no line of `cluster-version-operator` in that time
        ");
    let wrong = logs(&["cluster-version-operater"]).to_string();
    assert!(
        wrong.contains("exit 2\n") && wrong.contains("; did you mean `cluster-version-operator-"),
        "{wrong}"
    );
    let wrong = logs(&["cluster-version-operator", "-c", "cluster-version"]).to_string();
    assert!(
        wrong.contains("exit 2\n") && wrong.contains("; did you mean `cluster-version-operator`?"),
        "{wrong}"
    );
}

#[test]
fn a_record_of_the_first_format_has_no_logs() {
    let environment = environment_with_record();
    let record = environment.read("s.jsonl");
    let lines = record.lines().filter(|line| !line.starts_with("{\"log\":"));
    let old = lines.collect::<Vec<_>>().join("\n").replacen("\"format\":2", "\"format\":1", 1);
    assert!(old.len() < record.len());
    environment.write("old.jsonl", old);
    assert_eq!(
        environment.run(&["report", "old.jsonl"]).stdout,
        environment.run(&["report", "s.jsonl"]).stdout
    );
    insta::assert_snapshot!(environment.run(&["logs", "old.jsonl"]), @r"
        exit 2
        --- stderr
        error: old.jsonl: the record has no logs: it is of a live cluster, or an older windtunnel wrote it
        ");
}

#[test]
fn must_gather_writes_the_objects_and_logs_of_a_moment() {
    let environment = environment_with_record();
    let written = environment.run(&["must-gather", "s.jsonl", "-o", "mg"]);
    let files: Vec<String> = environment.files().into_iter().filter(|file| file.starts_with("mg/")).collect();
    assert_eq!(written.stdout, format!("wrote {} files to mg\n", files.len()), "{written}");
    for path in [
        "mg/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
        "mg/cluster-scoped-resources/core/nodes/master-0.yaml",
        "mg/monitoring/prometheus/alerts.json",
        "mg/namespaces/openshift-cluster-version/apps/deployments.yaml",
        "mg/namespaces/openshift-cluster-version/core/pods.yaml",
        "mg/namespaces/openshift-cluster-version/openshift-cluster-version.yaml",
    ] {
        assert!(files.iter().any(|file| file == path), "{path}: {files:#?}");
    }
    let ending = "/cluster-version-operator/cluster-version-operator/logs/current.log";
    let log = environment.read(files.iter().find(|file| file.ends_with(ending)).unwrap());
    let printed = environment.run(&["logs", "s.jsonl", "cluster-version-operator", "--timestamps"]);
    // Digests in printed text are replaced.
    assert_eq!(log.lines().count(), printed.stdout.lines().count());
    assert_eq!(log.lines().next(), printed.stdout.lines().next());
    // The dump has the same cluster as the record.
    let status = environment.run(&["status", "s.jsonl"]).to_string();
    assert_eq!(environment.run(&["status", "--from", "mg"]).to_string(), status);
    insta::assert_snapshot!(environment.run(&["must-gather", "s.jsonl", "-o", "mg"]), @r"
        exit 2
        --- stderr
        error: mg: expected an empty or missing folder, found files
        ");
    environment.run(&["must-gather", "s.jsonl", "-o", "before", "--at", "0s"]);
    let files = environment.files();
    let log = environment
        .read(files.iter().find(|file| file.starts_with("before/") && file.ends_with(ending)).unwrap());
    assert!(!log.contains("Spawning Pod") && log.contains("successfully acquired lease"), "{log}");
}
