//! `windtunnel run` with valid scenarios.

use std::path::Path;
use std::process::Stdio;

use super::environment::{TestEnvironment, check};

/// An update to a non-existent digest, which is then cancelled.
pub(super) const STALLED: &str = r"name: a non-existent digest
ids: [OTA-1321]
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- update:
    image: quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000
    force: true
- expect:
    object: Pod/openshift-cluster-version/version-*
    pod-status: Init:ErrImagePull
    within: 1m
- clear-update
";

/// Nothing happens, but the scenario expects the wrong thing.
pub(super) const WRONG: &str = r#"name: a wrong expectation
ids: [OTA-1269, OCP-22641]
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- advance: 1m
- expect:
    object: ClusterVersion/version
    condition: {type: Progressing, status: "True"}
    within: 10s
- advance: 5h
"#;

/// Nothing happens, as expected.
pub(super) const CALM: &str = r#"name: calm
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "False"}}
"#;

#[test]
fn without_a_command_the_help_is_an_error() {
    let output = TestEnvironment::new().run(&[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("Usage: windtunnel <COMMAND>"), "{}", output.stderr);
}

/// The README leaves out some lines, and most of the record's hash.
#[test]
fn the_readme_shows_the_output_of_its_scenario() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = shown.split(':').next().unwrap();
    let arguments = ["run", file, "--width", "132"];
    let output = TestEnvironment::new().command(&arguments).current_dir(root).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut rest = printed.lines();
    for line in shown.lines() {
        let start = line.strip_suffix("...").filter(|line| line.contains(", record "));
        let is_it = |printed: &str| start.map_or(printed == line, |start| printed.starts_with(start));
        assert!(rest.any(is_it), "the README has `{line}`, which is not printed there:\n{printed}");
    }
}

