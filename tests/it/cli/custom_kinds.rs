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
