//! `fault` and `heal`: the start and the end of faults.

mod details;
mod target;

use jiff::SignedDuration;
use windtunnel_controllers::faults::FaultKind;
use windtunnel_controllers::registry::Pull;
use windtunnel_core::requests::faults::{FaultEffect, LostAnswer, ProgramFault, RequestFilter};
use windtunnel_core::yaml::Node;
use windtunnel_openshift::environment::ReleaseFault;

use self::details::Details;
pub(super) use self::target::request_filter;
use self::target::{TARGETS, fault_target};
use super::reader::{Map, Reader};
use crate::plan::{Action, CrdFault, FaultEvent, FaultTarget, InjectedFault};

/// The keys that every fault may have.
const ALWAYS: [&str; 4] = ["is", "after", "for", "at-event"];

/// The keys that some faults may have.
const DETAILS: [&str; 8] = ["reason", "message", "times", "by", "nth", "retry-after", "write", "events"];

/// The faults of a MachineConfigPool.
const OF_POOLS: [&str; 2] = ["render-flips", IMAGE_BUILD_FAILS];

/// The fault of a pool whose custom images cannot be built.
const IMAGE_BUILD_FAILS: &str = FaultKind::OF_POOLS[0];

const OF_WEBHOOKS: [&str; 1] = ["unreachable"];

/// Parses `fault: {operator: etcd, is: degraded}`,
/// `fault: {api: {kind: ClusterVersion}, is: conflict, times: 3}` and so on.
pub(super) fn fault(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let shape = "a fault such as `{operator: etcd, is: degraded}` or `{node: worker-0, is: not-ready}`";
    let keys: Vec<&str> = TARGETS.iter().map(|(key, _)| *key).chain(ALWAYS).chain(DETAILS).collect();
    let map = reader.map(node, shape, &keys)?;
    let target = fault_target(reader, node, &map);
    let span = |reader: &mut Reader<'_>, key| map.get(key).map(|node| reader.duration(node));
    let after = span(reader, "after").unwrap_or(Some(SignedDuration::ZERO));
    let lasts = span(reader, "for");
    let words: &[&str] = match &target {
        Some(FaultTarget::Node(_)) => &FaultKind::OF_NODES,
        Some(FaultTarget::Pods { .. }) => &FaultKind::OF_PODS,
        Some(FaultTarget::Api(_)) => &FaultEffect::NAMES,
        Some(FaultTarget::Process(_)) => &ProgramFault::NAMES,
        Some(FaultTarget::Pool(_)) => &OF_POOLS,
        Some(FaultTarget::Release(_)) => &ReleaseFault::NAMES,
        Some(FaultTarget::Registry(_)) => &Pull::NAMES[1..],
        Some(FaultTarget::Webhook(_)) => &OF_WEBHOOKS,
        Some(FaultTarget::Crd(_)) => &CrdFault::NAMES,
        Some(FaultTarget::Operator(_)) | None => &FaultKind::OF_OPERATORS,
    };
    let known = format!("one of `{}`", words.join("`, `"));
    // The valid values of `is` depend on the target, so an unknown target leaves `is` unchecked.
    let is_target_known = target.is_some();
    let word = map.required(reader, "is", &known).filter(|_| is_target_known);
    let word = word.and_then(|node| reader.word(node, words));
    if let (Some(target), Some(word)) = (&target, word) {
        reject_unsupported_details(reader, &map, target, word);
        reject_impossible_verbs(reader, &map, target, word);
    }
    let lasts = match lasts {
        Some(lasts) => Some(lasts?),
        None => None,
    };
    let mut details = Details { reader, node, map: &map, lasts };
    let (fault, lasts) = match target? {
        FaultTarget::Operator(name) => (InjectedFault::Operator(name, details.injected_fault(word?)?), lasts),
        FaultTarget::Node(name) => (InjectedFault::Node(name, details.injected_fault(word?)?), lasts),
        FaultTarget::Pods { namespace, name } => {
            (InjectedFault::Pods(namespace, name, details.injected_fault(word?)?), lasts)
        }
        FaultTarget::Api(requests) => (details.requests(requests.unwrap_or_default(), word?)?, lasts),
        FaultTarget::Process(name) => {
            let fault = details.program(word?)?;
            // The fault itself contains the duration.
            let lasts = lasts.filter(|_| !matches!(fault, ProgramFault::LosesLease(_)));
            (InjectedFault::Process(name, fault), lasts)
        }
        FaultTarget::Release(version) => {
            (InjectedFault::Release(version, ReleaseFault::named(word?)?), lasts)
        }
        FaultTarget::Registry(name) => (InjectedFault::Registry(name, Pull::named(word?)?), lasts),
        FaultTarget::Webhook(writes) => word.map(|_| (InjectedFault::Webhook(writes), lasts))?,
        FaultTarget::Crd(name) => (InjectedFault::Crd(name, CrdFault::named(word?)?), lasts),
        FaultTarget::Pool(name) if word == Some(IMAGE_BUILD_FAILS) => {
            (InjectedFault::Pool(name, details.injected_fault(IMAGE_BUILD_FAILS)?), lasts)
        }
        FaultTarget::Pool(name) => (InjectedFault::RenderFlips(name, details.number("times", 1)?), lasts),
    };
    let event = match map.get("at-event") {
        Some(node) => Some(event(reader, node)?),
        None => None,
    };
    Some(Action::Fault { fault, event, after: after?, lasts })
}

