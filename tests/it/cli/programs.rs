//! Programs of this machine as parts of a simulated cluster.

use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use super::environment::pause;
use super::environment::{TestEnvironment, check};
use crate::skipped::skipped;

/// A controller that copies each new ConfigMap, with nothing but Python's own library.
const COPIER: &str = include_str!("../../programs/copier.py");

const HEAD: &str = "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}\n";

pub(super) fn has_python() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", ""]).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

fn config_map(name: &str) -> String {
    format!(
        "- apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: default, name: {name}}}, data: {{a: b}}}}\n"
    )
}

/// A pod that runs a container `main`.
fn pod(spec: &str) -> String {
    format!(
        "- apply: {{apiVersion: v1, kind: Pod, metadata: {{namespace: default, name: p}}, spec: {spec}}}\n"
    )
}

#[test]
fn time_stands_still_while_a_program_works_and_two_runs_are_equal() {
    if !has_python() {
        return skipped("python3");
    }
    let scenario = format!(
        "{HEAD}programs:\n- {{name: copier, command: [python3, ./copier.py], as: system:admin}}\ntimeline:\n{}\
         - expect: {{object: ConfigMap/default/copy-of-one}}\n- advance: 30m\n{}\
         - expect: {{object: ConfigMap/default/copy-of-two}}\n",
        config_map("one"),
        config_map("two")
    );
    let files = [("a.yaml", scenario.as_str()), ("copier.py", COPIER)];
    let environment = TestEnvironment::with(&files);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--check-determinism"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("0:30:00  ConfigMap/copy-of-two"), "{}", output.stdout);
    assert!(output.stdout.contains("programs: waited "), "{}", output.stdout);
}

#[test]
fn programs_fail_on_a_served_backend_with_what_to_use_instead() {
    let scenario = format!(
        "{HEAD}programs:\n- {{name: p, command: [sleep, 9], as: system:admin}}\ntimeline:\n- advance: 1s\n"
    );
    let environment = TestEnvironment::with(&[("a.yaml", scenario.as_str())]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--backend", "served"]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    for text in [
        "do not run with `--backend served`",
        "`--backend in-process`",
        "serve --scenario FILE --timeline --exit",
    ] {
        assert!(output.stdout.contains(text), "{}", output.stdout);
    }
}

#[test]
fn a_feature_has_programs_in_a_doc_string() {
    let feature = |programs: &str| {
        format!(
            "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 1 worker\n    And these \
             programs:\n      \"\"\"\n      {programs}\n      \"\"\"\n    When I apply this object:\n      \"\"\"\n      \
             {{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: default, name: one}}}}\n      \"\"\"\n    Then \
             within 1 minute ConfigMap/default/copy-of-one exists\n"
        )
    };
    if has_python() {
        let copier = "- {command: [python3, copier.py], folder: ., as: system:admin}";
        let environment =
            TestEnvironment::with(&[("f/a.feature", &feature(copier)), ("f/copier.py", COPIER)]);
        let output = environment.run(&["test", "f/a.feature", "--allow-programs"]);
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    } else {
        skipped("python3");
    }
    let wrong = check(&[("a.feature", &feature("- {comand: [x]}"))], &["test", "a.feature"]);
    assert!(wrong.contains("line 1 of the doc string: "), "{wrong}");
    assert!(wrong.contains("did you mean `command`?"), "{wrong}");
}

