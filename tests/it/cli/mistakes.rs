//! Mistakes of new authors: `lint` reports each with its place, and says what to write instead.

use super::environment::{TestEnvironment, check};

/// The start of a scenario; the steps begin in line 6.
const HEAD: &str =
    "name: n\ncluster: {version: 4.18.3, nodes: {workers: 2}}\nreleases:\n  4.18.9:\ntimeline:\n";

/// Wrong steps, and what `lint` prints about each.
const STEPS: [(&str, &str); 31] = [
    ("- update: v4.18.9\n", "error: s.yaml:6:11: expected an update such as `{to: 4.14.8}`"),
    (
        "- update: {to: v4.18.9}\n",
        "error: s.yaml:6:16: expected a version such as `4.14.8`, found `v4.18.9`; write `4.18.9`",
    ),
    (
        "- delete: worker-0\n",
        "error: s.yaml:6:11: expected an object with its kind, such as `Node/worker-0` or `Pod/<namespace>/worker-0`, found `worker-0`",
    ),
    (
        "- expect: {alert: ClusterOperatorDown}\n",
        "expected an alert (a map), found `ClusterOperatorDown`; write `{name: ClusterOperatorDown}`",
    ),
    (
        "- expect: {object: Node/worker-0, fields: [spec.x]}\n",
        "expected fields by path (a map), found a list; write `{spec.x: ...}`, each name with its value",
    ),
    (
        "- expect: {writes: {by: administrator}}\n",
        "expected a list of writes, found a map; begin each item with `- `",
    ),
    (
        "- expect: {object: ClusterOperator/etcd, condition: {type: Available, status: yes}}\n",
        "found `yes`; write `\"True\"`",
    ),
    (
        "- expect: {object: ClusterOperator/etcd, condition: {type: Available, message: '/(/'}}\n",
        "unclosed group; write `\\` before a character that is meant literally",
    ),
    (
        "- run: oc adm upgarde --to 4.18.9\n",
        "error: s.yaml:6:8: expected `oc adm upgrade ...` (also its `status`) or `oc get ...`, found `oc adm upgarde --to 4.18.9`; did you mean `oc adm upgrade`?",
    ),
    ("\t- advance: 1m\n", "error: s.yaml:6:1: line 6 is indented with a tab: use spaces"),
    (
        "- expect:\n    alert: {name: A}\n     within: 1h\n",
        "error: s.yaml:8:6: line 8 is indented more than its siblings: indent it by 4 spaces, like line 7",
    ),
    (
        "- update:\n  to: 4.18.9\n",
        "error: s.yaml:7:3: a step does one thing: expected one key, found `to` too; if it belongs to `update`, indent \
         it more than `update`",
    ),
    (
        "- expect: {update: complete}\n  within: 2h\n",
        "found `within` too; if it belongs to `expect`, indent it more than `expect`",
    ),
    (
        "-advance: 1m\n",
        "error: s.yaml:6:1: a scenario has no key `-advance`; an item needs a space after `-`: write `- advance: ...`",
    ),
    (
        "- expect: {object: Node/a, fields: {status.a[0].b: c}}\n",
        "error: s.yaml:6:37: `[` within a key begins a list; quote the key: `\"status.a[0].b\":`",
    ),
    (
        "- expect: {alert: {name: a: b}}\n",
        "error: s.yaml:6:26: `: ` within a text begins a new key; quote the text: `name: \"a: b\"`",
    ),
    ("- expect: {log: \"a}\n", "error: s.yaml:6:17: "),
    (
        "- expect: {object: Node/a, field: {a: b}}\n",
        "error: s.yaml:6:28: an expectation has no key `field`; did you mean `fields`?",
    ),
    ("- upgrade: {to: 4.18.9}\n", "error: s.yaml:6:3: unknown step `upgrade`; did you mean `update`?"),
    (
        "- delete: Clusterversion/version\n",
        "error: s.yaml:6:11: unknown kind `Clusterversion`; did you mean `ClusterVersion`?",
    ),
    (
        "- expect: {object: ClusterVersion/version, condition: {type: Progresing}}\n",
        "warning: s.yaml:6:3: no ClusterVersion has a condition `Progresing`; did you mean `Progressing`?",
    ),
    (
        "- advance: 10\n",
        "error: s.yaml:6:12: expected a duration such as `45s`, `10m` or `1h30m`, found `10`",
    ),
    (
        "- update: {to: 4.18}\n",
        "error: s.yaml:6:16: expected a version such as `4.14.8`, found `4.18`; a release has three numbers, such as `4.18.1`",
    ),
    (
        "- update: {to: 4.18.10}\n",
        "error: s.yaml:6:16: no release 4.18.10 exists in this scenario: add it to `releases`; did you mean `4.18.9`?",
    ),
    (
        "- fault: {operator: ectd, is: degraded}\n",
        "warning: s.yaml:6:3: no release of this scenario has an operator ectd; did you mean `etcd`?",
    ),
    ("- fault: {node: worker-0, is: notready}\n", "`degraded`, found `notready`; did you mean `not-ready`?"),
    (
        "- fault: {pool: wroker, is: render-flips}\n",
        "warning: s.yaml:6:3: the cluster has no pool wroker; did you mean `worker`?",
    ),
    (
        "- advance: 1m\nreleases: {}\n",
        "error: s.yaml:7:1: the key `releases` occurs twice: remove one of them",
    ),
    (
        "- expect: {object: Deployment/etcd-operator, absent: true}\n",
        "error: s.yaml:6:20: expected `Deployment/<namespace>/<name>`, found `Deployment/etcd-operator`",
    ),
    ("- expect: {log: {of: a, has: /(/}}\n", "error: s.yaml:6:"),
    (
        "- join: {node: worker-2, labels: {a b: c, d: e f}}\n",
        "error: s.yaml:6:35: expected the name of a label, such as `disk` or `example.com/disk`, found `a b`\n\
         error: s.yaml:6:46: expected the value of a label: at most 63 letters, digits, `-`, `_` and `.`, such as `a` or \
         `\"\"`, found `e f`",
    ),
];

