//! When: faults of operators, nodes, pods and the API server, and their recovery.

use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::requests::faults::{
    ErrorFault, FaultEffect, Hits, LostAnswer, ProgramFault, RequestFault,
};
use windtunnel_core::text::did_you_mean;

use super::definition::{Definition, Words, meaning, names, when};
use crate::plan::{Action, FaultTarget, InjectedFault, Step};
use crate::steps::phrase::{duration, number};

const OF_OPERATORS: Words<Option<FaultKind>> = &[
    ("degrades", Some(FaultKind::Degraded)),
    ("becomes unavailable", Some(FaultKind::Unavailable)),
    ("flaps", Some(FaultKind::Flapping)),
    ("becomes not upgradeable", Some(FaultKind::NotUpgradeable)),
    ("stalls", Some(FaultKind::Stalled)),
    ("falls silent", Some(FaultKind::Silent)),
    ("recovers", None),
];

const OF_NODES: Words<Option<FaultKind>> = &[
    ("becomes not ready", Some(FaultKind::NotReady)),
    ("loses its kubelet", Some(FaultKind::KubeletStopped)),
    ("comes under disk pressure", Some(FaultKind::DiskPressure)),
    ("drifts", Some(FaultKind::OnDiskMismatch)),
    ("drifts unseen", Some(FaultKind::HiddenMismatch)),
    ("cannot be reconciled", Some(FaultKind::Unreconcilable)),
    ("cannot update its system", Some(FaultKind::OsUpdateFails)),
    ("cannot pull its system", Some(FaultKind::ImagePullFails)),
    ("cannot be rebooted", Some(FaultKind::RebootRefused)),
    ("does not return", Some(FaultKind::DoesNotReturn)),
    ("loses its power", Some(FaultKind::PoweredOff)),
    ("cannot be drained", Some(FaultKind::DrainBlocked)),
    ("degrades", Some(FaultKind::Degraded)),
    ("recovers", None),
];

const OF_PODS: Words<Option<FaultKind>> = &[
    ("becomes unready", Some(FaultKind::Unready)),
    ("is not live", Some(FaultKind::NotLive)),
    ("does not start", Some(FaultKind::NotStarted)),
    ("crashes", Some(FaultKind::CrashLooping)),
    ("recovers", None),
];

const API_FAILS: &str = concat!(
    r"{at or change}the API server answers (\S+) to (?:the next (\d+) |all |the next )?",
    r"(get|list|watch|create|update|patch|delete|request)(?:e?s)?(?: number (\d+))?{of}{by}{for}",
);

const CRASHES: &str = concat!(
    r"{at or change}(\S+) crashes (before|after) (?:its next )?(create|update|patch|delete|write)",
    r"(?: number (\d+))?{of}{for}",
);