#[test]
fn an_operator_of_the_payload_hands_over_to_that_of_the_next_release() {
    let script = "echo I am {version}; trap 'echo bye; exit 0' TERM; sleep 100000 & wait";
    let scenario = format!(
        "name: n\ncluster: {{version: 4.18.3, nodes: {{control-plane: 1, workers: 0}}, without: [operator/etcd-operator]}}\n\
         releases: {{4.18.7: }}\nprograms:\n- {{component: etcd-operator, command: [sh, -c, {script:?}]}}\ntimeline:\n\
         - expect: {{log: {{pod: openshift-etcd-operator/etcd-operator, contains: I am 4.18.3}}, within: 2m}}\n\
         - update: {{to: 4.18.7}}\n\
         - expect: {{log: {{pod: openshift-etcd-operator/etcd-operator, contains: I am 4.18.7}}, within: 30m}}\n"
    );
    let output = check(&[("a.yaml", &scenario)], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn a_container_has_its_variables_arguments_and_volumes() {
    let script = "echo $NAME $NODE $1 $2; cat /etc/windtunnel-test/key; echo; ls $TOKENS; read -r line";
    let scenario = format!(
        "{HEAD}programs:\n- container: default/p/main\n  command: [sh, -c, {script:?}, sh, \"{{args}}\"]\n\
         timeline:\n{}{}- expect: {{object: Pod/default/p, fields: {{status.phase: Running}}, within: 1m}}\n\
         - expect: {{log: {{pod: default/p, contains: web worker-0 one web}}}}\n",
        config_map("settings"),
        pod("{volumes: [{name: v, configMap: {name: settings, items: [{key: a, path: key}]}}], \
             containers: [{name: main, image: 'quay.io/me/web:1', args: [one, $(NAME)], \
             env: [{name: NAME, value: web}, {name: TOKENS, value: /var/run/secrets/kubernetes.io/serviceaccount}, \
             {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}], \
             volumeMounts: [{name: v, mountPath: /etc/windtunnel-test}]}]}")
    );
    let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--record", "r.jsonl"]);
    let logs = environment.run(&["logs", "r.jsonl", "default/p"]);
    assert!(
        logs.stdout.contains("web worker-0 one web"),
        "{}{}{}",
        output.stdout,
        logs.stdout,
        output.stderr
    );
    assert!(logs.stdout.contains("b\n") && logs.stdout.contains("ca.crt\n"), "{}", logs.stdout);
}

#[test]
fn a_mount_does_not_lead_out_of_its_container() {
    let environment = TestEnvironment::with(&[("victim", "precious")]);
    let outside = format!("{}{}", "/..".repeat(30), environment.work().display());
    let scenario = format!(
        "{HEAD}programs:\n- {{container: default/p/main, command: [sh, -c, echo started; sleep 100000]}}\n\
         timeline:\n{}{}- expect: {{object: Pod/default/p, fields: {{status.phase: Running}}, within: 1m}}\n\
         - expect: {{log: {{pod: default/p, contains: started}}, within: 1m}}\n",
        config_map("settings"),
        pod(&format!(
            "{{volumes: [{{name: v, configMap: {{name: settings}}}}], containers: [{{name: main, image: 'quay.io/me/web:1', \
             volumeMounts: [{{name: v, mountPath: {outside}/victim, subPath: a}}, {{name: v, mountPath: {outside}/new}}, \
             {{name: v, mountPath: /kubeconfig}}]}}]}}"
        ))
    );
    environment.write("a.yaml", scenario);
    let output = environment.run(&["run", "a.yaml", "--allow-programs"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(environment.files(), ["a.yaml", "victim"]);
    assert_eq!(environment.read("victim"), "precious");
}

#[test]
fn the_exit_code_of_a_program_is_that_of_its_container() {
    let scenario = format!(
        "{HEAD}programs:\n- {{container: default/p/main, command: [sh, -c, echo failing; exit 3]}}\ntimeline:\n{}\
         - expect: {{object: Pod/default/p, fields: {{\"status.containerStatuses[0].lastState.terminated.exitCode\": 3, \
         \"status.containerStatuses[0].state.waiting.reason\": CrashLoopBackOff}}, within: 5m}}\n",
        pod("{containers: [{name: main, image: 'quay.io/me/web:1'}]}")
    );
    let output = check(&[("a.yaml", &scenario)], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn a_program_ends_in_its_own_time_or_is_killed() {
    let scenario = |script: &str, removed: &str| {
        format!(
            "{HEAD}programs:\n- {{container: default/p/main, command: [sh, -c, {script:?}]}}\ntimeline:\n{}\
             - expect: {{object: Pod/default/p, fields: {{status.phase: Running}}, within: 1m}}\n\
             - delete: Pod/default/p\n- advance: {removed}\n- expect: {{object: Pod/default/p, absent: true}}\n",
            pod("{terminationGracePeriodSeconds: 40, containers: [{name: main, image: 'quay.io/me/web:1'}]}")
        )
    };
    let graceful = "trap 'echo bye; exit 0' TERM; sleep 1000 & wait";
    let output =
        check(&[("a.yaml", &scenario(graceful, "2s"))], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
    let stubborn = "trap '' TERM; while :; do sleep 1000; done";
    let output =
        check(&[("a.yaml", &scenario(stubborn, "39s"))], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(output.contains("exit 1"), "{output}");
    let output =
        check(&[("a.yaml", &scenario(stubborn, "41s"))], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn the_command_of_a_container_changes_nothing_of_the_machine() {
    let scenario = format!(
        "{HEAD}programs:\n- {{container: default/p/first, files: {{/payload: ./payload}}}}\n\
         - {{container: default/p/main}}\ntimeline:\n{}\
         - expect: {{object: Pod/default/p, fields: {{status.phase: Succeeded}}, within: 1h}}\n\
         - expect: {{log: {{pod: default/p, contains: moved to the node}}}}\n",
        pod(
            "{restartPolicy: Never, volumes: [{name: v, hostPath: {path: /etc/windtunnel-test}}], initContainers: [\
             {name: first, image: 'quay.io/me/web:1', workingDir: /, volumeMounts: [{name: v, mountPath: /etc/windtunnel-test}], \
             command: [sh, -c, 'mv /payload /etc/windtunnel-test/here; rm -f /etc/hostname ./etc/passwd']}], \
             containers: [{name: main, image: 'quay.io/me/web:1', volumeMounts: [{name: v, mountPath: /etc/windtunnel-test}], \
             command: [cat, /etc/windtunnel-test/here/a]}]}"
        )
    );
    let files = [("a.yaml", scenario.as_str()), ("payload/a", "moved to the node\n"), ("kept", "")];
    let environment = TestEnvironment::with(&files);
    let output = environment.run(&["run", "a.yaml", "--allow-programs"]);
    let has_namespaces = !output.stdout.contains("Linux namespaces");
    if !has_namespaces {
        return skipped("Linux namespaces");
    }
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(environment.files(), ["a.yaml", "kept", "payload/a"]);
    assert!(!std::path::Path::new("/etc/windtunnel-test").exists());
    assert!(std::path::Path::new("/etc/passwd").exists());
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let beside = format!("{HEAD}programs:\n- {{name: mine, command: [./none]}}\ntimeline:\n- advance: 1m\n");
    let output = check(&[("a.yaml", &beside)], &["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert!(
        output.contains("exit 1") && output.contains("program `mine`: cannot start `./none`: "),
        "{output}"
    );
    let inside = format!(
        "{HEAD}programs:\n- {{container: default/p/main, command: [./none]}}\ntimeline:\n{}\
         - expect: {{object: Pod/default/p, fields: {{status.phase: Succeeded}}, within: 1m}}\n",
        pod("{containers: [{name: main, image: 'quay.io/me/web:1'}]}")
    );
    let output = check(&[("a.yaml", &inside)], &["run", "a.yaml", "--allow-programs"]);
    let line = "printed by main: windtunnel: program `main`: cannot start `./none`: ";
    assert!(output.contains("exit 1") && output.contains(line), "{output}");
}

#[test]
fn a_flood_of_output_is_bounded() {
    let flood = "yes a line of a program that prints too much | head -n 300000; read -r line";
    let scenario = format!(
        "{HEAD}programs:\n- {{name: flood, command: [sh, -c, {flood:?}]}}\ntimeline:\n- advance: 1m\n"
    );
    let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--quiet", "--record", "r.jsonl"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(environment.read("r.jsonl").len() < 8_000_000);
}

/// Waits for other processes, half a minute at most.
#[cfg(target_os = "linux")]
pub(super) fn eventually(what: &str, mut is_met: impl FnMut() -> bool) {
    let is_met = (0..1500).any(|_| {
        let is_met = is_met();
        if !is_met {
            pause(20);
        }
        is_met
    });
    assert!(is_met, "{what}");
}

/// The number of processes whose command line contains a text.
#[cfg(target_os = "linux")]
pub(super) fn processes_with(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(text)).count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_tool_leaves_no_process_and_no_file() {
    let span = std::process::id() + 1_000_000;
    let script = format!("sleep {span} & echo started >started; wait");
    // Slow, so that the tool is killed in the middle.
    let scenario = format!(
        "{HEAD}programs:\n- {{name: p, command: [sh, -c, {script:?}], time: 0.1x}}\ntimeline:\n- advance: 1m\n"
    );
    let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
    let mut tool =
        environment.command(&["run", "a.yaml", "--allow-programs"]).stdout(Stdio::null()).spawn().unwrap();
    eventually("the program starts", || environment.work().join("started").exists());
    assert!(processes_with(&format!("sleep {span}")) > 0);
    tool.kill().unwrap();
    tool.wait().unwrap();
    eventually("the program ends", || processes_with(&format!("sleep {span}")) == 0);
    let temporary = environment.work().parent().unwrap().join("tmp");
    eventually("its files are removed", || std::fs::read_dir(&temporary).unwrap().count() == 0);
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_a_slow_run_with_complete_reports() {
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 1 worker\n    And \
                   these programs:\n      \"\"\"\n      - {name: p, command: [sh, -c, \"echo >started; sleep 1000\"], \
                   folder: ., time: 1x}\n      \"\"\"\n    When 30 minutes pass\n";
    let slow = format!(
        "{HEAD}programs:\n- {{name: p, command: [sh, -c, \"echo >started; sleep 1000\"], time: 1x}}\ntimeline:\n\
         - advance: 30m\n"
    );
    for (command, file, ending, code) in
        [("run", "a.yaml", "-INT", 130), ("run", "a.yaml", "-TERM", 143), ("test", "a.feature", "-INT", 130)]
    {
        let environment = TestEnvironment::with(&[("a.yaml", &slow), ("a.feature", feature)]);
        let mut tool = environment.command(&[
            command,
            file,
            "--allow-programs",
            "--junit",
            "j.xml",
            "--record",
            "r.jsonl",
        ]);
        let tool = tool.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("the program starts", || environment.work().join("started").exists());
        assert!(Command::new("kill").args([ending, &tool.id().to_string()]).status().unwrap().success());
        let output = tool.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let junit = environment.read("j.xml");
        assert!(junit.contains("the run was interrupted") && junit.contains("</testsuites>"), "{junit}");
        let report = environment.run(&["report", "r.jsonl"]);
        assert!(report.code == Some(1) && report.stdout.contains("started"), "{report}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_of_a_repetition_is_no_difference() {
    let scenario = format!(
        "{HEAD}programs:\n- {{name: p, command: [sh, -c, \"echo x >>started; sleep 1000\"], time: 1x}}\ntimeline:\n\
         - advance: 2s\n"
    );
    for check in ["--check-determinism", "--check-restarts"] {
        let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
        let mut tool = environment.command(&["run", "a.yaml", "--allow-programs", check, "--junit", "j.xml"]);
        let tool = tool.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let starts = || {
            std::fs::read_to_string(environment.work().join("started")).unwrap_or_default().lines().count()
        };
        eventually("the second run begins", || starts() == 2);
        assert!(Command::new("kill").args(["-INT", &tool.id().to_string()]).status().unwrap().success());
        let output = tool.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{check}: {stderr}");
        let junit = environment.read("j.xml");
        assert!(junit.contains("the run was interrupted") && !junit.contains("record"), "{check}: {junit}");
    }
}

#[test]
fn commands_that_cannot_have_programs_say_so() {
    let scenario = format!(
        "{HEAD}releases: {{4.18.5: }}\nprograms:\n- {{name: p, command: [sleep, \"1000\"]}}\n\
         timeline:\n- update: {{to: 4.18.5}}\n- advance: 1m\n"
    );
    let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
    for (arguments, expected) in [
        (&["sweep", "a.yaml", "--rollback-at", "5s"][..], "the `programs` of a scenario cannot be copied"),
        (&["serve", "--bare", "--program", "./p", "--port", "0"], "--program requires a simulated cluster"),
    ] {
        let output = environment.run(arguments).to_string();
        assert!(output.contains(expected), "{arguments:?}: {output}");
    }
}

#[test]
fn mistakes_in_programs_are_named() {
    let scenario = format!(
        "{HEAD}programs:\n- {{name: a b, command: [x]}}\n- {{image: x, as: y, command: [x]}}\n- {{as: x}}\n\
         - {{container: x, command: [x]}}\n- {{release: 4.18.3, image: x}}\n- {{command: x}}\n\
         - {{command: [x], time: fast}}\n- {{command: [y], files: {{a: b}}}}\ntimeline:\n- advance: 1m\n"
    );
    let output = check(&[("a.yaml", &scenario)], &["lint", "a.yaml"]);
    for expected in [
        "4:10: the name of a program has letters",
        "5:3: a program has one place: give `image` or `as`, not both",
        "6:3: a program without `image`, `container` or `component` needs a `command`",
        "7:15: expected `NAMESPACE/WORKLOAD/CONTAINER`, found `x`",
        "8:13: `release` needs `component`",
        "9:13: expected a list of words",
        "10:24: expected `lockstep`, or a speed",
        "11:26: expected a path in the container",
    ] {
        assert!(output.contains(expected), "{expected}\n{output}");
    }
}
