//! The reports of `run` and `test`, apart from JUnit and HTML.

use serde_json::Value;

use super::environment::{TestEnvironment, check};
use super::scenarios::{CALM, WRONG};

/// A feature with a scenario that passes, one that fails and a canary.
const FEATURE: &str = "Feature: Three\n  Background:\n    Given a 4.20.1 cluster with 1 control-plane node and 0 workers\n  \
                       # @case_id OCP-22641\n  @right\n  Scenario: Right\n    When 1 minute passes\n    \
                       Then ClusterVersion condition Progressing is False\n  Scenario: Wrong\n    \
                       Then ClusterVersion condition Progressing is True\n    When 5 hours pass\n  \
                       @canary\n  Scenario: Canary\n    Then ClusterVersion condition Progressing is True\n";

#[test]
fn cucumber_json_and_test_results_list_failures_and_a_failing_canary_passes() {
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    let run = environment
        .run(&["test", "--cucumber-json", "c.json", "--test-results", "t.yaml", "f.feature"])
        .to_string();
    assert!(run.starts_with("exit 1"), "{run}");
    assert!(
        run.contains(
            "PASS  Canary  f.feature:13  (0:00:00 of cluster time, $TIME; a canary, failed as expected)"
        ),
        "{run}"
    );
    assert!(run.contains("3 scenarios: 2 passed, 1 failed"), "{run}");
    assert_eq!(
        environment.read("t.yaml"),
        "windtunnel:\n  errors: 0\n  failingScenarios:\n  - Wrong\n  failures: 1\n  flakes: 0\n  skipped: 0\n  total: 3\n  type: cucumber\n"
    );
    let found: Value = serde_json::from_str(&environment.read("c.json")).unwrap();
    assert_eq!(found[0]["uri"], "f.feature");
    let statuses: Vec<Vec<&str>> = found[0]["elements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|element| {
            let steps = element["steps"].as_array().unwrap();
            steps.iter().map(|step| step["result"]["status"].as_str().unwrap()).collect()
        })
        .collect();
    assert_eq!(
        statuses,
        [vec!["passed", "passed", "passed"], vec!["passed", "failed", "skipped"], vec!["passed", "passed"]]
    );
    let step = &found[0]["elements"][0]["steps"][1];
    assert_eq!((&step["keyword"], &step["name"]), (&"When ".into(), &"1 minute passes".into()));
    assert_eq!(step["result"]["duration"], 60_000_000_000_u64);
    let tags = &found[0]["elements"][0]["tags"];
    assert_eq!((&tags[0]["name"], &tags[1]["name"]), (&"@right".into(), &"@OCP-22641".into()));
}

#[test]
fn a_canary_that_passes_fails_its_suite() {
    let dead = CALM.replace("name: calm", "name: calm\ntags: [canary]");
    let found = check(&[("s/a.yaml", &dead), ("s/b.yaml", CALM)], &["run", "--quiet", "s"]);
    assert!(
        found.contains("exit 1") && found.contains("expected this canary to fail, but it passed"),
        "{found}"
    );
    let alive = WRONG.replace("name: a wrong expectation", "name: a wrong expectation\ntags: [canary]");
    let found = check(&[("a.yaml", &alive)], &["run", "--quiet", "a.yaml"]);
    assert!(found.contains("exit 0") && found.contains("a canary, failed as expected"), "{found}");
}

#[test]
fn json_output_is_one_document() {
    let environment = TestEnvironment::with(&[("s/calm.yaml", CALM), ("s/wrong.yaml", WRONG)]);
    let json = || {
        let output = environment.run(&["run", "--format", "json", "s"]);
        serde_json::from_str::<Value>(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output}"))
    };
    let found = json();
    assert_eq!((&found["passed"], &found["failed"]), (&1.into(), &1.into()));
    let wrong = &found["scenarios"][1];
    assert_eq!(wrong["failedAt"], serde_json::json!({ "line": 6, "column": 3 }));
    let outcomes: Vec<&Value> =
        wrong["steps"].as_array().unwrap().iter().map(|step| &step["outcome"]).collect();
    assert_eq!(outcomes, ["passed", "failed", "skipped"]);
    assert_eq!(found, json(), "the output is deterministic");
}

