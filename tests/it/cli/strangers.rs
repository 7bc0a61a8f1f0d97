//! Files of strangers: paths that lead outside, and commands.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::environment::{Output, TestEnvironment};

/// Each is a line of a file that a path may lead to. No output has it.
const SECRET: &str = "precious-content-of-the-user";

/// A folder `in` with a scenario or feature of this text, and links out of it. Beside it are a file and folders of the user.
fn environment(name: &str, text: &str) -> TestEnvironment {
    let environment = TestEnvironment::with(&[
        ("secret.yaml", SECRET),
        ("secret/channels/c.yaml", SECRET),
        ("secret/blocked-edges/b.yaml", SECRET),
        ("secret/release-metadata", SECRET),
        ("secret/image-references", SECRET),
        (name, text),
    ]);
    for (target, link) in
        [("../secret.yaml", "in/file-link"), ("../secret", "in/link"), ("../none", "in/dangling")]
    {
        symlink(target, environment.work().join(link)).unwrap();
    }
    environment
}

/// The paths of a file and of a folder that lead outside, each of one that exists and of one that does not.
fn hostile(is_folder: bool, work: &str) -> Vec<String> {
    let names = if is_folder { ["secret", "link"] } else { ["secret.yaml", "file-link"] };
    let [name, link] = names;
    [
        format!("../{name}"),
        "../none".to_owned(),
        format!("{work}/{name}"),
        format!("{work}/none"),
        format!("x/../../{name}"),
        format!("../in/../{name}"),
        link.to_owned(),
        "dangling".to_owned(),
        "link/channels/c.yaml".to_owned(),
        "/etc/passwd".to_owned(),
    ]
    .to_vec()
}

/// Checks that a command refuses a path, at a place in the file, without the content and without its existence.
fn check_refused(output: &Output, environment: &TestEnvironment, path: &str) {
    let text = output.to_string();
    assert_eq!(output.code, Some(2), "{path}: {text}");
    assert!(text.contains("is outside the folders that this file may use"), "{path}: {text}");
    assert!(text.contains("--allow-folder DIR") && !text.contains("No such file"), "{path}: {text}");
    let place = regex::Regex::new(r"error: in/a\.(yaml|feature):\d+:\d+: ").unwrap();
    assert!(place.is_match(&text), "{path}: {text}");
    assert!(!text.contains("precious") && !text.contains("root:"), "{path}: {text}");
    assert_eq!(environment.read("secret.yaml"), SECRET, "{path}");
    assert!(!environment.work().join("none").exists(), "{path}");
}

#[test]
fn no_key_of_a_scenario_leads_outside() {
    let keys = [
        (true, "cluster: {version: 4.18.3, payload: PATH}\ntimeline: [advance: 1m]"),
        (true, "cluster: {version: 4.18.3}\nreleases: {4.18.6: {payload: PATH}}\ntimeline: [advance: 1m]"),
        (true, "cluster: {version: 4.18.3}\nupdate-service: {graph-data: PATH}\ntimeline: [advance: 1m]"),
        (false, "cluster: {version: 4.18.3}\ntimeline:\n- include: PATH"),
        (false, "cluster: {version: 4.18.3}\ntimeline:\n- include: {steps: PATH, with: {}}"),
        (false, "cluster: {version: 4.18.3}\ntimeline:\n- expect: {status: {matches: PATH}}"),
    ];
    for (is_folder, scenario) in keys {
        let environment = environment("in/a.yaml", "");
        for path in hostile(is_folder, &environment.work().display().to_string()) {
            environment.write("in/a.yaml", format!("name: n\n{}\n", scenario.replace("PATH", &path)));
            check_refused(&environment.run(&["lint", "in/a.yaml"]), &environment, &path);
        }
    }
}