#[test]
fn mistakes_in_scenarios_are_explained() {
    for (steps, expected) in STEPS {
        let output = check(&[("s.yaml", &format!("{HEAD}{steps}"))], &["lint", "s.yaml"]);
        assert!(output.contains(expected), "{steps}\n{output}");
    }
}

/// Wrong steps of features, and what `lint` prints about each; the steps begin in line 3.
#[cfg(feature = "gherkin")]
const FEATURE_STEPS: [(&str, &str); 10] = [
    (
        "Given a 4.18.3 cluster\nWhen I upgrade my cluster to:\n",
        "error: f.feature:4:1: expected a table below the step: a line such as `| a | b |` for each row",
    ),
    (
        "Given a 4.18.3 cluster\nAnd this object:\n",
        "expected an object as YAML in a doc string: below the step, between two lines with `\"\"\"`",
    ),
    (
        "Given a 4.18.3 cluster\nWhen I patch MachineConfigPool/worker with:\n\"\"\"\nspec: {a: b\n\"\"\"\n",
        "the patch is not valid YAML: line 1, column 7 of the patch: ",
    ),
    (
        "Give a 4.18.3 cluster\n",
        "error: f.feature:3:1: no step begins with `Give`; did you mean `Given a 4.18.3 cluster`?",
    ),
    (
        "When I update to 4.18.9\n",
        "error: f.feature:3:1: there is no cluster yet: start with `Given a 4.14.1 cluster`",
    ),
    (
        "Given a 4.18.3 cluster\nWhen I upgrade to 4.18.9\n",
        "error: f.feature:4:1: unknown step `When I upgrade to 4.18.9`; the nearest is `I update to 4.14.8`",
    ),
    (
        "Given a 4.18.3 cluster\nWhen I update to 4.18.9\nAnd 5 minutes pass\n",
        "warning: f.feature:4:1: no release 4.18.9 exists yet: write `Given release 4.18.9 exists` first",
    ),
    (
        "Given a 4.18.3 cluster\nThen ClusterVersion condition Failing is False within 2 hours\n",
        "error: f.feature:4:1: unknown step `Then ClusterVersion condition Failing is False within 2 hours`; the nearest \
         is `within 10 minutes ClusterVersion condition ",
    ),
    (
        "Given a 4.18.3 cluster\nThen ClusterVersion field spec.channel is stable-4.18\n",
        "the nearest is `within 10 minutes ClusterVersion field \"status.history[0].state\" is \"Completed\"`",
    ),
    ("@a b\nGiven a 4.18.3 cluster\n", "error: f.feature:3:1: expected tags, each with `@`, found `b`"),
];

#[test]
#[cfg(feature = "gherkin")]
fn mistakes_in_features_are_explained() {
    for (steps, expected) in FEATURE_STEPS {
        let text = format!("Feature: f\nScenario: s\n{steps}");
        let output = check(&[("f.feature", &text)], &["lint", "f.feature"]);
        assert!(output.contains(expected), "{steps}\n{output}");
    }
}

#[test]
fn scenarios_in_place_of_records_and_misspelt_keywords_are_explained() {
    let scenario = format!("{HEAD}- advance: 1m\n");
    let output = check(&[("s.yaml", &scenario)], &["scenario-from", "s.yaml"]);
    assert!(output.contains("`windtunnel run s.yaml --record FILE.jsonl` records a run of it"), "{output}");
    let feature = "Feature: f\n  Secnario: s\n    Given a 4.18.3 cluster\n";
    let output = check(&[("f.feature", feature)], &["lint", "f.feature"]);
    assert!(
        output.contains("error: f.feature:2:3: no keyword is `Secnario:`; did you mean `Scenario:`?"),
        "{output}"
    );
    let list = HEAD.replace("releases:\n  4.18.9:\n", "releases: [4.18.9]\n") + "- advance: 1m\n";
    let output = check(&[("s.yaml", &list)], &["lint", "s.yaml"]);
    assert!(output.contains("found a list; write `{4.18.9: ...}`, each name with its value"), "{output}");
}

#[test]
fn mistakes_in_flags_are_explained() {
    let environment = TestEnvironment::with(&[("s.yaml", &format!("{HEAD}- advance: 1m\n"))]);
    for (flags, expected) in [
        ("--seed x", "invalid value 'x' for '--seed <SEED>': expected a whole number from 0\n"),
        ("--jobs 0", "invalid value '0' for '--jobs <N>': expected a whole number from 1 to 4294967295\n"),
        ("--jobs many", "expected a whole number from 1 to 4294967295\n"),
        ("--retry -1", "'-1'"),
        ("--name (", "expected a regular expression such as `rollback|etcd`: unclosed group"),
        ("--shard 3/2", "expected one part of several, such as 2/3, or 0+1/3 for the first"),
        ("--sed 3", "a similar argument exists: '--seed'"),
        ("--determinism", "a similar argument exists: '--check-determinism'"),
        ("--seeds 5..1", "expected the smaller seed first: write `1..5`"),
        ("--tags @smoek", "--tags: no scenario matches `@smoek`"),
    ] {
        let words: Vec<&str> = ["run", "s.yaml"].into_iter().chain(flags.split(' ')).collect();
        let output = environment.run(&words);
        assert!(output.code == Some(2) && output.stderr.contains(expected), "{flags}\n{output}");
    }
}
