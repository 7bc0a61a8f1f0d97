//! Splits a feature into a pre-upgrade and a post-upgrade feature, for environments where something else
//! updates the cluster between the two runs.

use cucumber::gherkin::{Feature, Scenario, Step, StepType};

use super::gherkin;

/// The text of a step that expects the end of an update.
const COMPLETE: [&str; 2] = ["\"Cluster version is ", "status.history[0].state\" is \"Completed\""];

/// The start of a step that requests an update.
const UPDATES: [&str; 3] = ["I update to ", "I run \"oc adm upgrade --to", "I run \"oc adm upgrade rollback"];

/// The features of both phases.
#[derive(Debug)]
pub struct SplitFeature {
    /// The feature to run before the update.
    pub prepare: String,
    /// The feature to run after the update.
    pub check: String,
}

/// Splits all scenarios of a feature that update the cluster. The steps before the update go to the first
/// feature, those after the expectation of its end to the second one; the steps between are dropped.
///
/// # Errors
/// The feature is invalid, or has no scenario that updates the cluster and expects something after it.
pub fn split(file: &str, text: &str) -> Result<SplitFeature, String> {
    let feature = gherkin::parse_feature(file, text)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let (mut prepare, mut check) = (head(&feature, "prepare"), head(&feature, "check"));
    let mut has_update = false;
    let of_rules =
        feature.rules.iter().flat_map(|rule| rule.scenarios.iter().map(move |own| (Some(rule), own)));
    for (rule, scenario) in feature.scenarios.iter().map(|own| (None, own)).chain(of_rules) {
        let steps: Vec<&Step> = gherkin::steps_of(&feature, rule, scenario).collect();
        let Some(parts) = Parts::of(&steps) else { continue };
        has_update = true;
        prepare += &phase_scenario(scenario, "prepare", " - prepare", &parts.given, &parts.before);
        let after: Vec<KeyedStep> = parts.at_target.iter().cloned().chain(parts.facts).collect();
        check += &phase_scenario(scenario, "check", "", &after, &parts.after);
    }
    if has_update {
        Ok(SplitFeature { prepare, check })
    } else {
        Err(format!(
            "{file}: no scenario updates the cluster, expects the end of the update (`ClusterVersion condition Progressing is False \
             with message \"Cluster version is ...\"`), and expects something after that"
        ))
    }
}

/// A step with the keyword that it needs in its new place.
type KeyedStep = (&'static str, Step);

/// The steps of a scenario by phase.
struct Parts {
    given: Vec<KeyedStep>,
    at_target: Option<KeyedStep>,
    facts: Vec<KeyedStep>,
    before: Vec<KeyedStep>,
    after: Vec<KeyedStep>,
}

impl Parts {
    fn of(steps: &[&Step]) -> Option<Self> {
        let starts = |step: &&Step| UPDATES.iter().any(|begin| step.value.starts_with(begin));
        let ends =
            |step: &&Step| step.ty == StepType::Then && COMPLETE.iter().any(|text| step.value.contains(text));
        let update = steps.iter().position(starts)?;
        let end = update + steps[update..].iter().position(ends)?;
        let keyed = |step: &&Step| (keyword(step.ty), (*step).clone());
        let given: Vec<KeyedStep> =
            steps.iter().filter(|step| step.ty == StepType::Given).map(keyed).collect();
        let not_given = |step: &&&Step| step.ty != StepType::Given;
        let after: Vec<KeyedStep> = steps[end + 1..].iter().filter(not_given).map(keyed).collect();
        if after.is_empty() {
            return None;
        }
        // If the step does not name the target release, the cluster keeps its initial release.
        let target = steps[update].value.split([' ', '"', '=']).find(|word| word.matches('.').count() == 2);
        let at_target = given.iter().find(|(_, step)| is_cluster(step)).map(|(keyword, step)| {
            let own = step.value.split(' ').find(|word| word.matches('.').count() == 2).unwrap_or_default();
            let value = target.map_or_else(|| step.value.clone(), |to| step.value.replacen(own, to, 1));
            (*keyword, Step { value, ..step.clone() })
        });
        let is_fact =
            |(_, step): &&KeyedStep| !is_cluster(step) && target.is_none_or(|to| !step.value.contains(to));
        let facts = given.iter().filter(is_fact).cloned().collect();
        let before = steps[..update].iter().filter(not_given).map(keyed).collect();
        Some(Self { given, at_target, facts, before, after })
    }
}

fn is_cluster(step: &Step) -> bool {
    step.ty == StepType::Given && (step.value.ends_with(" cluster") || step.value.contains(" cluster with "))
}

fn keyword(ty: StepType) -> &'static str {
    match ty {
        StepType::Given => "Given",
        StepType::When => "When",
        StepType::Then => "Then",
    }
}