#[test]
fn no_step_of_a_feature_leads_outside() {
    let steps = [
        (true, "    And the graph data in \"PATH\"\n    When 1 minute passes\n"),
        (false, "    When 1 minute passes\n    Then the status is as in \"PATH\"\n"),
    ];
    for (is_folder, step) in steps {
        let environment = environment("in/a.feature", "");
        for path in hostile(is_folder, &environment.work().display().to_string()) {
            let step = step.replace("PATH", &path);
            let feature = format!("Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster\n{step}");
            environment.write("in/a.feature", feature);
            check_refused(&environment.run(&["lint", "in/a.feature"]), &environment, &path);
        }
    }
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster\n    And I obtain test data file \"../../secret.yaml\"\n";
    let environment = environment("in/a.feature", feature);
    let output = environment.run(&["lint", "in/a.feature"]).to_string();
    assert!(output.contains("exit 2") && output.contains("--allow-folder"), "{output}");
    assert!(!output.contains("precious"), "{output}");
}

#[test]
fn no_command_reads_or_writes_outside() {
    let matches = |path: &str| {
        format!(
            "name: n\ncluster: {{version: 4.18.3}}\ntimeline:\n- advance: 1m\n- expect: {{status: {{matches: {path}}}}}\n"
        )
    };
    let commands: [&[&str]; 8] = [
        &["run", "in/a.yaml"],
        &["run", "in/a.yaml", "--update-snapshots", "--junit", "junit.xml"],
        &["mutate", "in/a.yaml"],
        &["sweep", "in/a.yaml"],
        &["explore", "in/a.yaml", "--runs", "1"],
        &["explore", "minimise", "in/a.yaml"],
        &["split-upgrade", "in/a.yaml"],
        &["serve", "--scenario", "in/a.yaml", "--port", "0"],
    ];
    for arguments in commands {
        let environment = environment("in/a.yaml", "");
        for path in hostile(false, &environment.work().display().to_string()) {
            environment.write("in/a.yaml", matches(&path));
            check_refused(&environment.run(arguments), &environment, &path);
            let junit = std::fs::read_to_string(environment.work().join("junit.xml")).unwrap_or_default();
            assert!(!junit.contains("precious"), "{arguments:?}: {junit}");
        }
    }
}

#[test]
fn folders_of_the_command_line_are_allowed() {
    let scenario =
        "name: n\ncluster: {version: 4.18.3}\ntimeline:\n- include: ../steps/a.steps.yaml\n- advance: 1m\n";
    let files = [("suite/in/a.yaml", scenario), ("suite/steps/a.steps.yaml", "- advance: 1m\n")];
    let environment = TestEnvironment::with(&files);
    for (arguments, code) in [
        (&["lint", "suite/in/a.yaml"][..], 2),
        (&["lint", "suite/in"], 2),
        (&["lint", "suite"], 1),
        (&["lint", "suite/in/a.yaml", "suite/steps/a.steps.yaml"], 2),
        (&["lint", "suite/in/a.yaml", "--allow-folder", "suite/steps"], 1),
        (&["--allow-folder", "suite", "lint", "suite/in/a.yaml"], 1),
    ] {
        let output = environment.run(arguments);
        // One warning: nothing is expected. The file of steps alone is no scenario.
        assert_eq!(output.code, Some(code), "{arguments:?}: {output}");
    }
    let output = environment.run(&["lint", "suite", "--allow-folder", "none"]).to_string();
    assert!(output.contains("error: --allow-folder: none: expected a folder"), "{output}");
}