#[test]
fn reports_of_two_runs_are_the_same() {
    let environment =
        TestEnvironment::with(&[("f.feature", FEATURE), ("s/calm.yaml", CALM), ("s/wrong.yaml", WRONG)]);
    let reports = || {
        environment.run(&["run", "--quiet", "--junit", "j.xml", "--junit-upgrade", "u.xml", "s"]);
        let of_steps = ["--junit", "t.xml", "--junit-per", "step", "--cucumber-json", "c.json"];
        environment.run(&[&["test", "--test-results", "t.yaml"], &of_steps[..], &["f.feature"]].concat());
        // Wall times differ.
        let time = regex::Regex::new(r#" (time|timestamp)="[^"]*""#).unwrap();
        let read = |name| time.replace_all(&environment.read(name), "").into_owned();
        ["j.xml", "u.xml", "t.xml", "c.json", "t.yaml"].map(|name| (name, read(name)))
    };
    for ((name, first), (_, second)) in reports().iter().zip(reports()) {
        assert!(
            first.contains("Wrong") || first.contains("a wrong expectation") || *name == "u.xml",
            "{name}: {first}"
        );
        assert_eq!(*first, second, "{name}");
    }
}

#[test]
fn tags_and_ids_select_scenarios() {
    let tagged = CALM.replace("name: calm", "name: calm\ntags: [slow]\nids: [OTA-1321]");
    let environment = TestEnvironment::with(&[("s/calm.yaml", &tagged), ("s/wrong.yaml", WRONG)]);
    let run = |tags: &str| environment.run(&["run", "--quiet", "--tags", tags, "s"]).to_string();
    for tags in ["@slow", "not @OCP-22641", "@OTA-1321 and @slow"] {
        assert!(run(tags).contains("1 scenario: 1 passed"), "{tags}");
    }
    assert!(run("@OCP-22641").contains("1 scenario: 0 passed, 1 failed"));
    assert_eq!(run("@none"), "exit 2\n--- stderr\nerror: --tags: no scenario matches `@none`\n");
    assert!(run("@a and").contains("expected an expression such as `@rollback and not @slow`"));
}

#[test]
fn junit_upgrade_has_the_same_cases_in_every_run_and_names_the_cause() {
    let scenario = |last_status: &str| {
        format!(
            "name: n\nids: [OCP-41728]\ncluster: {{version: 4.20.1, nodes: {{control-plane: 1, workers: 0}}}}\n\
             releases: {{4.20.3: }}\ntimeline:\n- fault: {{operator: dns, is: stalled}}\n- update: {{to: 4.20.3}}\n\
             - expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: \"True\", message: /waiting on dns/}}, within: 3h}}\n\
             - expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: {last_status}}}, within: 2h}}\n"
        )
    };
    let blamed = |last_status: &str| {
        let text = scenario(last_status);
        let environment = TestEnvironment::with(&[("a.yaml", &text)]);
        environment.run(&["run", "--quiet", "--junit-upgrade", "u.xml", "a.yaml"]);
        environment.read("u.xml")
    };
    let (good, bad) = (blamed("\"True\""), blamed("\"False\""));
    let names = |xml: &str| {
        let cases = xml.split("<testcase name=\"").skip(1);
        cases.map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&good), names(&bad));
    assert!(names(&good).contains(&"upgrade should succeed: cvo".to_owned()) && names(&good).len() > 30);
    assert!(!good.contains("<failure"), "{good}");
    let failed: Vec<&str> = bad
        .split("openshift cluster upgrade failed at ")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(failed, ["OCP-41728", "dns", "overall"]);
}

