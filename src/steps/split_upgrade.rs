//! Splits a feature into a pre-upgrade and a post-upgrade feature, for environments where something else
//! updates the cluster between the two runs.

use cucumber::gherkin::{Feature, Scenario, Step, StepType};

use super::catalogue::keyword;
use super::{FeatureFiles, dry_run, gherkin};
use crate::plan::PlannedStep;

/// The features of both phases.
#[derive(Debug)]
pub struct SplitFeature {
    /// The feature to run before the update.
    pub prepare: String,
    /// The feature to run after the update.
    pub check: String,
}

/// Splits all scenarios of a feature that update the cluster. The steps before the update go to the first
/// feature, those after the expectation of its end to the second one, except those that look back at the whole
/// run. The steps between are dropped.
///
/// # Errors
/// The feature is invalid, or has no scenario that updates the cluster and expects something after it.
pub fn split(file: &str, text: &str, feature_files: Option<FeatureFiles>) -> Result<SplitFeature, String> {
    let feature = gherkin::parse_feature(file, text)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let (mut prepare, mut check) = (head(&feature, "prepare"), head(&feature, "check"));
    let mut has_update = false;
    for (rule, scenario) in gherkin::scenarios_with_rules(&feature) {
        let steps = dry_run::planned(&feature, rule, scenario, feature_files);
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
            "{file}: no scenario updates the cluster, expects the end of the update (`within 3 hours the update is complete`), and \
             expects something after that"
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
    fn of(steps: &[(&Step, Vec<PlannedStep>)]) -> Option<Self> {
        let any = |planned: &[PlannedStep], is: fn(&PlannedStep) -> bool| planned.iter().any(is);
        let update = steps.iter().position(|(_, planned)| any(planned, PlannedStep::updates))?;
        let completes = |(_, planned): &(_, Vec<_>)| any(planned, PlannedStep::completes_update);
        let end = update + steps[update..].iter().position(completes)?;
        let keyed = |(step, _): &(&Step, _)| (keyword(step.ty), (*step).clone());
        let is_given = |(step, _): &&(&Step, _)| step.ty == StepType::Given;
        let given: Vec<KeyedStep> = steps.iter().filter(is_given).map(keyed).collect();
        let after: Vec<KeyedStep> = steps[end + 1..]
            .iter()
            .filter(|step| !is_given(step))
            .take_while(|(_, planned)| !any(planned, PlannedStep::updates))
            .filter(|(_, planned)| !any(planned, PlannedStep::looks_back))
            .map(keyed)
            .collect();
        if after.is_empty() {
            return None;
        }
        // If the step does not name the target release, the cluster keeps its initial release.
        let target = steps[update].1.iter().find_map(|planned| planned.update_target(|_| true));
        let target = target.map(|version| version.to_string());
        let at_target = given.iter().find(|(_, step)| is_cluster(step)).map(|(keyword, step)| {
            let own = step.value.split(' ').find(|word| word.matches('.').count() == 2).unwrap_or_default();
            let value =
                target.as_ref().map_or_else(|| step.value.clone(), |to| step.value.replacen(own, to, 1));
            (*keyword, Step { value, ..step.clone() })
        });
        let names_target = |step: &Step| target.as_deref().is_some_and(|target| step.value.contains(target));
        let is_fact = |(_, step): &&KeyedStep| !is_cluster(step) && !names_target(step);
        let facts = given.iter().filter(is_fact).cloned().collect();
        let before = steps[..update].iter().filter(|step| !is_given(step)).map(keyed).collect();
        Some(Self { given, at_target, facts, before, after })
    }
}

fn is_cluster(step: &Step) -> bool {
    step.ty == StepType::Given && (step.value.ends_with(" cluster") || step.value.contains(" cluster with "))
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
        let SplitFeature { prepare, check } = split("f", text, None).unwrap();
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
    fn recognizes_each_way_to_update_and_to_expect_the_end() {
        let check = |update: &str, end: &str| {
            let text = format!(
                "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster\n    And release 4.14.8 exists\n    When {update}\n    \
                 Then {end}\n    And node worker-0 was rebooted 1 time\n    And ClusterVersion/version exists\n"
            );
            let check = split("f", &text, None).unwrap().check;
            let steps = check.split_once("Scenario: s\n").unwrap().1;
            assert_eq!(
                steps, "    Given a 4.14.8 cluster\n    Then ClusterVersion/version exists\n",
                "{update} {end}"
            );
        };
        let message = "within 3 hours ClusterVersion condition Progressing is False with message \"Cluster version is 4.14.8\"";
        for update in ["I update to 4.14.8", "I run \"oc adm upgrade --to=4.14.8\""] {
            for end in ["within 3 hours the update is complete", message] {
                check(update, end);
            }
        }
    }

    #[test]
    fn rejects_a_feature_without_an_update() {
        let text =
            "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster\n    Then ClusterVersion/version exists\n";
        assert!(split("f", text, None).unwrap_err().starts_with("f: no scenario updates the cluster"));
    }
}