pub(in crate::steps) const STEPS: &[Definition] = &[
    when(
        r#"{at or change}operator (\S+) {word}(?: with reason "([^"]+)")?(?: (?:and|with) message "([^"]+)")?{for}"#,
        "Starts a fault of an operator, named by its ClusterOperator, or ends its faults. `degrades` sets \
         `Degraded=True`, `becomes unavailable` sets `Available=False`, `flaps` changes `Available` every \
         30 seconds, `becomes not upgradeable` sets `Upgradeable=False`. An operator that `stalls` never \
         finishes a rollout, and one that `falls silent` has an empty status.",
        &[
            r#"operator etcd degrades with reason "EtcdMembersDegraded" and message "2 of 3 members are available""#,
            "operator etcd degrades for 15 minutes",
            "at 70 minutes operator etcd becomes unavailable for 15 minutes",
        ],
        |world, call| {
            let [operator, how, reason, message] = call.values();
            let fault = meaning(OF_OPERATORS, &how)?.map(|kind| Fault { reason, message, ..Fault::new(kind) });
            let fault = fault.map(|fault| InjectedFault::Operator(operator.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Operator(operator), fault)
        },
    )
    .with_words(|| names(OF_OPERATORS)),
    when(
        r#"{at or change}node (\S+) {word}(?: with message "(.+)")?{for}"#,
        "Starts a fault of a node, or ends its faults. The kubelet reports `becomes not ready` and `comes \
         under disk pressure`; it does not run on a node that `loses its kubelet`. On a node that \
         `drifts`, a file differs from the MachineConfig; after `drifts unseen`, the machine-config \
         daemon notices that only when it restarts. For `cannot be reconciled`, `cannot update its \
         system`, `cannot pull its system` and `degrades`, the machine-config daemon reports the message. \
         A node that `cannot be rebooted` stays up when it should reboot, and one that `does not return` \
         stays away after its next reboot. The machine of one that `loses its power` is down until it \
         recovers. A pod that cannot be evicted is the cause of `cannot be \
         drained`.",
        &[
            "node worker-0 becomes not ready",
            "node worker-0 loses its kubelet",
            "node worker-0 drifts unseen",
            "node worker-0 cannot be drained",
            "node worker-0 cannot update its system",
            r#"node worker-0 degrades with message "disk full""#,
            "node worker-0 cannot be rebooted",
            "node worker-0 does not return for 2 hours",
            "node worker-0 loses its power for 20 minutes",
        ],
        |world, call| {
            let [node, how, message] = call.values();
            let fault = meaning(OF_NODES, &how)?.map(|kind| Fault { message, ..Fault::new(kind) });
            let fault = fault.map(|fault| InjectedFault::Node(node.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Node(node), fault)
        },
    )
    .with_words(|| names(OF_NODES)),
    when(
        r"{at or change}node (\S+) reboots (\d+) times? more than it should{for}",
        "Adds further reboots after the next reboot of a node.",
        &["node worker-0 reboots 3 times more than it should"],
        |world, call| {
            let [node, times] = call.values();
            let fault = Fault { times: number(&times)?, ..Fault::new(FaultKind::RebootLoop) };
            call.begin(&world.kinds, InjectedFault::Node(node, fault))
        },
    ),
    when(
        r"{at or change}the clock of (node|program) (\S+) is (\d+ \w+) (ahead|behind){for}",
        "Sets the clock of a node's machine ahead or behind, which its kubelet and machine-config daemon \
         use; or that of a program of your machine, which is a clock for the times in Leases.",
        &[
            "the clock of node worker-0 is 10 minutes ahead",
            "the clock of program my-operator is 2 minutes behind",
        ],
        |world, call| {
            let [owner, name, by, how] = call.values();
            let (by, is_ahead) = (duration(&by)?, how == "ahead");
            let fault = if owner == "program" {
                let fault = ProgramFault::SkewedClock(if is_ahead { by } else { -by });
                InjectedFault::Process(name, fault)
            } else {
                let kind = if is_ahead { FaultKind::ClockAhead } else { FaultKind::ClockBehind };
                InjectedFault::Node(name, Fault { by, ..Fault::new(kind) })
            };
            call.begin(&world.kinds, fault)
        },
    ),
    when(
        r"{at or change}the configuration of pool (\S+) flips (\d+) times?{for}",
        "Changes the rendered MachineConfig of a pool this many times and back: a MachineConfig is added \
         and removed each minute.",
        &["the configuration of pool worker flips 3 times"],
        |world, call| {
            let [pool, times] = call.values();
            call.begin(&world.kinds, InjectedFault::RenderFlips(pool, number(&times)?))
        },
    ),
    when(
        r#"{at or change}image builds of pool (\S+) (fail|succeed again)(?: (\d+) times?)?(?: with message "(.+)")?{for}"#,
        "Makes builds of a pool's custom OS image fail: all attempts, or the first ones of each build. Or \
         ends that.",
        &[
            "image builds of pool worker fail",
            "image builds of pool worker fail 2 times",
            "image builds of pool worker succeed again",
        ],
        |world, call| {
            let [pool, how, times, message] = call.values();
            let times = if times.is_empty() { 0 } else { number(&times)? };
            let fault = Fault { times, message, ..Fault::new(FaultKind::ImageBuildFails) };
            let fault = (how == "fail").then(|| InjectedFault::Pool(pool.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Pool(pool), fault)
        },
    ),
    when(
        API_FAILS,
        "Makes the API server fail certain requests: `too-many-requests`, `internal-error`, \
         `etcd-timed-out`, `unavailable`, `timeout` or `conflict`. Or it loses the answer: \
         `timeout-after-write`, `connection-dropped` or `connection-dropped-after-write`. The fault lasts \
         for the given time or until the API server recovers.",
        &[
            "the API server answers conflict to the next 3 updates of ClusterVersion by cluster-version-operator",
            "the API server answers unavailable to all requests of ClusterOperator/etcd for 5 minutes",
            "the API server answers timeout to create number 2 of Pod",
        ],
        |world, call| {
            let [effect, times, verb, first] = call.values();
            let hits = match (&*first, &*times) {
                ("", "") if call.text().contains(" to the next ") => Hits::new(1, Some(1)),
                ("", "") => Hits::new(1, None),
                ("", times) => Hits::new(1, Some(number(times)?)),
                (first, _) => Hits::new(number(first)?, Some(1)),
            };
            let (effect, requests) = (api_trouble(&effect)?, call.requests(&world.kinds, &verb)?);
            let fault = RequestFault { requests, effect, hits, message: String::new(), retry_after: 1 };
            call.begin(&world.kinds, InjectedFault::Requests(fault))
        },
    ),
    when(
        r"{at}the API server recovers",
        "Ends all faults of the API server.",
        &["the API server recovers"],
        |_, _| Ok(Step::Act(Action::Heal(FaultTarget::Api(None)))),
    ),
    when(
        CRASHES,
        "Crashes a component at its next matching write, or at a later one. The component loses its \
         memory and restarts. With `for`, the crash only comes within this time.",
        &[
            "cluster-version-operator crashes before its next update of ClusterVersion",
            "machine-config-daemon/worker-0 crashes after patch number 3 of Node/worker-0",
            "at change 2 of MachineConfigPool/worker machine-config-controller/node crashes before its next write",
        ],
        |world, call| {
            let [process, moment, verb, first] = call.values();
            let first = if first.is_empty() { 1 } else { number(&first)? };
            let (writes, hits) = (call.requests(&world.kinds, &verb)?, Hits::new(first, Some(1)));
            let fault = ProgramFault::Crash { writes, after: moment == "after", hits };
            call.begin(&world.kinds, InjectedFault::Process(process, fault))
        },
    ),
    when(
        r"{at or change}(\S+) sees nothing new for (?<for>\d+ \w+)",
        "Silences the watches of a component for a time, after which it lists again.",
        &["cluster-version-operator sees nothing new for 5 minutes"],
        |world, call| {
            let [process] = call.values();
            call.begin(&world.kinds, InjectedFault::Process(process, ProgramFault::StaleWatch))
        },
    ),
    when(
        r"{at or change}the watches of (\S+) are dropped",
        "Drops the watches of a component, which then lists again at once.",
        &["the watches of cluster-version-operator are dropped"],
        |world, call| {
            let [process] = call.values();
            call.begin(&world.kinds, InjectedFault::Process(process, ProgramFault::DroppedWatch))
        },
    ),
    when(
        r"{at or change}(\S+) loses its lease for (\d+ \w+)",
        "Makes another holder take the Lease of a component for this time.",
        &["cluster-version-operator loses its lease for 5 minutes"],
        |world, call| {
            let [process, span] = call.values();
            let fault = ProgramFault::LosesLease(duration(&span)?);
            call.begin(&world.kinds, InjectedFault::Process(process, fault))
        },
    ),
    when(
        r"{at or change}(\S+) takes its turns (last|\d+ \w+ late){for}",
        "Makes a component take its turns after all others that have something to do at the same moment, \
         or late: a race or a long queue that a real cluster has by chance. A restart of the component \
         ends the fault.",
        &[
            "machine-config-controller/drain takes its turns last for 1 hour",
            "machine-config-controller/node takes its turns 3 seconds late",
        ],
        |world, call| {
            let [process, how] = call.values();
            let fault = match how.strip_suffix(" late") {
                Some(delay) => ProgramFault::Slow(duration(delay)?),
                None => ProgramFault::LastInTurn,
            };
            call.begin(&world.kinds, InjectedFault::Process(process, fault))
        },
    ),
    when(
        r#"{at or change}pod ([^\s/]+)/(\S+) {word}(?: with message "(.+)")?{for}"#,
        "Starts a fault of pods, or ends their faults. The fault lasts as long as the pod. A pod that \
         `becomes unready` fails its readiness probes, one that `is not live` its liveness probes, one \
         that `does not start` its startup probes. The containers of a pod that `crashes` exit with an \
         error repeatedly. A name that ends in `*` matches any ending.",
        &["pod default/web-* becomes unready", "pod default/web-* crashes for 15 minutes"],
        |world, call| {
            let [namespace, name, how, message] = call.values();
            let fault = meaning(OF_PODS, &how)?.map(|kind| Fault { message, ..Fault::new(kind) });
            let fault = fault.map(|fault| InjectedFault::Pods(namespace.clone(), name.clone(), fault));
            call.fault(&world.kinds, FaultTarget::Pods { namespace, name }, fault)
        },
    )
    .with_words(|| names(OF_PODS)),
];

/// Returns the error or the loss of this name.
fn api_trouble(name: &str) -> Result<FaultEffect, String> {
    let lost = LostAnswer::named(name).map(FaultEffect::Lost);
    ErrorFault::named(name).map(FaultEffect::Error).or(lost).ok_or_else(|| {
        let known = FaultEffect::NAMES.into_iter().filter(|name| !name.starts_with("watch-"));
        format!("unknown error of the API server `{name}`{}", did_you_mean(name, known))
    })
}
