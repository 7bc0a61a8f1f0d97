//! Kinds of definitions that a scenario brings.

use super::environment::{TestEnvironment, check};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: lamps.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {kind: Lamp, plural: lamps, singular: lamp, listKind: LampList}
      versions:
      - name: v1
        served: true
        storage: true
        schema:
          openAPIV3Schema:
            type: object
            properties: {spec: {type: object, properties: {colour: {type: string, enum: [red, green]}}}}
";

const LAMP: &str = "{apiVersion: example.com/v1, kind: Lamp, metadata: {namespace: default, name: hall}, \
                    spec: {colour: red}}";

fn scenario(objects: &str, timeline: &str) -> String {
    format!(
        "name: n\ncluster:\n  version: 4.20.1\n  nodes: {{control-plane: 1, workers: 0}}\n{objects}timeline:\n{timeline}"
    )
}

fn run(text: &str) -> String {
    check(&[("a.yaml", text)], &["run", "a.yaml", "--quiet"])
}

#[test]
fn a_definition_that_is_applied_makes_its_kind_known() {
    let timeline = format!(
        "- apply:\n    {DEFINITION}- apply: {LAMP}\n\
         - expect: {{object: Lamp/default/hall, fields: {{spec.colour: red}}}}\n\
         - apply: {}\n\
         - expect: {{object: Lamp.example.com/default/hall, fields: {{spec.colour: green}}}}\n\
         - try: {{apply: {}, refused: {{contains: Unsupported value}}}}\n\
         - delete: Lamp/default/hall\n\
         - expect: {{object: Lamp/default/*, absent: true}}\n",
        LAMP.replace("red", "green"),
        LAMP.replace("red", "blue"),
    );
    let output = run(&scenario("", &timeline));
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn objects_of_the_cluster_may_have_a_kind_that_another_one_defines() {
    let objects = format!("  objects:\n  - {DEFINITION}  - {LAMP}\n");
    let output =
        run(&scenario(&objects, "- expect: {object: Lamp/default/hall, fields: {spec.colour: red}}\n"));
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn before_its_definition_a_kind_is_unknown() {
    let timeline = format!("- apply: {LAMP}\n- apply:\n    {DEFINITION}");
    let output = TestEnvironment::with(&[("a.yaml", &scenario("", &timeline))]).run(&["lint", "a.yaml"]);
    let expected = "unknown kind `Lamp`; the nearest are ";
    assert!(output.stdout.contains(expected), "{output}");
    assert!(output.stdout.lines().all(|line| line.len() < 300), "{output}");
}

#[test]
fn oc_get_finds_custom_kinds_by_their_names() {
    let objects = format!("  objects:\n  - {DEFINITION}  - {LAMP}\n");
    let timeline = "- run: {command: oc get lamps.example.com -n default -o name, prints: lamp.example.com/hall}\n\
                    - run: {command: \"oc get lamp hall -n default -o jsonpath={.spec.colour}\", prints: red}\n";
    let output = run(&scenario(&objects, timeline));
    assert!(output.contains("exit 0"), "{output}");
    let output = run(&scenario("", timeline));
    assert!(output.contains("doesn't have a resource type \"lamps.example.com\""), "{output}");
}

#[cfg(feature = "gherkin")]
#[test]
fn steps_know_the_kinds_of_earlier_steps() {
    let object = |text: &str| format!("    \"\"\"\n    {text}\n    \"\"\"\n");
    let cluster =
        "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster with 1 control-plane node and 0 workers\n";
    let fault = "    When the API server answers conflict to the next update of Lamp/hall\n";
    let text = format!(
        "{cluster}    And this object:\n{}    When I apply this object:\n{}{fault}\
         \x20   Then Lamp/default/hall field \"spec.colour\" is \"red\"\n    When I delete Lamp/default/hall\n",
        object(DEFINITION.trim_end()),
        object(LAMP)
    );
    let output = check(&[("f.feature", &text)], &["test", "f.feature"]);
    assert!(output.starts_with("exit 0"), "{output}");
    let output = check(&[("f.feature", &format!("{cluster}{fault}"))], &["test", "f.feature"]);
    assert!(output.contains("unknown kind `Lamp`"), "{output}");
}