/// Parses `{kind: ConfigMap, name: job-*, nth: 2}`.
fn event(reader: &mut Reader<'_>, node: &Node) -> Option<FaultEvent> {
    let map = reader.map(node, "a change such as `{kind: ConfigMap, nth: 2}`", &["kind", "name", "nth"])?;
    let kind = map.required(reader, "kind", "a kind such as `ConfigMap`")?;
    let number = map.get("nth").map_or(Some(1), |node| reader.number(node, 1, FaultEvent::NTH_MAX));
    // The keys are those of requests.
    let requests = request_filter(reader, &map)?;
    reader.text(kind, "a kind such as `ConfigMap`")?;
    Some(FaultEvent { kind: requests.kind?, name: requests.name, nth: number? })
}

/// Parses `heal: {operator: etcd}`, `heal: {node: worker-0}`, `heal: {api: all}` and so on.
pub(super) fn heal(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let map = reader.map(node, "a target such as `{operator: etcd}`", &TARGETS.map(|(key, _)| key))?;
    Some(Action::Heal(fault_target(reader, node, &map)?))
}

/// Returns the detail keys that a fault supports. All others are rejected, because they would have no effect.
fn supported_details(target: &FaultTarget, word: &str) -> &'static [&'static str] {
    match (target, word) {
        (
            FaultTarget::Operator(_),
            "degraded" | "unavailable" | "flapping" | "not-upgradeable" | "stalled",
        ) => &["reason", "message"],
        (FaultTarget::Pool(_), IMAGE_BUILD_FAILS) => &["message", "times"],
        (FaultTarget::Node(_), "reboot-loop") | (FaultTarget::Pool(_), _) => &["times"],
        (FaultTarget::Node(_) | FaultTarget::Process(_), "clock-ahead" | "clock-behind")
        | (FaultTarget::Process(_), "slow")
        | (FaultTarget::Api(_), "watch-slow") => &["by"],
        (
            FaultTarget::Node(_),
            "not-ready" | "degraded" | "on-disk-mismatch" | "hidden-mismatch" | "unreconcilable"
            | "os-update-fails" | "image-pull-fails" | "reboot-refused",
        )
        | (FaultTarget::Pods { .. }, "unready" | "not-live" | "not-started") => &["message"],
        (FaultTarget::Api(_), "too-many-requests") => &["message", "nth", "times", "retry-after"],
        (FaultTarget::Api(_), "watch-stale" | "watch-gap") => &[],
        (FaultTarget::Api(_), "watch-behind") => &["events"],
        (FaultTarget::Api(_), word) if LostAnswer::named(word).is_some() || word.starts_with("watch-") => {
            &["nth", "times"]
        }
        (FaultTarget::Api(_), _) => &["message", "nth", "times"],
        (FaultTarget::Process(_), "crash-before-write" | "crash-after-write") => &["write", "nth", "times"],
        _ => &[],
    }
}

/// Reports detail keys that have no effect on this fault.
fn reject_unsupported_details(reader: &mut Reader<'_>, map: &Map<'_>, target: &FaultTarget, word: &str) {
    let supported = supported_details(target, word);
    for key in DETAILS.into_iter().filter(|key| !supported.contains(key)) {
        let Some(at) = map.get(key) else { continue };
        let hint = match supported {
            [] => String::new(),
            supported => format!("; it may have `{}`", supported.join("`, `")),
        };
        reader.error(at, format!("the fault `{word}` {} has no key `{key}`{hint}", target_phrase(target)));
    }
    if ["watch-dropped", "killed"].contains(&word)
        && let Some(at) = map.get("for")
    {
        reader.error(at, format!("the fault `{word}` has no key `for`: it ends at once"));
    }
}

/// Reports a verb of requests that cannot have this fault.
fn reject_impossible_verbs(reader: &mut Reader<'_>, map: &Map<'_>, target: &FaultTarget, word: &str) {
    let FaultTarget::Api(Some(RequestFilter { verb: Some(verb), .. })) = target else { return };
    let reads = ["get", "list", "watch"];
    let (possible, expected) = match FaultEffect::named(word, SignedDuration::ZERO, 0) {
        Some(FaultEffect::Watch(watch)) if watch.ends_watches() => (verb == "watch", "the verb `watch`"),
        Some(FaultEffect::Watch(_)) => {
            (reads.contains(&verb.as_str()), "the verbs `watch`, `list` and `get`")
        }
        Some(FaultEffect::Lost(lost)) if lost.follows_a_write() => {
            (!reads.contains(&verb.as_str()), "verbs that write")
        }
        _ => return,
    };
    if let (false, Some(at)) = (possible, map.get("api")) {
        reader.error(at, format!("the fault `{word}` is for {expected}, found `{verb}`"));
    }
}

fn target_phrase(target: &FaultTarget) -> &'static str {
    match target {
        FaultTarget::Operator(_) => "of an operator",
        FaultTarget::Node(_) => "of a node",
        FaultTarget::Pods { .. } => "of a pod",
        FaultTarget::Api(_) => "of requests",
        FaultTarget::Process(_) => "of a process",
        FaultTarget::Pool(_) => "of a pool",
        FaultTarget::Release(_) => "of a release",
        FaultTarget::Registry(_) => "of a registry",
        FaultTarget::Webhook(_) => "of a webhook",
        FaultTarget::Crd(_) => "of a definition",
    }
}