#[test]
fn links_in_folders_do_not_lead_outside() {
    let environment =
        environment("in/a.yaml", "name: n\ncluster: {version: 4.18.3}\ntimeline:\n- advance: 1m\n");
    let link = |target: &str, name: &str| symlink(target, environment.work().join(name)).unwrap();
    link("../secret.yaml", "in/scenario.yaml");
    for command in ["lint", "run", "mutate", "explore"] {
        let output = environment.run(&[command, "in"]).to_string();
        assert!(
            output.contains("exit 2")
                && output.contains("in/scenario.yaml: this link leads out of its folder"),
            "{output}"
        );
        assert!(!output.contains("precious"), "{command}: {output}");
    }
    environment.write("dump/namespaces/a/pods.yaml", "{kind: List, apiVersion: v1, items: []}");
    link("../secret.yaml", "dump/version.yaml");
    link("../none", "dump/nodes.yaml");
    let output = environment.run(&["serve", "--from", "dump", "--port", "0"]).to_string();
    assert!(output.contains("dump: skipped links to missing files or out of the folder: "), "{output}");
    assert!(output.contains(" and 1 more") && !output.contains("precious"), "{output}");
    std::fs::create_dir(environment.work().join("series")).unwrap();
    link("../secret", "series/4.13");
    link("../secret", "series/4.14");
    let output = environment.run(&["rollback-check", "--series", "series"]).to_string();
    assert!(output.contains("series/4.13: this link leads out of its folder"), "{output}");
    link("../none", "series/state.json");
    let output = environment.run(&["explore", "--corpus", "series", "--runs", "1"]).to_string();
    assert!(output.contains("series/state.json: this link leads out of its folder"), "{output}");
    assert!(!environment.work().join("none").exists());
    environment.write("crds/a.yaml", "kind: CustomResourceDefinition\n");
    link("../secret.yaml", "crds/b.yaml");
    let output = environment.run(&["rollback-check", "--from", "crds", "--to", "4.14"]).to_string();
    assert!(
        output.contains("crds/b.yaml: this link leads out of its folder") && !output.contains("precious"),
        "{output}"
    );
}

#[test]
fn the_names_in_a_record_lead_to_no_other_folder() {
    let scenario = "name: n\ncluster: {version: 4.18.3}\ntimeline:\n\
                    - apply: {apiVersion: v1, kind: Namespace, metadata: {name: wind-name}}\n";
    let environment = TestEnvironment::with(&[("a.yaml", scenario)]);
    environment.run(&["run", "a.yaml", "--record", "r.jsonl"]);
    let record = environment.read("r.jsonl");
    for name in ["../../outside", "/tmp/windtunnel-outside", "a/../../../outside"] {
        environment.write("r.jsonl", record.replace("wind-name", name));
        let output = environment.run(&["must-gather", "r.jsonl", "out/gathered"]);
        assert_ne!(output.code, Some(0), "{name}: {output}");
        assert!(!environment.files().iter().any(|file| file.contains("outside")), "{name}");
        let _ = std::fs::remove_dir_all(environment.work().join("out"));
    }
}

/// A scenario with a command that leaves a file.
const COMMAND: &str = "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1}}\nreleases: {4.18.6: }\nprograms:\n\
                       - {name: p, command: [sh, -c, \"echo >started; sleep 100\"]}\ntimeline:\n- advance: 1m\n";

const FEATURE: &str = "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 1 worker\n    \
                       And these programs:\n      \"\"\"\n      - {name: p, command: [sh, -c, \"echo >started; sleep 100\"]}\n      \
                       \"\"\"\n    When 1 minute passes\n  Scenario: other\n    Given a 4.18.3 cluster\n    When 1 minute passes\n";

#[test]
fn no_command_starts_programs_without_consent() {
    let files = [("a.yaml", COMMAND), ("a.feature", FEATURE)];
    let commands: [(&[&str], i32); 19] = [
        (&["run", "a.yaml"], 2),
        (&["run", "a.yaml", "--list"], 0),
        (&["run", "a.yaml", "--until", "10s"], 2),
        (&["run", "a.yaml", "--backend", "served"], 2),
        (&["run", "a.yaml", "--check-determinism"], 2),
        (&["run", "a.yaml", "--check-restarts"], 2),
        (&["run", "a.yaml", "--check-restored"], 2),
        (&["run", "a.yaml", "--seeds", "1..2"], 2),
        (&["test", "a.feature"], 2),
        (&["test", "a.feature", "--list"], 0),
        (&["lint", "a.yaml", "a.feature"], 1),
        (&["serve", "--scenario", "a.yaml", "--port", "0"], 2),
        (&["mutate", "a.yaml"], 1),
        (&["mutate", "a.feature"], 1),
        (&["sweep", "a.yaml"], 2),
        (&["explore", "a.yaml", "--runs", "1"], 2),
        (&["explore", "replay", "a.yaml"], 2),
        (&["explore", "minimise", "a.yaml"], 2),
        (&["split-upgrade", "a.yaml"], 2),
    ];
    for (arguments, code) in commands {
        let environment = TestEnvironment::with(&files);
        let output = environment.run(arguments);
        assert_eq!(environment.files(), ["a.feature", "a.yaml"], "{arguments:?}: {output}");
        assert_eq!(output.code, Some(code), "{arguments:?}: {output}");
    }
}

