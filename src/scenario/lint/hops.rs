//! Warnings about updates that no channel offers, because they leave out minor releases.

use semver::Version;

use super::at;
use crate::plan::{Action, Plan, PlannedStep, Step, Target};
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
    let mut found = Vec::new();
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
