//! Text of a stranger on standard output and standard error: it changes no terminal, is no command for a CI system, and begins no
//! line of its own.

use windtunnel_core::text::visible;
use windtunnel_core::yaml;

use super::environment::{Output, TestEnvironment};
use super::scenarios::{CALM, WRONG};

/// A name that copies to the clipboard, clears the screen, reverses text, and begins a line and a command of GitHub and of Azure.
const NAME: &str = "x\u{1b}]52;c;YQ==\u{7}\u{9b}2J\u{202e}\rFORGED\nFORGED\n ::error::FORGED\n##vso[task.x]";

/// As [`NAME`], for a name of a file.
const FILE: &str = "x\u{1b}[2J\u{9b}2J\u{202e}\nFORGED\n ::error::FORGED";

/// As [`NAME`], for an argument, in which a line break is the user's own.
const ARGUMENT: &str = "x\u{1b}[2J\u{9b}2J\u{202e}\rFORGED";

/// A text in a string of JSON or YAML.
fn quoted(text: &str) -> String {
    yaml::quoted(text)
}

/// What is wrong with the output of a command, which must have something of the hostile text; `None` if nothing is.
fn fault(output: &Output, arguments: &[&str]) -> Option<String> {
    let text = format!("{}{}", output.stdout, output.stderr);
    let begins_forged = |line: &str| line.trim_start().trim_start_matches("error: ").starts_with("FORGED");
    let fault = match () {
        () if visible(&text) != text => "acts on a terminal or a CI system",
        () if text.lines().any(begins_forged) => "has a line that begins with a part of a name",
        () if !text.contains("FORGED") => "has no hostile text, so that it tests nothing",
        () => return None,
    };
    Some(format!("{arguments:?} {fault}:\n{}", text.escape_debug()))
}

/// The commands that print something of a scenario, a record, a dump or an argument.
const COMMANDS: &[&[&str]] = &[
    &["run", "named.yaml"],
    &["run", "named.yaml", "failing.yaml"],
    &["run", "--list", "named.yaml"],
    &["run", "--format", "json", "named.yaml"],
    &["run", "--quiet", "--check-restored", FILE_YAML],
    &["run", FILE_YAML, "named.yaml"],
    &["lint", "named.yaml", "copy.yaml"],
    &["lint", "invalid.yaml"],
    &["lint", "--format", "sarif", "invalid.yaml"],
    &["lint", "folder"],
    &["mutate", "named.yaml", "--list"],
    &["report", "named.jsonl"],
    &["report", "--verbose", "--width", "0", "named.jsonl"],
    &["report", "named.jsonl", "plain.jsonl"],
    &["scenario-from", "named.jsonl"],
    &["logs", "named.jsonl"],
    &["logs", "named.jsonl", "machine-config-daemon-master-0"],
    &["logs", "named.jsonl", ARGUMENT],
    &["status", "--from", "dump"],
    &["dump", "dump"],
    &["dump", "dump", "--files"],
    &["dump", "dump", "-o", "json"],
    &["check", "named.jsonl", "--rule", ARGUMENT],
    &["check", NAME],
    &["must-gather", FILE_JSONL, "--output", FILE],
    &["run", "--x\u{1b}[2J\u{9b}2J\u{202e}\rFORGED"],
    &[ARGUMENT],
    &["lint", NAME],
    #[cfg(feature = "gherkin")]
    &["lint", "feature.feature"],
];

const FILE_YAML: &str = "folder/x\u{1b}[2J\u{9b}2J\u{202e}\nFORGED\n ::error::FORGED.yaml";
const FILE_JSONL: &str = "x\u{1b}[2J\u{9b}2J\u{202e}\nFORGED\n ::error::FORGED.jsonl";

/// An environment with hostile scenarios, features, records and dumps.
fn environment() -> TestEnvironment {
    let name = quoted(NAME);
    let named = CALM.replace("name: calm", &format!("name: {name}"));
    let failing = WRONG.replace("a wrong expectation", "b").replace("name: b", &format!("name: {name}"));
    let invalid = named.replace("timeline:", &format!("{name}: 1\ntimeline:"));
    let cluster = format!(
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {{name: version}}\nspec: {{}}\nstatus:\n  history: []\n  \
         desired: {{version: {name}, image: i}}\n  conditions: [{{type: Failing, status: \"True\", reason: {name}, message: {name}}}]\n"
    );
    let environment = TestEnvironment::with(&[
        ("calm.yaml", CALM),
        ("named.yaml", &named),
        ("copy.yaml", &named),
        ("failing.yaml", &failing),
        ("invalid.yaml", &invalid),
        (FILE_YAML, &named.replace("timeline:", "timelin:")),
        ("dump/version.yaml", &cluster),
        (&format!("dump/{FILE}.yaml"), "a: [\n"),
        (
            "feature.feature",
            &format!("Feature: f\n  Scenario: s\n    Given {}\n", NAME.replace(['\n', '\r'], " ")),
        ),
    ]);
    let run = environment.run(&["run", "--quiet", "calm.yaml", "--record", "plain.jsonl"]);
    assert_eq!(run.code, Some(0), "{run}");
    let record = hostile(&environment.read("plain.jsonl"));
    environment.write("named.jsonl", &record);
    environment.write(FILE_JSONL, &record);
    environment
}

/// A record with hostile names, messages and log lines.
fn hostile(record: &str) -> String {
    let texts = ["calm", "kube-scheduler", "etcd-master-0", "All is well", "machine-config-daemon"];
    let name = quoted(NAME);
    let record = record.replace("update.go:3106", name.trim_matches('"'));
    texts.iter().fold(record, |record, text| record.replace(&format!("\"{text}\""), &name))
}

#[test]
fn no_text_of_a_stranger_acts_on_a_terminal_or_a_ci_system() {
    let environment = environment();
    let faults = COMMANDS.iter().filter_map(|arguments| fault(&environment.run(arguments), arguments));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn reports_for_ci_systems_have_neither_commands_nor_characters_that_xml_forbids() {
    let environment = environment();
    let run = environment.run(&[
        "run",
        "failing.yaml",
        "--quiet",
        "--junit",
        "junit.xml",
        "--junit-upgrade",
        "upgrade.xml",
        "--github-summary=summary.md",
        "--test-results",
        "results.yaml",
    ]);
    assert_eq!(run.code, Some(1), "{run}");
    for file in ["junit.xml", "upgrade.xml", "summary.md", "results.yaml"] {
        let text = environment.read(file);
        assert_eq!(visible(&text), text, "{file}");
        assert!(text.contains("FORGED"), "{file}: {text}");
    }
    let results: serde_json::Value = yaml::from_str(&environment.read("results.yaml")).unwrap();
    assert_eq!(results["windtunnel"]["failingScenarios"][0], NAME, "YAML keeps the name");
    let xml = environment.read("junit.xml");
    let mut reader = quick_xml::Reader::from_str(&xml);
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(start) => {
                start.attributes().for_each(|attribute| drop(attribute.unwrap()));
            }
            _ => {}
        }
    }
}

#[test]
fn a_draft_of_a_hostile_record_is_a_scenario_with_its_texts() {
    let environment = environment();
    assert_eq!(environment.run(&["scenario-from", "named.jsonl", "--output", "draft.yaml"]).code, Some(0));
    let draft: serde_json::Value = yaml::from_str(&environment.read("draft.yaml")).unwrap();
    assert_eq!(draft["name"], format!("{NAME}, drafted"));
    let lint = environment.run(&["lint", "draft.yaml"]);
    assert_eq!(lint.code, Some(0), "{lint}");
}