#[test]
fn a_command_of_a_file_starts_with_consent_and_is_named_before() {
    for arguments in [
        &["run", "a.yaml", "--allow-programs"][..],
        &["test", "a.feature", "--allow-programs"],
        &[
            "serve",
            "--scenario",
            "a.yaml",
            "--port",
            "0",
            "--timeline",
            "--exit",
            "--speed",
            "60x",
            "--allow-programs",
        ],
    ] {
        let environment = TestEnvironment::with(&[("a.yaml", COMMAND), ("a.feature", FEATURE)]);
        let output = environment.run(arguments);
        assert_eq!(output.code, Some(0), "{arguments:?}: {output}");
        assert!(environment.work().join("started").exists(), "{arguments:?}: {output}");
        let file = if arguments[0] == "test" { "a.feature" } else { "a.yaml" };
        let line = format!("{file} starts on this machine: `sh -c \"echo >started; sleep 100\"`\n");
        assert_eq!(output.stderr.matches(&line).count(), 1, "{arguments:?}: {output}");
    }
}

#[test]
fn a_refused_scenario_names_its_commands_and_the_others_run() {
    let other = "name: other\ncluster: {version: 4.18.3}\ntimeline:\n- advance: 1m\n";
    let files = [("a.yaml", COMMAND), ("b.yaml", other), ("a.feature", FEATURE)];
    let environment = TestEnvironment::with(&files);
    for (arguments, place, passed) in [
        (["run", "a.yaml", "b.yaml"], "a.yaml:5:3", "PASS  other"),
        (["test", "a.feature", "--quiet"], "a.feature:4:5", "PASS  other"),
    ] {
        let output = environment.run(&arguments);
        assert_eq!(output.code, Some(2), "{output}");
        let rejection = format!(
            "error: {place}: this file starts commands on this machine: `sh -c \"echo >started; sleep 100\"`; if you trust them, \
             add `--allow-programs`\n"
        );
        assert_eq!(output.stderr.matches(&rejection).count(), 1, "{output}");
        assert!(output.stdout.contains(passed), "{output}");
    }
}

#[test]
fn a_finding_of_a_corpus_starts_no_command() {
    let environment = TestEnvironment::new();
    environment.run(&["explore", "--runs", "1", "--corpus", "corpus"]);
    let mut state: Value = serde_json::from_str(&environment.read("corpus/state.json")).unwrap();
    let programs = json!([{ "name": "p", "command": ["sh", "-c", "echo >started"] }]);
    state["exploration"]["findings"] = json!([{
        "oracle": "stops", "cause": "c", "text": "t", "last_steps": [], "place": null, "found_in_run": 0, "shard": "", "runs": 1,
        "is_shrunk": false, "is_reproduced": false,
        "case": {
            "environment": { "cluster": { "version": "4.18.3" }, "programs": programs },
            "moments": [], "own_steps": [{ "advance": "1m" }],
        },
    }]);
    environment.write("corpus/state.json", state.to_string());
    let output = environment.run(&["explore", "replay", "corpus"]);
    assert!(output.stdout.contains("1 finding: "), "{output}");
    assert!(!environment.work().join("started").exists(), "{output}");
}