fn head(feature: &Feature, phase: &str) -> String {
    let tags: Vec<String> = feature.tags.iter().map(|tag| format!("@{tag}")).collect();
    let tags = if tags.is_empty() { String::new() } else { format!("{}\n", tags.join(" ")) };
    format!("{tags}Feature: {} ({phase})\n", feature.name)
}

fn phase_scenario(
    scenario: &Scenario,
    phase: &str,
    suffix: &str,
    given: &[KeyedStep],
    steps: &[KeyedStep],
) -> String {
    let tags: Vec<String> = scenario.tags.iter().map(|tag| format!("@{tag}")).collect();
    let mut text = format!("\n  @upgrade-{phase} {}", tags.join(" ")).trim_end().to_owned();
    text += &format!("\n  Scenario: {}{suffix}\n", scenario.name);
    let mut last = "";
    for (keyword, step) in given.iter().chain(steps) {
        let shown = if *keyword == last { "And" } else { keyword };
        last = keyword;
        text += &format!("    {shown} {}\n", step.value);
        if let Some(docstring) = &step.docstring {
            let docstring = docstring.strip_prefix('\n').unwrap_or(docstring);
            let lines: String = docstring
                .lines()
                .map(|line| format!("      {line}\n").trim_end().to_owned() + "\n")
                .collect();
            text += &format!("      \"\"\"\n{lines}      \"\"\"\n");
        }
        for row in step.table.iter().flat_map(|table| &table.rows) {
            let cells: Vec<String> =
                row.iter().map(|cell| cell.replace('\\', "\\\\").replace('|', "\\|")).collect();
            text += &format!("      | {} |\n", cells.join(" | "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Suite;

    #[test]
    fn splits_a_scenario_into_two_valid_features() {
        let text = "@update\nFeature: Pools\n  Background:\n    Given a 4.14.1 cluster\n    And release 4.14.8 exists\n  \
                    # OCP-22606\n  Scenario: A pool stays\n    When I apply this object:\n      \"\"\"\n      apiVersion: v1\n      \
                    kind: ConfigMap\n      metadata: {name: a, namespace: default}\n      \"\"\"\n    And I update to 4.14.8\n    \
                    Then within 5 minutes ClusterVersion condition Progressing is True\n    And within 3 hours ClusterVersion \
                    condition Progressing is False with message \"Cluster version is 4.14.8\"\n    \
                    And ConfigMap/default/a exists\n";
        let SplitFeature { prepare, check } = split("f", text).unwrap();
        assert_eq!(
            prepare,
            "@update\nFeature: Pools (prepare)\n\n  @upgrade-prepare @OCP-22606\n  Scenario: A pool stays - prepare\n    \
             Given a 4.14.1 cluster\n    And release 4.14.8 exists\n    When I apply this object:\n      \"\"\"\n      \
             apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: a, namespace: default}\n      \"\"\"\n"
        );
        assert_eq!(
            check,
            "@update\nFeature: Pools (check)\n\n  @upgrade-check @OCP-22606\n  Scenario: A pool stays\n    \
             Given a 4.14.8 cluster\n    Then ConfigMap/default/a exists\n"
        );
        for text in [prepare, check] {
            Suite::parse(&[("f".to_owned(), text)]).unwrap();
        }
    }

    #[test]
    fn rejects_a_feature_without_an_update() {
        let text =
            "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster\n    Then ClusterVersion/version exists\n";
        assert!(split("f", text).unwrap_err().starts_with("f: no scenario updates the cluster"));
    }
}
