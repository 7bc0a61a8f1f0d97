//! Tests of `parameters` and `include`.

use super::*;
use crate::scenario;

/// Returns a scenario with parameters; `rest` is its text after the table.
fn with_parameters(rows: &str, rest: &str) -> String {
    format!("name: n\nparameters:\n{rows}cluster: {{version: 4.14.1}}\n{rest}")
}

#[test]
fn each_row_of_parameters_is_a_scenario() {
    let rows = "- {to: 4.14.8, wait: [1m, 2m], n: 2}\n- {to: 4.15.0, wait: [], n: 3}\n";
    let rest = "releases: {<to>: }\ntags: <wait>\ndescription: to <to>, <n> times\n\
                timeline: [{update: {to: <to>}}]\n";
    let plans = scenario::parse_all("s.yaml", &with_parameters(rows, rest), &Few).unwrap();
    let scenarios: Vec<(&str, &str, &[String], &str)> = plans
        .iter()
        .map(|plan| (&*plan.name, &*plan.description, &*plan.tags, &*plan.timeline[0].text))
        .collect();
    let tags = ["1m".to_owned(), "2m".to_owned()];
    assert_eq!(
        scenarios,
        [
            ("n (4.14.8, 2)", "to 4.14.8, 2 times", &tags[..], "update to 4.14.8"),
            ("n (4.15.0, 3)", "to 4.15.0, 3 times", &[][..], "update to 4.15.0"),
        ]
    );
}

#[test]
fn lists_and_maps_stand_in_texts_as_yaml_in_one_line() {
    let rows = "- {ways: {image: [a, b]}}\n";
    let rest = "tags: [x]\ndescription: by <ways>\ntimeline: [clear-update]\n";
    let plans = scenario::parse_all("s.yaml", &with_parameters(rows, rest), &Few).unwrap();
    assert_eq!(plans[0].description, "by {image: [a, b]}");
    assert_eq!(plans[0].name, "n ({image: [a, b]})");
}

#[test]
fn reports_malformed_tables_and_wrong_values_at_their_position() {
    let rest = "releases: {<to>: }\ntimeline: [{update: {to: <to>}}]\n";
    let wrong = |rows: &str, errors: &str| check(&with_parameters(rows, rest), errors);
    wrong("- {to: 4.14.8, x: 1}\n", "s.yaml:3:16: `x` is not used: write `<x>` where its value belongs");
    wrong(
        "- {to: 4.14.8}\n- {too: 4.15.0}\n",
        "s.yaml:4:3: this row of parameters lacks `to`, which the first has\n\
         s.yaml:4:4: the first row of parameters has no `too`",
    );
    wrong(
        "- {to: 4.14}\n",
        "s.yaml:3:8: expected a version such as `4.14.8`, found `4.14`; a release has three numbers, such as `4.14.1`",
    );
    check(
        &with_parameters("  []\n", "timeline: [clear-update]\n"),
        "s.yaml:3:3: there are no rows of parameters: expected at least one",
    );
}

#[test]
fn included_steps_have_the_position_of_the_include() {
    let steps = "- include: {steps: completes.steps.yaml, with: {version: 4.14.8, within: 2h}}\n- include: settled.steps.yaml\n";
    let found = texts(steps);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "update to 4.14.8");
    let places: Vec<usize> =
        plan(&format!("{HEAD}{steps}")).unwrap().timeline.iter().map(|step| step.line).collect();
    assert_eq!(places, [5, 5, 6]);
}

#[test]
fn reports_files_that_cannot_be_included() {
    check_step("- include: none.steps.yaml", "s.yaml:5:12: none.steps.yaml: no such file");
    check_step(
        "- include: broken.steps.yaml",
        "broken.steps.yaml:2:3: unknown step `advanse`; did you mean `advance`?",
    );
    check_step(
        "- include: circle.steps.yaml",
        "circle.steps.yaml:1:12: includes are nested more than 4 deep",
    );
    check_step(
        "- include: {steps: settled.steps.yaml, with: {x: 1}}",
        "s.yaml:5:47: `x` is not used: write `<x>` where its value belongs",
    );
}
