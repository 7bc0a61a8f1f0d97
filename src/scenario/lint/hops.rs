//! Warnings about updates that no channel offers, because they leave out minor releases, that go to the release that runs, or that
//! go down without force.

use semver::Version;

use super::at;
use crate::plan::{Action, Check, Expectation, ExpectedState, Plan, PlannedStep, Step, Target};
use crate::scenario::ScenarioError;

/// What a scenario expects if it is about the refusal of such an update.
const REFUSALS: [&str; 4] =
    ["GiantHop", "MultipleMinorVersionsUpdate", "PreconditionChecks", "PreconditionBlock"];

/// Returns a warning for each step that updates over a minor release, or down over one. An update service with edges of its own
/// is exempt, and so is a scenario that expects the refusal.
pub(super) fn warnings(plan: &Plan, text: &str) -> Vec<ScenarioError> {
    if plan.cluster.update_service.edges.is_some() || REFUSALS.iter().any(|refusal| text.contains(refusal)) {
        return Vec::new();
    }
    let mut from = &plan.cluster.release.version;
    let mut found: Vec<ScenarioError> = first_update(plan).into_iter().collect();
    for planned in &plan.timeline {
        let Some(to) = target(planned) else { continue };
        if let Some(skipped) = skipped(from, to) {
            let message = format!(
                "{from} to {to} leaves out {skipped}: no channel has this edge, so that no real cluster is offered this update; \
                 update to each minor release in turn"
            );
            found.push(at(plan, planned, &message));
        }
        from = to;
    }
    found
}

/// Returns a warning about the first update if it changes nothing, or if it goes down without `force: true` and must complete.
fn first_update(plan: &Plan) -> Option<ScenarioError> {
    let index = plan.timeline.iter().position(|planned| target(planned).is_some())?;
    let (earlier, rest) = plan.timeline.split_at(index);
    let (step, later) = rest.split_first()?;
    let (to, from) = (target(step)?, &plan.cluster.release.version);
    if earlier.iter().any(|planned| matches!(planned.step, Step::Run(_))) {
        return None;
    }
    if to == from {
        return Some(at(
            plan,
            step,
            &format!("the cluster runs {to} already, so this update changes nothing"),
        ));
    }
    let is_forced = matches!(step.step, Step::Act(Action::Update { force: true, .. }));
    let was_installed =
        plan.cluster.past.history.iter().any(|entry| entry.to_string().contains(&to.to_string()));
    let completes = later.iter().take_while(|planned| target(planned).is_none()).any(must_complete);
    (to < from && !is_forced && !was_installed && completes).then(|| {
        let why = "the cluster-version operator accepts only the cluster's previous version (LowDesiredVersion): write `force: true`";
        at(plan, step, &format!("{to} is less than {from}, and {why}"))
    })
}

fn must_complete(planned: &PlannedStep) -> bool {
    let Step::Expect(Expectation { what: ExpectedState::Object(_, checks), .. }) = &planned.step else {
        return false;
    };
    checks.iter().any(|check| matches!(check, Check::Updated))
}

fn target(planned: &PlannedStep) -> Option<&Version> {
    match &planned.step {
        Step::Act(Action::Update { to: Target::Version(to), .. }) => Some(to),
        _ => None,
    }
}

/// Returns the minor releases of the same major between two versions, such as `4.15 to 4.17`; `None` if there is none.
fn skipped(from: &Version, to: &Version) -> Option<String> {
    let (low, high) = (from.minor.min(to.minor) + 1, from.minor.max(to.minor).checked_sub(1)?);
    let major = from.major;
    (major == to.major && low <= high).then(|| {
        if low == high { format!("{major}.{low}") } else { format!("{major}.{low} to {major}.{high}") }
    })
}

#[cfg(test)]
mod tests {
    use super::skipped;

    #[test]
    fn neighbours_leave_out_nothing() {
        let between = |from: &str, to: &str| skipped(&from.parse().unwrap(), &to.parse().unwrap());
        assert_eq!(between("4.18.1", "4.18.9"), None);
        assert_eq!(between("4.18.1", "4.19.0"), None);
        assert_eq!(between("4.19.1", "4.18.9"), None);
        assert_eq!(between("4.18.1", "4.20.0").as_deref(), Some("4.19"));
        assert_eq!(between("4.14.1", "4.18.0").as_deref(), Some("4.15 to 4.17"));
        assert_eq!(between("4.18.1", "4.16.0").as_deref(), Some("4.17"));
        assert_eq!(between("4.23.1", "5.0.0"), None);
    }
}
