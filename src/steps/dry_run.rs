//! Dry run of a feature: calls every step without a cluster. This checks releases, kinds, durations,
//! patterns, doc strings and the presence of a cluster before anything runs.

use std::collections::{BTreeMap, BTreeSet};

use cucumber::gherkin::{Feature, LineCol, Rule, Scenario, Step, StepType};
use futures::FutureExt as _;

use super::catalogue::keyword;
use super::gherkin::{self, scenarios_with_rules, steps_of};
use super::world::{ClusterWorld, no_cluster};
use super::{FeatureFiles, catalogue, definitions};
use crate::plan::{ClusterPlan, PlannedStep, ProgramPlan, scripts};

/// Returns steps that cannot run, and why, in the order of the text. Leaves out scenarios that one of the `unknown` steps
/// should have prepared.
pub(super) fn errors<'f>(
    feature: &'f Feature,
    feature_files: Option<FeatureFiles>,
    unknown: &[(&Step, String)],
) -> Vec<(&'f Step, String)> {
    // Backgrounds and examples repeat the same step.
    let mut found: BTreeMap<(usize, usize, String), &Step> = BTreeMap::new();
    let place = |step: &Step| (step.position.line, step.position.col);
    let unknown: BTreeSet<_> = unknown.iter().map(|(step, _)| place(step)).collect();
    let no_cluster = no_cluster();
    let file = gherkin::file(feature);
    for (rule, scenario) in scenarios_with_rules(feature) {
        let is_unknown = |step: &Step| unknown.contains(&place(step));
        if steps_of(feature, rule, scenario).any(|step| step.ty == StepType::Given && is_unknown(step)) {
            continue;
        }
        let (mut world, mut without_cluster) = (ClusterWorld::for_dry_run(&file, feature_files), false);
        for step in steps_of(feature, rule, scenario) {
            let Some(why) = try_step(&mut world, step) else { continue };
            if why == no_cluster && std::mem::replace(&mut without_cluster, true) {
                continue;
            }
            // If the step that defines the cluster fails, a missing cluster is not a further error.
            without_cluster |= step.ty == StepType::Given;
            let (line, column) = place(step);
            found.entry((line, column, why)).or_insert(step);
        }
    }
    found.into_iter().map(|((.., why), step)| (step, why)).collect()
}

/// Returns warnings about the steps, with their positions.
pub(super) fn warnings(feature: &Feature, feature_files: Option<FeatureFiles>) -> Vec<(LineCol, String)> {
    let file = gherkin::file(feature);
    let mut found = Vec::new();
    for (rule, scenario) in scenarios_with_rules(feature) {
        let mut world = ClusterWorld::for_dry_run(&file, feature_files);
        for step in steps_of(feature, rule, scenario) {
            let _ = try_step(&mut world, step);
            found.extend(world.warnings.drain(..).map(|message| (step.position, message)));
        }
    }
    found
}

/// Returns the steps of a scenario, each with the planned steps that it would run.
pub(super) fn planned<'f>(
    feature: &'f Feature,
    rule: Option<&'f Rule>,
    scenario: &'f Scenario,
    feature_files: Option<FeatureFiles>,
) -> Vec<(&'f Step, Vec<PlannedStep>)> {
    collect(feature, rule, scenario, feature_files).1
}

/// Returns the cluster of a scenario and the steps that it would run, with their places.
pub(super) fn cluster_and_steps(
    feature: &Feature,
    rule: Option<&Rule>,
    scenario: &Scenario,
    feature_files: Option<FeatureFiles>,
) -> Option<(ClusterPlan, Vec<PlannedStep>)> {
    let (world, planned) = collect(feature, rule, scenario, feature_files);
    let placed = planned.into_iter().flat_map(|(step, planned)| {
        let LineCol { line, col } = step.position;
        planned.into_iter().map(move |planned| PlannedStep { line, column: col, ..planned })
    });
    let placed: Vec<PlannedStep> = placed.collect();
    let mut cluster = world.into_cluster()?;
    cluster.programs.extend(scripts(&placed));
    Some((cluster, placed))
}

