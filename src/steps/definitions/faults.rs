//! When: faults of operators, nodes, pods and the API server, and their recovery.

use cucumber::gherkin::Step;
use cucumber::when;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::requests::faults::{
    Hits, InjectedError, LostAnswer, ProgramFault, RequestFault, RequestFilter, Trouble,
};
use windtunnel_core::text::did_you_mean;

use crate::plan::{Action, FaultTarget, InjectedFault};
use crate::scenario::Kinds;
use crate::steps::phrase::duration;
use crate::steps::world::{ClusterWorld, StepError};

/// Starts a fault of an operator, named by its ClusterOperator, or ends its faults.
/// `degrades` sets `Degraded=True`, `becomes unavailable` sets `Available=False`, `flaps` changes `Available`
/// every 30 seconds, `becomes not upgradeable` sets `Upgradeable=False`. An operator that `stalls` never
/// finishes a rollout, and one that `falls silent` has an empty status.
///
/// ```gherkin
/// When operator etcd degrades with reason "EtcdMembersDegraded" and message "2 of 3 members are available"
/// When operator etcd degrades for 15 minutes
/// When at 70 minutes operator etcd becomes unavailable for 15 minutes
/// ```
#[when(
    regex = r#"^(?:at (?:\d+ \w+|change \d+ of \S+) )?operator (\S+) (degrades|becomes unavailable|flaps|becomes not upgradeable|stalls|falls silent|recovers)(?: with reason "([^"]+)")?(?: (?:and|with) message "([^"]+)")?(?: for (\d+ \w+))?$"#
)]
async fn operator_fails(
    world: &mut ClusterWorld,
    operator: String,
    how: String,
    reason: String,
    message: String,
    time: String,
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
    let fault = kind.map(|kind| Fault { reason, message, ..Fault::new(kind) });
    let fault = fault.map(|fault| InjectedFault::Operator(operator.clone(), fault));
    begin(world, step, fault, FaultTarget::Operator(operator), &time).await
}

/// Starts a fault of a node, or ends its faults.
/// The kubelet reports `becomes not ready` and `comes under disk pressure`; it does not run on a node that
/// `loses its kubelet`. On a node that `drifts`, a file differs from the MachineConfig; after
/// `drifts unseen`, the machine-config daemon notices that only when it restarts. For `cannot be reconciled`,
/// `cannot update its system`, `cannot pull its system` and `degrades`, the machine-config daemon reports the
/// message. A node that `cannot be rebooted` stays up when it should reboot, and one that `does not return`
/// stays away after its next reboot. A pod that cannot be evicted is the cause of `cannot be drained`.
///
/// ```gherkin
/// When node worker-0 becomes not ready
/// When node worker-0 loses its kubelet
/// When node worker-0 drifts unseen
/// When node worker-0 cannot be drained
/// When node worker-0 cannot update its system
/// When node worker-0 degrades with message "disk full"
/// When node worker-0 cannot be rebooted
/// When node worker-0 does not return for 2 hours
/// ```
#[when(
    regex = r#"^(?:at (?:\d+ \w+|change \d+ of \S+) )?node (\S+) (becomes not ready|loses its kubelet|comes under disk pressure|drifts|drifts unseen|cannot be reconciled|cannot update its system|cannot pull its system|cannot be rebooted|does not return|cannot be drained|degrades|recovers)(?: with message "(.+)")?(?: for (\d+ \w+))?$"#
)]
async fn node_fails(
    world: &mut ClusterWorld,
    node: String,
    how: String,
    message: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let kind = match &*how {
        "becomes not ready" => Some(FaultKind::NotReady),
        "loses its kubelet" => Some(FaultKind::KubeletStopped),
        "comes under disk pressure" => Some(FaultKind::DiskPressure),
        "drifts" => Some(FaultKind::OnDiskMismatch),
        "drifts unseen" => Some(FaultKind::HiddenMismatch),
        "cannot be reconciled" => Some(FaultKind::Unreconcilable),
        "cannot update its system" => Some(FaultKind::OsUpdateFails),
        "cannot pull its system" => Some(FaultKind::ImagePullFails),
        "cannot be rebooted" => Some(FaultKind::RebootRefused),
        "does not return" => Some(FaultKind::DoesNotReturn),
        "cannot be drained" => Some(FaultKind::DrainBlocked),
        "degrades" => Some(FaultKind::Degraded),
        _ => None,
    };
    let fault = kind.map(|kind| InjectedFault::Node(node.clone(), Fault { message, ..Fault::new(kind) }));
    begin(world, step, fault, FaultTarget::Node(node), &time).await
}

