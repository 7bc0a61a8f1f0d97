//! When: what goes wrong, and well again.

use cucumber::gherkin::Step;
use cucumber::when;

use super::world::{ClusterWorld, StepError};
use crate::model::fault::{Fault, FaultKind};
use crate::scenario::plan::Action;

/// Tells an operator, by the name of its ClusterOperator, to fail or to be well again. `degrades` is `Degraded=True`,
/// `becomes unavailable` `Available=False`, `flaps` `Available` changing every half a minute, `becomes not upgradeable`
/// `Upgradeable=False`; one that `stalls` never ends a rollout, one that `falls silent` has an empty status.
#[when(
    regex = r#"^operator (\S+) (degrades|becomes unavailable|flaps|becomes not upgradeable|stalls|falls silent|recovers)(?: with reason "([^"]+)")?(?: (?:and|with) message "([^"]+)")?$"#
)]
async fn operator_fails(
    world: &mut ClusterWorld,
    operator: String,
    how: String,
    reason: String,
    message: String,
    step: &Step,
) -> Result<(), StepError> {
    let kind = match &*how {
        "degrades" => Some(FaultKind::Degraded),
        "becomes unavailable" => Some(FaultKind::Unavailable),
        "flaps" => Some(FaultKind::Flapping),
        "becomes not upgradeable" => Some(FaultKind::NotUpgradeable),
        "stalls" => Some(FaultKind::Stalled),
        "falls silent" => Some(FaultKind::Silent),
        _ => None,
    };
    let fault = kind.map(|kind| Fault { kind, reason, message });
    world.act(&step.value, Action::Fault { operator, fault }).await
}