#[test]
fn a_scenario_that_passes_with_another_seed_is_a_flake() {
    // The name of the version pod is random: some seed gives it another first letter than the first seed
    // does.
    let expecting = |first: char| {
        format!(
            "name: a drawn name\ncluster: {{version: 4.20.1, nodes: {{control-plane: 1, workers: 0}}}}\nreleases: {{4.20.3: }}\n\
             timeline:\n- update: {{to: 4.20.3}}\n- expect: {{object: Pod/openshift-cluster-version/version-4.20.3-{first}*, within: 1m}}\n"
        )
    };
    let letters = "bcdfghjklmnpqrstvwxz2456789";
    let flake = letters.chars().find_map(|first| {
        let environment = TestEnvironment::with(&[("a.yaml", &expecting(first))]);
        let found =
            environment.run(&["run", "--quiet", "--retry", "2", "--junit", "j.xml", "a.yaml"]).to_string();
        found.contains("FLAKE").then(|| (found, environment.read("j.xml")))
    });
    let (found, xml) = flake.expect("another seed draws one of these letters");
    assert!(found.starts_with("exit 0") && found.contains("0 passed, 0 failed, 1 flake;"), "{found}");
    assert!(found.contains("it passed with seed ") && found.contains("and failed before:"), "{found}");
    assert_eq!(xml.matches("<testcase name=\"a drawn name\"").count(), 2, "{xml}");
    let never = check(&[("a.yaml", WRONG)], &["run", "--quiet", "--retry", "2", "a.yaml"]);
    assert!(never.starts_with("exit 1") && !never.contains("FLAKE"), "{never}");
}

/// A scenario that passes with about half of all seeds: the random part of a pod's name begins with one of these letters.
const DRAWN: &str = "name: a drawn name\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}\n\
                     releases: {4.20.3: }\ntimeline:\n- update: {to: 4.20.3}\n\
                     - expect: {object: Pod/openshift-cluster-version/version-4.20.3-*, \
                     fields: {metadata.name: '/-[2-9b-k][^-]*$/'}, within: 1m}\n";