/// Adds further reboots after the next reboot of a node.
///
/// ```gherkin
/// When node worker-0 reboots 3 times more than it should
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?node (\S+) reboots (\d+) times? more than it should(?: for (\d+ \w+))?$"
)]
async fn reboot_loop(
    world: &mut ClusterWorld,
    node: String,
    times: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = Fault { times: number(&times)?, ..Fault::new(FaultKind::RebootLoop) };
    let fault = InjectedFault::Node(node.clone(), fault);
    begin(world, step, Some(fault), FaultTarget::Node(node), &time).await
}

/// Sets the clock of a node's machine ahead or behind, which its kubelet and machine-config daemon use; or that of a
/// program of your machine, which is a clock for the times in Leases.
///
/// ```gherkin
/// When the clock of node worker-0 is 10 minutes ahead
/// When the clock of program my-operator is 2 minutes behind
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?the clock of (node|program) (\S+) is (\d+ \w+) (ahead|behind)(?: for (\d+ \w+))?$"
)]
async fn clock(
    world: &mut ClusterWorld,
    owner: String,
    name: String,
    by: String,
    how: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let (by, is_ahead) = (duration(&by)?, how == "ahead");
    if owner == "program" {
        let fault = ProgramFault::SkewedClock(if is_ahead { by } else { -by });
        let fault = InjectedFault::Process(name.clone(), fault);
        return begin(world, step, Some(fault), FaultTarget::Process(name), &time).await;
    }
    let kind = if is_ahead { FaultKind::ClockAhead } else { FaultKind::ClockBehind };
    let fault = InjectedFault::Node(name.clone(), Fault { by, ..Fault::new(kind) });
    begin(world, step, Some(fault), FaultTarget::Node(name), &time).await
}

/// Changes the rendered MachineConfig of a pool this many times and back: a MachineConfig is added and
/// removed each minute.
///
/// ```gherkin
/// When the configuration of pool worker flips 3 times
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?the configuration of pool (\S+) flips (\d+) times?(?: for (\d+ \w+))?$"
)]
async fn render_flips(
    world: &mut ClusterWorld,
    pool: String,
    times: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = InjectedFault::RenderFlips(pool.clone(), number(&times)?);
    begin(world, step, Some(fault), FaultTarget::Pool(pool), &time).await
}

/// Makes builds of a pool's custom OS image fail: all attempts, or the first ones of each build. Or ends that.
///
/// ```gherkin
/// When image builds of pool worker fail
/// When image builds of pool worker fail 2 times
/// When image builds of pool worker succeed again
/// ```
#[when(
    regex = r#"^(?:at (?:\d+ \w+|change \d+ of \S+) )?image builds of pool (\S+) (fail|succeed again)(?: (\d+) times?)?(?: with message "(.+)")?(?: for (\d+ \w+))?$"#
)]
async fn image_builds_fail(
    world: &mut ClusterWorld,
    pool: String,
    how: String,
    times: String,
    message: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let times = if times.is_empty() { 0 } else { number(&times)? };
    let fault = Fault { times, message, ..Fault::new(FaultKind::ImageBuildFails) };
    let fault = (how == "fail").then(|| InjectedFault::Pool(pool.clone(), fault));
    begin(world, step, fault, FaultTarget::Pool(pool), &time).await
}