#[test]
fn the_environment_of_a_command_is_clean() {
    let script = "env | sort >environment-of-$KIND; cd \\\"$HOME\\\" && ls -d . root 2>/dev/null";
    let scenario = format!(
        "name: n\ncluster: {{version: 4.18.3, nodes: {{control-plane: 1}}}}\nprograms:\n\
         - {{name: p, command: [sh, -c, \"{script}\"], env: {{KIND: file, OWN: \"1\"}}}}\ntimeline:\n- advance: 1s\n"
    );
    let run = |arguments: &[&str]| {
        let environment = TestEnvironment::with(&[("a.yaml", &scenario)]);
        let mut command = environment.command(arguments);
        command.envs([
            ("PATH", "/usr/bin:/bin"),
            ("AWS_SECRET", "precious"),
            ("PASSED", "yes"),
            ("KUBECONFIG", "/mine"),
        ]);
        let output = environment.output_of(command);
        assert_eq!(output.code, Some(0), "{output}");
        environment.read("environment-of-file")
    };
    let names = |text: &str| {
        let names: Vec<String> =
            text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
        names.into_iter().filter(|name| !["_", "OLDPWD", "SHLVL"].contains(&&**name)).collect::<Vec<_>>()
    };
    let clean = run(&["run", "a.yaml", "--allow-programs"]);
    assert_eq!(names(&clean), ["HOME", "KIND", "KUBECONFIG", "OWN", "PATH", "PWD"], "{clean}");
    assert!(clean.contains("PATH=/usr/bin:/bin\n") && !clean.contains("/mine"), "{clean}");
    assert!(clean.lines().any(|line| line.starts_with("HOME=") && line.ends_with("/p/root")), "{clean}");
    let passed = run(&["run", "a.yaml", "--allow-programs", "--pass-env", "PASSED", "--pass-env", "NONE"]);
    assert!(passed.contains("PASSED=yes\n") && !passed.contains("AWS_SECRET"), "{passed}");
    let typed = TestEnvironment::with(&[(
        "a.yaml",
        "name: n\ncluster: {version: 4.18.3}\ntimeline:\n- advance: 1s\n",
    )]);
    let mut command = typed.command(&["run", "a.yaml", "--program", "sh -c 'env >typed'"]);
    command.envs([("PATH", "/usr/bin:/bin"), ("AWS_SECRET", "precious"), ("HOME", "/mine")]);
    assert_eq!(typed.output_of(command).code, Some(0));
    let typed = typed.read("typed");
    assert!(typed.contains("AWS_SECRET=precious\n") && typed.contains("HOME=/mine\n"), "{typed}");
}

#[test]
fn files_of_programs_stay_in_the_allowed_folders() {
    let environment = environment("in/a.yaml", "");
    for key in ["files: {/x: ../secret.yaml}", "folder: ../secret", "files: {/x: link}", "folder: /"] {
        let scenario = format!(
            "name: n\ncluster: {{version: 4.18.3}}\nprograms:\n- {{command: [touch, started], {key}}}\ntimeline:\n- advance: 1m\n"
        );
        environment.write("in/a.yaml", scenario);
        let output = environment.run(&["run", "in/a.yaml", "--allow-programs"]);
        check_refused(&output, &environment, key);
        assert!(!output.stderr.contains("starts on this machine"), "{output}");
    }
}

#[test]
#[cfg(feature = "live")]
fn programs_of_a_kubeconfig_are_named_and_auth_providers_rejected() {
    let kubeconfig = |user: &str| {
        format!(
            "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], clusters: \
             [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}], users: [{{name: u, user: {user}}}, {{name: other, user: \
             {{exec: {{command: touch, args: [other]}}}}}}]}}"
        )
    };
    let exec =
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [started, \"a\\e[2J\"]}}";
    let provider = "{auth-provider: {name: gcp, config: {cmd-path: touch, cmd-args: started}}}";
    for (user, expected, starts) in [
        (exec, "the kubeconfig starts for credentials: `touch started \"a\\u{1b}[2J\"`\n", true),
        (
            provider,
            "the user \"u\" of the kubeconfig has an `auth-provider`, which kubectl has removed in 1.26",
            false,
        ),
    ] {
        for arguments in [&["status"][..], &["record", "-o", "r.jsonl"], &["adm", "upgrade"], &["rbac"]] {
            let environment = TestEnvironment::with(&[("k", &kubeconfig(user))]);
            let output = environment.run(&[arguments, &["--kubeconfig", "k"]].concat());
            assert_ne!(output.code, Some(0), "{arguments:?}: {output}");
            assert!(output.stderr.contains(expected), "{arguments:?}: {output}");
            assert_eq!(environment.work().join("started").exists(), starts, "{arguments:?}: {output}");
            assert!(!environment.work().join("other").exists(), "{arguments:?}: {output}");
        }
    }
}