#[test]
fn a_scenario_runs_with_several_seeds_and_the_failed_ones_are_printed() {
    let environment = TestEnvironment::with(&[("s/a.yaml", DRAWN), ("s/b.yaml", CALM)]);
    let found = environment.run(&["run", "--quiet", "--seeds", "1..6", "s"]).to_string();
    assert!(found.starts_with("exit 1") && found.contains("2 scenarios: 1 passed, 1 failed"), "{found}");
    assert!(found.contains("PASS  calm  s/b.yaml  (") && found.contains("; 6 seeds)"), "{found}");
    let failed = found.split(" of 6 seeds fail: ").nth(1).expect("the seeds that fail");
    let failed: Vec<&str> = failed.split(" (line 6)").next().unwrap().split(", ").collect();
    assert!(failed.len() < 6, "{found}");
    let again = format!("windtunnel run s/a.yaml --seed {}\n", failed[0]);
    assert!(found.contains(&again), "{found}");
    for seed in 1..=6 {
        let seed = seed.to_string();
        let alone = environment.run(&["run", "--quiet", "--seed", &seed, "s/a.yaml"]).to_string();
        assert_eq!(alone.starts_with("exit 1"), failed.contains(&seed.as_str()), "{seed}: {alone}");
    }
    let json = environment.run(&["run", "--quiet", "--seeds", "1..6", "--format", "json", "s/a.yaml"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let failed: Vec<u64> = failed.iter().map(|seed| seed.parse().unwrap()).collect();
    assert_eq!(json["scenarios"][0]["seeds"], serde_json::json!({ "run": 6, "failed": failed }));
}

#[cfg(feature = "gherkin")]
#[test]
fn a_feature_runs_with_several_seeds() {
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    let found = environment.run(&["test", "--seeds", "3,5", "f.feature"]).to_string();
    assert!(found.starts_with("exit 1") && found.contains("3 scenarios: 2 passed, 1 failed"), "{found}");
    assert!(found.contains("2 of 2 seeds fail: 3, 5 (line 10)"), "{found}");
    assert!(found.contains("; 2 seeds; a canary, failed as expected)"), "{found}");
    assert!(found.contains("windtunnel test f.feature --seed 3 --name '^(Wrong)$'"), "{found}");
}

#[test]
fn a_run_stops_at_a_moment_and_shows_the_status_at_that_time() {
    let update = "name: n\ncluster: {version: 4.20.1}\nreleases: {4.20.3: }\ntimeline:\n- update: {to: 4.20.3}\n\
                  - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"False\", message: /4.20.3/}, within: 3h}\n";
    let found = check(&[("a.yaml", update)], &["run", "--until", "20m", "a.yaml"]);
    assert!(
        found.starts_with("exit 0") && found.contains("Target Version:  4.20.3 (from 4.20.1)"),
        "{found}"
    );
    assert!(found.contains("PASS  n  (0:20:00 of cluster time)"), "{found}");
    for (time, expected) in [("7m13s", "0:07:13"), ("90s", "0:01:30"), ("5h", "5:00:00")] {
        let found = check(&[("a.yaml", update)], &["run", "--quiet", "--until", time, "a.yaml"]);
        assert!(found.contains(&format!("PASS  n  ({expected} of cluster time)")), "{time}: {found}");
    }
    let several = check(&[("s/a.yaml", CALM), ("s/b.yaml", WRONG)], &["run", "--until", "20m", "s"]);
    assert!(several.contains("error: --until: expected one scenario, found 2"), "{several}");
    let no_time = check(&[("a.yaml", CALM)], &["run", "--until", "soon", "a.yaml"]);
    assert!(no_time.contains("error: --until: expected a duration such as `30m`, found `soon`"), "{no_time}");
}

#[test]
fn a_feature_is_split_into_pre_and_post_upgrade_features() {
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    And release 4.20.3 exists\n    When I pause pool worker\n    \
                   And I update to 4.20.3\n    Then within 3 hours ClusterVersion condition Progressing is False with message \"Cluster version is 4.20.3\"\n    \
                   And MachineConfigPool/worker field \"spec.paused\" is \"true\"\n";
    let environment = TestEnvironment::with(&[("f.feature", feature)]);
    let found = environment.run(&["split-upgrade", "f.feature", "--out", "twins"]).to_string();
    assert!(found.starts_with("exit 0"), "{found}");
    assert!(
        environment.read("twins/f-prepare.feature").contains("@upgrade-prepare\n  Scenario: s - prepare\n")
    );
    assert!(environment.read("twins/f-check.feature").contains("Given a 4.20.3 cluster\n"));
    let none = check(&[("f.feature", FEATURE)], &["split-upgrade", "f.feature"]);
    assert!(none.contains("error: f.feature: no scenario updates the cluster"), "{none}");
}

#[test]
fn pre_and_post_upgrade_scenarios_run_independently() {
    let scenario = "name: a pool stays paused\nids: [OCP-22606]\ntags: [pools]\nparameters: [{to: 4.20.3}, {to: 4.20.4}]\n\
                    cluster: {version: 4.20.1, insights: true}\nreleases: {<to>: }\ntimeline:\n\
                    - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n- update: {to: <to>}\n\
                    - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 5m}\n\
                    - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"False\", message: Cluster version is <to>}, within: 3h}\n\
                    - expect: {insight: ClusterVersion/version, condition: {type: Updating, status: \"False\"}, within: 1m}\n\
                    - expect: {insight: Health, never: true}\n";
    let environment = TestEnvironment::with(&[("f.yaml", scenario), ("calm.yaml", CALM)]);
    let found = environment.run(&["twins", "f.yaml", "--out", "twins"]).to_string();
    assert!(found.starts_with("exit 0") && found.contains("twins/f-2-check.yaml"), "{found}");
    let settled = |version: &str| {
        format!(
            "- expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: \"False\", message: Cluster version is {version}}}}}\n"
        )
    };
    assert_eq!(
        environment.read("twins/f-1-prepare.yaml"),
        format!(
            "name: a pool stays paused (4.20.3) - prepare\nids: [OCP-22606]\ntags: [pools, upgrade-prepare]\n\
             cluster: {{version: 4.20.1, insights: true}}\nreleases: {{4.20.3: null}}\ntimeline:\n{}\
             - apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}}}\n",
            settled("4.20.1")
        )
    );
    assert_eq!(
        environment.read("twins/f-1-check.yaml"),
        format!(
            "name: a pool stays paused (4.20.3)\nids: [OCP-22606]\ntags: [pools, upgrade-check]\n\
             cluster: {{version: 4.20.3, insights: true}}\nreleases: {{4.20.1: null}}\ntimeline:\n{}\
             - expect: {{insight: ClusterVersion/version, condition: {{type: Updating, status: \"False\"}}, within: 1m}}\n",
            settled("4.20.3")
        )
    );
    let output = environment.run(&["run", "twins", "--quiet"]).to_string();
    assert!(output.contains("4 scenarios: 4 passed, 0 failed"), "{output}");
    let none = environment.run(&["split-upgrade", "calm.yaml"]).to_string();
    assert!(none.contains("calm.yaml:1:1: no step updates the cluster"), "{none}");
}