/// Makes the API server fail certain requests: `too-many-requests`, `internal-error`, `etcd-timed-out`,
/// `unavailable`, `timeout` or `conflict`. Or it loses the answer: `timeout-after-write`, `connection-dropped` or
/// `connection-dropped-after-write`. The fault lasts for the given time or until the API server recovers.
///
/// ```gherkin
/// When the API server answers conflict to the next 3 updates of ClusterVersion by cluster-version-operator
/// When the API server answers unavailable to all requests of ClusterOperator/etcd for 5 minutes
/// When the API server answers timeout to create number 2 of Pod
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?the API server answers (\S+) to (?:the next (\d+) |all |the next )?(get|list|watch|create|update|patch|delete|request)(?:e?s)?(?: number (\d+))?(?: of ([^\s/]+)(?:/(\S+))?)?(?: by (\S+))?(?: for (\d+ \w+))?$"
)]
#[expect(clippy::too_many_arguments, reason = "one for each part of the step")]
async fn api_fails(
    world: &mut ClusterWorld,
    trouble: String,
    times: String,
    verb: String,
    first: String,
    kind: String,
    name: String,
    by: String,
    span: String,
    step: &Step,
) -> Result<(), StepError> {
    let lost = LostAnswer::named(&trouble).map(Trouble::Lost);
    let Some(trouble) = InjectedError::named(&trouble).map(Trouble::Error).or(lost) else {
        let known = Trouble::NAMES.into_iter().filter(|name| !name.starts_with("watch-"));
        let hint = did_you_mean(&trouble, known);
        return Err(StepError::Usage(format!("unknown error of the API server `{trouble}`{hint}")));
    };
    let requests = RequestFilter { by: non_empty(by), ..requests(&world.kinds, &verb, &kind, name)? };
    let hits = match (&*first, &*times) {
        ("", "") => Hits::new(1, if step.value.contains(" to the next ") { Some(1) } else { None }),
        ("", times) => Hits::new(1, Some(number(times)?)),
        (first, _) => Hits::new(number(first)?, Some(1)),
    };
    let fault = RequestFault { requests, trouble, hits, message: String::new(), retry_after: 1 };
    let lasts = if span.is_empty() { None } else { Some(duration(&span)?) };
    let fault = InjectedFault::Requests(fault);
    let after = jiff::SignedDuration::ZERO;
    world.act(&step.value, Action::Fault { fault, event: None, after, lasts }).await
}

/// Ends all faults of the API server.
///
/// ```gherkin
/// When the API server recovers
/// ```
#[when(regex = r"^(?:at \d+ \w+ )?the API server recovers$")]
async fn api_recovers(world: &mut ClusterWorld, step: &Step) -> Result<(), StepError> {
    world.act(&step.value, Action::Heal(FaultTarget::Api(None))).await
}

/// Crashes a component at its next matching write, or at a later one. The component loses its memory and
/// restarts. With `for`, the crash only comes within this time.
///
/// ```gherkin
/// When cluster-version-operator crashes before its next update of ClusterVersion
/// When machine-config-daemon/worker-0 crashes after patch number 3 of Node/worker-0
/// When at change 2 of MachineConfigPool/worker machine-config-controller/node crashes before its next write
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?(\S+) crashes (before|after) (?:its next )?(create|update|patch|delete|write)(?: number (\d+))?(?: of ([^\s/]+)(?:/(\S+))?)?(?: for (\d+ \w+))?$"
)]
#[expect(clippy::too_many_arguments, reason = "one for each part of the step")]
async fn crash(
    world: &mut ClusterWorld,
    process: String,
    moment: String,
    verb: String,
    first: String,
    kind: String,
    name: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let first = if first.is_empty() { 1 } else { number(&first)? };
    let (writes, hits) = (requests(&world.kinds, &verb, &kind, name)?, Hits::new(first, Some(1)));
    let fault = ProgramFault::Crash { writes, after: moment == "after", hits };
    let fault = InjectedFault::Process(process.clone(), fault);
    begin(world, step, Some(fault), FaultTarget::Process(process), &time).await
}

/// Silences the watches of a component for a time, after which it lists again.
///
/// ```gherkin
/// When cluster-version-operator sees nothing new for 5 minutes
/// ```
#[when(regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?(\S+) sees nothing new for (\d+ \w+)$")]
async fn watch_stale(
    world: &mut ClusterWorld,
    process: String,
    span: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = InjectedFault::Process(process, ProgramFault::StaleWatch);
    let (after, lasts) = (jiff::SignedDuration::ZERO, Some(duration(&span)?));
    world.act(&step.value, Action::Fault { fault, event: None, after, lasts }).await
}

/// Drops the watches of a component, which then lists again at once.
///
/// ```gherkin
/// When the watches of cluster-version-operator are dropped
/// ```
#[when(regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?the watches of (\S+) are dropped$")]
async fn watch_dropped(world: &mut ClusterWorld, process: String, step: &Step) -> Result<(), StepError> {
    let fault = ProgramFault::DroppedWatch;
    world.act(&step.value, Action::fault(InjectedFault::Process(process, fault))).await
}