#[test]
fn a_passed_scenario_prints_its_timeline_and_exits_with_0() {
    insta::assert_snapshot!(check(&[("stalled.yaml", STALLED)], &["run", "stalled.yaml"]), @r#"
    exit 0
    stalled.yaml: a non-existent digest

    0:00:00                          cluster installed: NNN objects                                                                         installer
    0:00:00  > update to image quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000 by force
    0:00:00  ClusterVersion/version  requested quay.io/openshift-release-dev/ocp-release@sha256:000000000000000000000000000000000000000...  administrator
    0:00:00  ok update to image quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000 by force
    0:00:00  > expect Pod/openshift-cluster-version/version-* STATUS `Init:ErrImagePull` within 1m
    0:00:01  Pod/version--xxxxx      created                                                                                                cluster-version-operator
    0:00:01  Pod/version--xxxxx      Pending                                                                                                cluster-version-operator
    0:00:01  Pod/version--xxxxx      Init:0/4                                                                                               kubelet/master-0
    0:00:02  Pod/version--xxxxx      Init:ErrImagePull                                                                                      kubelet/master-0
    0:00:02  ClusterVersion/version  ReleaseAccepted=False RetrievePayload "Retrieving payload failed version="" image="quay.io/openshi...  cluster-version-operator
    0:00:02  ok expect Pod/openshift-cluster-version/version-* STATUS `Init:ErrImagePull` within 1m
    0:00:02  > clear update
    0:00:02  ClusterVersion/version  request cleared                                                                                        administrator
    0:00:02  ok clear update

    PASS  a non-existent digest  (0:00:02 of cluster time)
          seed 1, record $HASH, $TIME

    1 scenario: 1 passed, 0 failed; 0:00:02 of cluster time in $TIME ($N times as fast)
    "#);
}

#[test]
fn a_failed_scenario_prints_place_reason_and_expectation_and_exits_with_1() {
    insta::assert_snapshot!(check(&[("wrong.yaml", WRONG)], &["run", "wrong.yaml"]), @r#"
        exit 1
        wrong.yaml: a wrong expectation

        0:00:00    cluster installed: NNN objects                                                                                                              installer
        0:01:00  ok advance 1m
        0:01:00  > expect ClusterVersion/version Progressing=True within 10s
        0:01:10  FAILED expect ClusterVersion/version Progressing=True within 10s
                   seen: Progressing=False "Cluster version is 4.20.1"

        FAIL  a wrong expectation (product)  (0:01:10 of cluster time)
              wrong.yaml:6:3 with seed 1
              expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"
              seed 1, record $HASH, $TIME

        1 scenario: 0 passed, 1 failed; 0:01:10 of cluster time in $TIME ($N times as fast)
        --- stderr
        warning: wrong.yaml:10:3: no step expects anything of the time that passes at the end
        "#);
}

#[test]
fn several_scenarios_get_a_line_each_and_a_list_of_failures() {
    let files = [("a/wrong.yaml", WRONG), ("a/b/calm.yaml", CALM), ("a/notes.txt", "no scenario")];
    let printed = check(&files, &["run", "a"]);
    insta::assert_snapshot!(printed, @r#"
        exit 1
        PASS  calm  a/b/calm.yaml  (0:00:00 of cluster time, $TIME)
        FAIL  a wrong expectation (product)  a/wrong.yaml:6  (0:01:10 of cluster time, $TIME)

        Failures:

        a/wrong.yaml: a wrong expectation

        0:00:00    cluster installed: NNN objects                                                                                                              installer
        0:01:00  ok advance 1m
        0:01:00  > expect ClusterVersion/version Progressing=True within 10s
        0:01:10  FAILED expect ClusterVersion/version Progressing=True within 10s
                   seen: Progressing=False "Cluster version is 4.20.1"

        FAIL  a wrong expectation (product)  (0:01:10 of cluster time)
              a/wrong.yaml:6:3 with seed 1
              expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"

        FAIL a/wrong.yaml:6 a wrong expectation (product): expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"

        Run the failures again:
          windtunnel run a/wrong.yaml --seed 1

        2 scenarios: 1 passed, 1 failed; 0:01:10 of cluster time in $TIME ($N times as fast)
        --- stderr
        warning: a/wrong.yaml:10:3: no step expects anything of the time that passes at the end
        "#);
    let quiet = check(&files, &["run", "--quiet", "a"]);
    assert!(quiet.contains("FAIL a/wrong.yaml:6 a wrong") && !quiet.contains("FAILED expect"), "{quiet}");
}

#[test]
fn verbose_prints_the_timelines_of_several_scenarios() {
    let files = [("a/wrong.yaml", WRONG), ("a/calm.yaml", CALM)];
    insta::assert_snapshot!(check(&files, &["run", "-v", "a"]), @r#"
        exit 1
        a/calm.yaml: calm

        0:00:00    cluster installed: NNN objects                                                                                                              installer
        0:00:00  ok expect ClusterVersion/version Progressing=False

        PASS  calm  (0:00:00 of cluster time)
              seed 1, record $HASH, $TIME

        a/wrong.yaml: a wrong expectation

        0:00:00    cluster installed: NNN objects                                                                                                              installer
        0:01:00  ok advance 1m
        0:01:00  > expect ClusterVersion/version Progressing=True within 10s
        0:01:10  FAILED expect ClusterVersion/version Progressing=True within 10s
                   seen: Progressing=False "Cluster version is 4.20.1"

        FAIL  a wrong expectation (product)  (0:01:10 of cluster time)
              a/wrong.yaml:6:3 with seed 1
              expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"
              seed 1, record $HASH, $TIME


        Failures:

        FAIL  a wrong expectation (product)  (0:01:10 of cluster time)
              a/wrong.yaml:6:3 with seed 1
              expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"

        FAIL a/wrong.yaml:6 a wrong expectation (product): expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"

        Run the failures again:
          windtunnel run a/wrong.yaml --seed 1

        2 scenarios: 1 passed, 1 failed; 0:01:10 of cluster time in $TIME ($N times as fast)
        --- stderr
        warning: a/wrong.yaml:10:3: no step expects anything of the time that passes at the end
        "#);
}

#[test]
fn quiet_omits_the_timeline_of_a_single_scenario() {
    insta::assert_snapshot!(check(&[("wrong.yaml", WRONG)], &["run", "--quiet", "wrong.yaml"]), @r#"
        exit 1
        FAIL  a wrong expectation (product)  (0:01:10 of cluster time)
              wrong.yaml:6:3 with seed 1
              expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"
              seed 1, record $HASH, $TIME

        1 scenario: 0 passed, 1 failed; 0:01:10 of cluster time in $TIME ($N times as fast)
        "#);
}

#[test]
fn a_scenario_named_twice_runs_once() {
    let output = check(&[("a/calm.yaml", CALM)], &["run", "--quiet", "a", "./a/calm.yaml", "a/calm.yaml"]);
    insta::assert_snapshot!(output, @"
        exit 0
        PASS  calm  (0:00:00 of cluster time)
              seed 1, record $HASH, $TIME

        1 scenario: 1 passed, 0 failed; 0:00:00 of cluster time in $TIME ($N times as fast)
        ");
}

#[test]
fn a_timeline_fits_the_width_or_is_printed_in_full() {
    let files = [("stalled.yaml", STALLED)];
    let timeline = |width: &str| {
        let output = TestEnvironment::with(&files).run(&["run", "--width", width, "stalled.yaml"]);
        assert_eq!(output.code, Some(0), "{output}");
        output.stdout.split("\n\n").nth(1).unwrap().to_owned()
    };
    insta::assert_snapshot!(timeline("80"), @"
    0:00:00                        cluster installed: 3...  installer
    0:00:00  > update to image quay.io/openshift-release-dev/ocp-release@sha256:0...
    0:00:00  ClusterVersion/ve...  requested quay.io/op...  administrator
    0:00:00  ok update to image quay.io/openshift-release-dev/ocp-release@sha256:...
    0:00:00  > expect Pod/openshift-cluster-version/version-* STATUS `Init:ErrIma...
    0:00:01  Pod/version--xxxxx    created                  cluster-version-operator
    0:00:01  Pod/version--xxxxx    Pending                  cluster-version-operator
    0:00:01  Pod/version--xxxxx    Init:0/4                 kubelet/master-0
    0:00:02  Pod/version--xxxxx    Init:ErrImagePull        kubelet/master-0
    0:00:02  ClusterVersion/ve...  ReleaseAccepted=Fals...  cluster-version-operator
    0:00:02  ok expect Pod/openshift-cluster-version/version-* STATUS `Init:ErrIm...
    0:00:02  > clear update
    0:00:02  ClusterVersion/ve...  request cleared          administrator
    0:00:02  ok clear update
    ");
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert_eq!(longest(&timeline("100")), 100);
    let whole = timeline("0");
    assert!(longest(&whole) > 400, "{whole}");
    assert!(whole.contains("manifest unknown\"") && !whole.contains("..."), "{whole}");
}

#[test]
fn the_seed_determines_the_record() {
    let environment = TestEnvironment::with(&[("stalled.yaml", STALLED)]);
    let record = |seed: &str, file: &str| {
        let output = environment.run(&["run", "--quiet", "--seed", seed, "--record", file, "stalled.yaml"]);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stdout.contains(&format!("seed {seed}, ")), "{output}");
        environment.read(file)
    };
    let first = record("7", "one");
    assert_eq!(record("7", "two"), first);
    assert_ne!(record("8", "three"), first);
}

#[test]
fn check_determinism_prints_nothing_if_it_passes() {
    let files = [("stalled.yaml", STALLED)];
    assert_eq!(
        check(&files, &["run", "--check-determinism", "stalled.yaml"]),
        check(&files, &["run", "stalled.yaml"])
    );
}

#[test]
fn junit_contains_passed_and_failed_scenarios() {
    let environment = TestEnvironment::with(&[("s/wrong.yaml", WRONG), ("s/calm.yaml", CALM)]);
    let output = environment.run(&["run", "--quiet", "--junit", "junit.xml", "s"]);
    assert_eq!(output.code, Some(1), "{output}");
    let times = regex::Regex::new(r#" (time|timestamp)="[^"]*""#).unwrap();
    let junit = environment.read("junit.xml");
    insta::assert_snapshot!(times.replace_all(&junit, r#" $1="WALL""#), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="windtunnel" tests="2" skipped="0" failures="1" errors="0">
        <testsuite name="windtunnel run" tests="2" skipped="0" errors="0" failures="1" time="WALL" timestamp="WALL">
            <testcase name="calm" classname="s/calm.yaml" time="WALL">
                <properties>
                    <property name="seed" value="1"/>
                    <property name="cluster-seconds" value="0.000"/>
                </properties>
                <system-out>run it again: windtunnel run s/calm.yaml --seed 1
    </system-out>
            </testcase>
            <testcase name="a wrong expectation" classname="s/wrong.yaml" time="WALL">
                <properties>
                    <property name="seed" value="1"/>
                    <property name="cluster-seconds" value="70.000"/>
                    <property name="id" value="OTA-1269"/>
                    <property name="id" value="OCP-22641"/>
                </properties>
                <failure message="expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False &quot;Cluster version is 4.20.1&quot;" type="product">s/wrong.yaml:6:3
    expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False &quot;Cluster version is 4.20.1&quot;</failure>
                <system-out>run it again: windtunnel run s/wrong.yaml --seed 1

    the end of the timeline:
    0:00:00    cluster installed: 326 objects                                                                                                              installer
    0:01:00  ok advance 1m
    0:01:00  &gt; expect ClusterVersion/version Progressing=True within 10s
    0:01:10  FAILED expect ClusterVersion/version Progressing=True within 10s
               seen: Progressing=False &quot;Cluster version is 4.20.1&quot;

    oc adm upgrade status:
    The cluster is not updating.
    </system-out>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
    assert_eq!(environment.files(), ["junit.xml", "s/calm.yaml", "s/wrong.yaml"]);
}

#[test]
fn write_errors_are_reported_before_the_run_or_after_the_results() {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM), ("folder/file", "")]);
    let output = environment.run(&["run", "--quiet", "--junit", "folder", "--html", "folder", "calm.yaml"]);
    insta::assert_snapshot!(output, @"
        exit 2
        --- stderr
        error: folder: cannot be written: is a directory
        error: folder: cannot be written: is a directory
        ");
    let output =
        environment.run(&["run", "--quiet", "--junit", "/dev/full", "--html", "/dev/full", "calm.yaml"]);
    insta::assert_snapshot!(output, @"
        exit 2
        PASS  calm  (0:00:00 of cluster time)
              seed 1, record $HASH, $TIME

        1 scenario: 1 passed, 0 failed; 0:00:00 of cluster time in $TIME ($N times as fast)
        --- stderr
        error: /dev/full: cannot be written: No space left on device (os error 28)
        error: /dev/full: cannot be written: No space left on device (os error 28)
        ");
    assert_eq!(environment.files(), ["calm.yaml", "folder/file"]);
}

#[test]
fn run_does_not_read_standard_input() {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM)]);
    let mut command = environment.command(&["run", "--quiet", "calm.yaml"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Kept open without input: a program that reads it waits forever.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(output.status.success());
}

#[test]
fn a_closed_pipe_does_not_panic() {
    let environment = TestEnvironment::with(&[("stalled.yaml", STALLED)]);
    let mut command = environment.command(&["run", "stalled.yaml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
