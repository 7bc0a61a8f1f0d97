//! When: what goes wrong, and well again.

use cucumber::gherkin::Step;
use cucumber::when;

use super::world::{ClusterWorld, StepError};
use crate::model::fault::{Fault, FaultKind, Faulty};
use crate::scenario::plan::Action;

/// Tells an operator, by the name of its ClusterOperator, to fail or to be well again. `degrades` is `Degraded=True`,
/// `becomes unavailable` `Available=False`, `flaps` `Available` changing every half a minute, `becomes not upgradeable`
/// `Upgradeable=False`; one that `stalls` never ends a rollout, one that `falls silent` has an empty status.
///
/// ```gherkin
/// When operator etcd degrades with reason "EtcdMembersDegraded" and message "2 of 3 members are available"
/// ```
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
    world.act(&step.value, Action::Fault { faulty: Faulty::Operator(operator), fault }).await
}

/// Tells a node to fail or to be well again. `becomes not ready` and `comes under disk pressure` are its kubelet's; `drifts` is a
/// file on its disk that is not what the MachineConfig says; one that `cannot be reconciled`, `cannot update its system` or
/// `degrades` is so for its machine-config daemon, with the message; one that `does not return` stays away after its next
/// reboot.
///
/// ```gherkin
/// When node worker-0 becomes not ready
/// ```
#[when(
    regex = r#"^node (\S+) (becomes not ready|comes under disk pressure|drifts|cannot be reconciled|cannot update its system|does not return|degrades|recovers)(?: with message "(.+)")?$"#
)]
async fn node_fails(
    world: &mut ClusterWorld,
    node: String,
    how: String,
    message: String,
    step: &Step,
) -> Result<(), StepError> {
    let kind = match &*how {
        "becomes not ready" => Some(FaultKind::NotReady),
        "comes under disk pressure" => Some(FaultKind::DiskPressure),
        "drifts" => Some(FaultKind::OnDiskMismatch),
        "cannot be reconciled" => Some(FaultKind::Unreconcilable),
        "cannot update its system" => Some(FaultKind::OsUpdateFails),
        "does not return" => Some(FaultKind::DoesNotReturn),
        "degrades" => Some(FaultKind::Degraded),
        _ => None,
    };
    let fault = kind.map(|kind| Fault { kind, reason: String::new(), message });
    world.act(&step.value, Action::Fault { faulty: Faulty::Node(node), fault }).await
}

/// Tells pods to fail or to be well again, for as long as they live: one `becomes unready` whose readiness probes fail, is `not live`
/// whose liveness probes do, and `crashes` whose programs end with an error again and again. A name that ends in `*` means
/// all pods that begin so.
///
/// ```gherkin
/// When pod default/web-* becomes unready
/// ```
#[when(
    regex = r#"^pod ([^\s/]+)/(\S+) (becomes unready|is not live|crashes|recovers)(?: with message "(.+)")?$"#
)]
async fn pod_fails(
    world: &mut ClusterWorld,
    namespace: String,
    name: String,
    how: String,
    message: String,
    step: &Step,
) -> Result<(), StepError> {
    let kind = match &*how {
        "becomes unready" => Some(FaultKind::Unready),
        "is not live" => Some(FaultKind::NotLive),
        "crashes" => Some(FaultKind::CrashLooping),
        _ => None,
    };
    let fault = kind.map(|kind| Fault { kind, reason: String::new(), message });
    world.act(&step.value, Action::Fault { faulty: Faulty::Pods { namespace, name }, fault }).await
}