/// Makes another holder take the Lease of a component for this time.
///
/// ```gherkin
/// When cluster-version-operator loses its lease for 5 minutes
/// ```
#[when(regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?(\S+) loses its lease for (\d+ \w+)$")]
async fn lease_lost(
    world: &mut ClusterWorld,
    process: String,
    span: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = ProgramFault::LosesLease(duration(&span)?);
    world.act(&step.value, Action::fault(InjectedFault::Process(process, fault))).await
}

/// Makes a component take its turns after all others that have something to do at the same moment, or late: a race or a
/// long queue that a real cluster has by chance. A restart of the component ends the fault.
///
/// ```gherkin
/// When machine-config-controller/drain takes its turns last for 1 hour
/// When machine-config-controller/node takes its turns 3 seconds late
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?(\S+) takes its turns (last|\d+ \w+ late)(?: for (\d+ \w+))?$"
)]
async fn turns(
    world: &mut ClusterWorld,
    process: String,
    how: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = match how.strip_suffix(" late") {
        Some(delay) => ProgramFault::Slow(duration(delay)?),
        None => ProgramFault::LastInTurn,
    };
    let fault = InjectedFault::Process(process.clone(), fault);
    begin(world, step, Some(fault), FaultTarget::Process(process), &time).await
}

/// Returns a pattern for requests by verb (`request` and `write` match any), kind and name. Empty texts match
/// any.
pub(in crate::steps) fn requests(
    kinds: &Kinds,
    verb: &str,
    kind: &str,
    name: String,
) -> Result<RequestFilter, StepError> {
    if !kind.is_empty() {
        kinds.find(kind).map_err(StepError::Usage)?;
    }
    let verb = non_empty(verb.to_owned()).filter(|verb| !["request", "write"].contains(&verb.as_str()));
    let kind = non_empty(kind.to_owned());
    Ok(RequestFilter { verb, kind, name: non_empty(name), ..RequestFilter::default() })
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn number(text: &str) -> Result<u32, StepError> {
    let found = text.parse().ok().filter(|number| (1..=1000).contains(number));
    found.ok_or_else(|| StepError::Usage(format!("expected a number from 1 to 1000, found {text}")))
}

/// Starts a fault of pods, or ends their faults. The fault lasts as long as the pod.
/// A pod that `becomes unready` fails its readiness probes, one that `is not live` its liveness probes, one
/// that `does not start` its startup probes. The containers of a pod that `crashes` exit with an error
/// repeatedly. A name that ends in `*` matches any ending.
///
/// ```gherkin
/// When pod default/web-* becomes unready
/// When pod default/web-* crashes for 15 minutes
/// ```
#[when(
    regex = r#"^(?:at (?:\d+ \w+|change \d+ of \S+) )?pod ([^\s/]+)/(\S+) (becomes unready|is not live|does not start|crashes|recovers)(?: with message "(.+)")?(?: for (\d+ \w+))?$"#
)]
async fn pod_fails(
    world: &mut ClusterWorld,
    namespace: String,
    name: String,
    how: String,
    message: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let kind = match &*how {
        "becomes unready" => Some(FaultKind::Unready),
        "is not live" => Some(FaultKind::NotLive),
        "does not start" => Some(FaultKind::NotStarted),
        "crashes" => Some(FaultKind::CrashLooping),
        _ => None,
    };
    let fault = kind.map(|kind| Fault { message, ..Fault::new(kind) });
    let fault = fault.map(|fault| InjectedFault::Pods(namespace.clone(), name.clone(), fault));
    begin(world, step, fault, FaultTarget::Pods { namespace, name }, &time).await
}

/// Starts a fault, for `time` if it is not empty; without a fault, ends the faults of the target.
pub(super) async fn begin(
    world: &mut ClusterWorld,
    step: &Step,
    fault: Option<InjectedFault>,
    target: FaultTarget,
    time: &str,
) -> Result<(), StepError> {
    let lasts = if time.is_empty() { None } else { Some(duration(time)?) };
    let action = match fault {
        Some(fault) => Action::Fault { fault, event: None, after: jiff::SignedDuration::ZERO, lasts },
        None => Action::Heal(target),
    };
    world.act(&step.value, action).await
}