/// Returns the scripts that the steps of a scenario run.
pub(super) fn scripts_of(
    feature: &Feature,
    rule: Option<&Rule>,
    scenario: &Scenario,
    feature_files: Option<FeatureFiles>,
) -> Vec<ProgramPlan> {
    if !steps_of(feature, rule, scenario).any(|step| step.value.contains("shell script")) {
        return Vec::new();
    }
    let planned = cluster_and_steps(feature, rule, scenario, feature_files);
    planned.map(|(_, steps)| scripts(&steps)).unwrap_or_default()
}

/// Collects the planned steps of each step of a scenario. Returns the world after them, too.
fn collect<'f>(
    feature: &'f Feature,
    rule: Option<&'f Rule>,
    scenario: &'f Scenario,
    feature_files: Option<FeatureFiles>,
) -> (ClusterWorld, Vec<(&'f Step, Vec<PlannedStep>)>) {
    let file = gherkin::file(feature);
    let mut world = ClusterWorld::for_dry_run(&file, feature_files);
    world.rejections = gherkin::rejections(steps_of(feature, rule, scenario));
    let planned = |step| {
        let (_, planned) = world.collecting(|world| try_step(world, step));
        (step, planned)
    };
    let planned = steps_of(feature, rule, scenario).map(planned).collect();
    (world, planned)
}

/// Returns why a step cannot run.
pub(super) fn try_step(world: &mut ClusterWorld, step: &Step) -> Option<String> {
    let outcome = definitions::run(world, step).now_or_never()?;
    outcome.err().map(|error| error.to_string())
}

/// Returns the steps of a doc string without running them.
///
/// # Errors
/// The first step that cannot run.
pub(super) fn nested(world: &mut ClusterWorld, nested: &[Step]) -> Result<Vec<PlannedStep>, String> {
    let rejections = std::mem::replace(&mut world.rejections, gherkin::rejections(nested.iter()));
    let (error, steps) = world.collecting(|world| {
        let mut errors = nested.iter().enumerate().filter_map(|(index, step)| {
            let why = unknown(step).or_else(|| try_step(world, step))?;
            Some(format!("step {} of the doc string: {why}", index + 1))
        });
        errors.next()
    });
    world.rejections = rejections;
    error.map_or(Ok(steps), Err)
}

/// Returns the error of an unknown step.
pub(super) fn unknown(step: &Step) -> Option<String> {
    let steps = definitions::collection();
    Some(match steps.find(step) {
        Ok(Some(_)) => return None,
        Ok(None) => {
            let kind = keyword(step.ty);
            let with_type = |ty| Step { ty, ..step.clone() };
            let others = [StepType::Given, StepType::When, StepType::Then];
            let is_known = |ty: &StepType| matches!(steps.find(&with_type(*ty)), Ok(Some(_)));
            if let Some(other) = others.into_iter().find(is_known) {
                return Some(format!(
                    "`{}` needs the keyword `{}`, found `{kind}`",
                    step.value,
                    keyword(other)
                ));
            }
            let hint = match catalogue::example_like(kind, &step.value) {
                Some(example) => format!("the nearest is `{example}`"),
                None => "no step is similar; `windtunnel steps` lists all".to_owned(),
            };
            format!("unknown step `{kind} {}`; {hint}", step.value)
        }
        Err(ambiguous) => format!("several steps match `{}`: {ambiguous}", step.value),
    })
}

#[cfg(test)]
mod tests {
    use crate::steps::Suite;

    /// Parses a feature with a scenario of these steps and compares its errors, without the file's name.
    fn check(steps: &str, expected: &str) {
        let text = format!("Feature: f\n  Scenario: s\n{steps}");
        let found =
            Suite::parse(&[("f".to_owned(), text)]).map_or_else(|found| found.to_string(), |_| String::new());
        assert_eq!(found.replace("f:", ""), expected, "\n{steps}");
    }

    #[test]
    fn checks_the_values_of_steps_before_anything_runs() {
        check(
            "Given a 4.20.1 cluster\nThen within 5 minutes ClusterVersion condition Failing is False\n",
            "",
        );
        check(
            "Given a 4.20.1 cluster\nAnd release 4.20 exists\nWhen I delete Configmap/a/b\n\
             Then ClusterVersion field \"a\" is /(/\nAnd within 5 apples ClusterVersion field \"a\" is \"b\"\n",
            "4:1: expected a version such as 4.14.8, found `4.20`; a release has three numbers, such as `4.20.1`\n\
             5:1: unknown kind `Configmap`; did you mean `ConfigMap`?\n\
             6:1: `/(/` is not a valid regular expression: unclosed group; write `\\` before a character that is meant literally\n\
             7:1: expected a duration such as `40 minutes`, found `5 apples`",
        );
    }

    #[test]
    fn rejects_impossible_node_counts_and_objects() {
        check(
            "Given a 4.20.1 cluster with 6 control-plane nodes and 3 workers\n",
            "3:1: expected 1 to 5 control-plane nodes, found 6",
        );
        check(
            "Given a 4.20.1 cluster\nAnd this object:\n\"\"\"\nkind: Configmap\nmetadata: {}\n\"\"\"\n",
            "4:1: line 1 of the doc string: a Kubernetes object needs `apiVersion`; \
             line 1 of the doc string: unknown kind `Configmap`; did you mean `ConfigMap`?",
        );
    }

    #[test]
    fn rejects_wildcards_in_deletes_and_durations_beyond_the_limit() {
        check(
            "Given a 4.20.1 cluster\nWhen I delete ConfigMap/a/b*\nAnd 2 days pass\nAnd 99999999 hours pass\n",
            "4:1: expected one object, without `*`, found `ConfigMap/a/b*`\n\
             6:1: expected at most 87600 hours of cluster time, found `99999999 hours`",
        );
    }

    #[test]
    fn reports_a_missing_cluster_once_and_not_after_an_invalid_one() {
        check(
            "When I clear the update request\nAnd 5 minutes pass\n",
            "3:1: there is no cluster yet: start with `Given a 4.14.1 cluster`",
        );
        check(
            "Given a 3.11.1 cluster\nWhen 5 minutes pass\n",
            "3:1: unknown release 3.11.1: known minors are 4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, 4.21, 4.22, 5.0; did you mean `4.11.1`?",
        );
    }

    #[test]
    fn rejects_a_given_step_after_the_cluster_has_started() {
        check(
            "Given a 4.20.1 cluster\nWhen 5 minutes pass\nGiven release 4.20.3 exists\n",
            "5:1: the cluster runs already: put this step before the first When",
        );
    }

    #[test]
    fn reports_unknown_steps_beside_wrong_values() {
        check(
            "Given a 4.20.1 cluster\nWhen I updat to 4.20.3\nAnd I delete Configmap/a/b\n",
            "4:1: unknown step `When I updat to 4.20.3`; the nearest is `I update to 4.14.8`\n\
             5:1: unknown kind `Configmap`; did you mean `ConfigMap`?",
        );
    }

    #[test]
    fn reports_a_wrong_keyword_of_a_step() {
        check(
            "Given a 4.20.1 cluster\nAnd I update to 4.20.3\n",
            "4:1: `I update to 4.20.3` needs the keyword `When`, found `Given`",
        );
    }

    #[test]
    fn rejects_unknown_feature_sets_kubernetes_minors_and_capability_sets() {
        check(
            "Given a 4.14.1 cluster\nAnd the feature set \"TechPreview\"\n\
             And the kube-apiserver stays at Kubernetes 1.3\nAnd the baseline capability set \"v4.99\"\n",
            "4:1: there is no feature set `TechPreview`; did you mean `TechPreviewNoUpgrade`?\n\
             5:1: expected 23 to 36 as the minor of Kubernetes, found 3\n\
             6:1: there is no capability set `v4.99`; did you mean `v4.11`?",
        );
        check(
            "Given a 4.14.1 cluster with 9 control-plane nodes and 1 worker\n",
            "3:1: expected 1 to 5 control-plane nodes, found 9",
        );
    }
}
