//! `fault` and `heal`: the start and the end of faults.

use jiff::SignedDuration;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::requests::faults::{
    Hits, InjectedError, ProgramFault, RequestFault, RequestFilter, VERBS,
};
use windtunnel_core::yaml::Node;
use windtunnel_openshift::environment::ReleaseFault;

use super::object::{self, Star};
use super::reader::{Map, Reader};
use crate::plan::{Action, CrdFault, FaultTarget, InjectedFault};

const POD: &str = "pods such as `default/web-*`";

const WEBHOOK: &str = "writes such as `{verb: update, kind: ClusterOperator}`";

const CRD: &str = "the name of a CustomResourceDefinition such as `backups.config.openshift.io`";

/// The keys that name the target of a fault, with the expected value of each.
const TARGETS: [(&str, &str); 9] = [
    ("operator", "the name of a ClusterOperator such as `etcd`"),
    ("node", "the name of a node such as `worker-0`"),
    ("pod", POD),
    ("api", "requests such as `{verb: update, kind: ClusterVersion}`"),
    ("process", "a component by its name in the timeline, such as `cluster-version-operator`"),
    ("pool", "the name of a MachineConfigPool such as `worker`"),
    ("release", "a release that exists in the run, such as `4.14.8`"),
    ("webhook", WEBHOOK),
    ("crd", CRD),
];

/// The keys that every fault may have.
const ALWAYS: [&str; 3] = ["is", "after", "for"];

/// The keys that some faults may have.
const DETAILS: [&str; 7] = ["reason", "message", "times", "by", "nth", "retry-after", "write"];

/// The faults of a MachineConfigPool.
const OF_POOLS: [&str; 2] = ["render-flips", IMAGE_BUILD_FAILS];

/// The fault of a pool whose custom images cannot be built.
const IMAGE_BUILD_FAILS: &str = FaultKind::OF_POOLS[0];

const OF_WEBHOOKS: [&str; 1] = ["unreachable"];

/// The verbs that a webhook can cover.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// The highest value of `times` and `nth`.
const TIMES_MAX: u32 = 1000;

/// Default seconds in `Retry-After`.
const RETRY_AFTER: u32 = 1;

/// Default time for which another holder has the Lease.
const LEASE_LOST: SignedDuration = SignedDuration::from_mins(3);

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
        Some(FaultTarget::Api(_)) => &InjectedError::NAMES,
        Some(FaultTarget::Process(_)) => &ProgramFault::NAMES,
        Some(FaultTarget::Pool(_)) => &OF_POOLS,
        Some(FaultTarget::Release(_)) => &ReleaseFault::NAMES,
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
        FaultTarget::Webhook(writes) => word.map(|_| (InjectedFault::Webhook(writes), lasts))?,
        FaultTarget::Crd(name) => (InjectedFault::Crd(name, CrdFault::named(word?)?), lasts),
        FaultTarget::Pool(name) if word == Some(IMAGE_BUILD_FAILS) => {
            (InjectedFault::Pool(name, details.injected_fault(IMAGE_BUILD_FAILS)?), lasts)
        }
        FaultTarget::Pool(name) => (InjectedFault::RenderFlips(name, details.number("times", 1)?), lasts),
    };
    Some(Action::Fault { fault, after: after?, lasts })
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
        (FaultTarget::Node(_), "clock-ahead" | "clock-behind") => &["by"],
        (
            FaultTarget::Node(_),
            "not-ready" | "degraded" | "on-disk-mismatch" | "hidden-mismatch" | "unreconcilable"
            | "os-update-fails" | "image-pull-fails" | "reboot-refused",
        )
        | (FaultTarget::Pods { .. }, "unready" | "not-live" | "not-started") => &["message"],
        (FaultTarget::Api(_), "too-many-requests") => &["message", "nth", "times", "retry-after"],
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
        reader.problem(at, format!("the fault `{word}` {} has no key `{key}`{hint}", target_phrase(target)));
    }
    if word == "watch-dropped"
        && let Some(at) = map.get("for")
    {
        reader.problem(at, "the fault `watch-dropped` has no key `for`: it ends at once".to_owned());
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
        FaultTarget::Webhook(_) => "of a webhook",
        FaultTarget::Crd(_) => "of a definition",
    }
}

/// Parses the target: exactly one of [`TARGETS`].
fn fault_target(reader: &mut Reader<'_>, at: &Node, map: &Map<'_>) -> Option<FaultTarget> {
    let mut found = TARGETS.iter().filter_map(|(key, what)| Some((*key, *what, map.get(key)?)));
    let Some((key, what, node)) = found.next() else {
        let known: Vec<String> = TARGETS.iter().map(|(key, what)| format!("`{key}` ({what})")).collect();
        reader.problem(at, format!("expected a target, one of {}", known.join(", ")));
        return None;
    };
    if let Some((other, _, second)) = found.next() {
        reader.problem(second, format!("expected one target, `{key}` or `{other}`, found both"));
        return None;
    }
    match key {
        "operator" => reader.text(node, what).map(FaultTarget::Operator),
        "node" => reader.text(node, what).map(FaultTarget::Node),
        "process" => reader.text(node, what).map(FaultTarget::Process),
        "pool" => reader.text(node, what).map(FaultTarget::Pool),
        "pod" => pods(reader, node),
        "release" => reader.release(node).map(|release| FaultTarget::Release(release.version)),
        "webhook" => webhook_writes(reader, node),
        "crd" => definition(reader, node),
        _ if node.scalar() == Some("all") => Some(FaultTarget::Api(None)),
        _ => requests(reader, node).map(|requests| FaultTarget::Api(Some(requests))),
    }
}

/// Parses `namespace/name`; a trailing `*` matches any ending.
fn pods(reader: &mut Reader<'_>, node: &Node) -> Option<FaultTarget> {
    let text = reader.text(node, POD)?;
    match object::parse_reference(&reader.kinds, &format!("Pod/{text}"), Star::Allowed) {
        Ok(found) => Some(FaultTarget::Pods { namespace: found.namespace, name: found.name }),
        Err(_) => {
            reader.problem(node, format!("expected {POD}, found `{text}`"));
            None
        }
    }
}

/// Parses the writes that a webhook covers.
fn webhook_writes(reader: &mut Reader<'_>, node: &Node) -> Option<FaultTarget> {
    let map = reader.map(node, WEBHOOK, &["verb", "kind", "name", "subresource"])?;
    if let Some(verb) = map.get("verb") {
        reader.word(verb, &WRITES)?;
    }
    requests(reader, node).map(FaultTarget::Webhook)
}

/// Parses the name of a CustomResourceDefinition, `<plural>.<group>`.
fn definition(reader: &mut Reader<'_>, node: &Node) -> Option<FaultTarget> {
    let name = reader.text(node, CRD)?;
    if name.contains('.') {
        return Some(FaultTarget::Crd(name));
    }
    reader.problem(node, format!("expected {CRD}, found `{name}`"));
    None
}

/// Parses
/// `{verb: update, kind: ClusterVersion, name: version, subresource: status, by: cluster-version-operator}`.
fn requests(reader: &mut Reader<'_>, node: &Node) -> Option<RequestFilter> {
    let keys = ["verb", "kind", "name", "subresource", "by"];
    let map = reader.map(node, "requests such as `{verb: update, kind: ClusterVersion}`, or `all`", &keys)?;
    let mut requests = RequestFilter::default();
    if let Some(verb) = map.get("verb") {
        requests.verb = Some(reader.word(verb, &VERBS)?.to_owned());
    }
    if let Some(node) = map.get("kind") {
        let kind = reader.text(node, "a kind such as `ClusterVersion`")?;
        if let Err(message) = reader.kinds.find(&kind) {
            reader.problem(node, message);
        }
        requests.kind = Some(kind);
    }
    let mut text = |key, what| map.get(key).and_then(|node| reader.text(node, what));
    requests.name = text("name", "the name of an object, or a prefix such as `etcd*`");
    requests.subresource = text("subresource", "a subresource such as `status`");
    requests.by = text("by", "the client, such as `cluster-version-operator`");
    Some(requests)
}

/// Parser of the keys of a fault other than its target and `is`.
struct Details<'a, 'r, 'n> {
    reader: &'a mut Reader<'r>,
    node: &'n Node,
    map: &'a Map<'n>,
    lasts: Option<SignedDuration>,
}

impl Details<'_, '_, '_> {
    fn text(&mut self, key: &str, what: &str) -> String {
        self.map.get(key).and_then(|node| self.reader.text(node, what)).unwrap_or_default()
    }

    /// Parses a number from 1; a missing key gives `default`.
    fn number(&mut self, key: &str, default: u32) -> Option<u32> {
        match self.map.get(key) {
            Some(node) => self.reader.number(node, 1, TIMES_MAX),
            None => Some(default),
        }
    }

    /// Parses a fault of an operator, a node or pods.
    fn injected_fault(&mut self, word: &str) -> Option<Fault> {
        let kind = FaultKind::named(word)?;
        let (reason, message) = (self.text("reason", "a reason"), self.text("message", "a message"));
        let times = self.number("times", u32::from(kind == FaultKind::RebootLoop))?;
        let by = match self.map.get("by") {
            Some(node) => Some(self.reader.duration(node)?),
            None => None,
        };
        let is_clock = matches!(kind, FaultKind::ClockAhead | FaultKind::ClockBehind);
        if is_clock && by.is_none() {
            self.reader.problem(self.node, format!("`{word}` needs `by`: the difference, such as `10m`"));
            return None;
        }
        Some(Fault { reason, message, times, by: by.unwrap_or_default(), ..Fault::new(kind) })
    }

    /// Parses which of the matching requests fail. `nth` without `times` means only that request.
    fn hits(&mut self, default_times: Option<u32>) -> Option<Hits> {
        let default_times = if self.map.get("nth").is_some() { Some(1) } else { default_times };
        let (nth, times) = (self.number("nth", 1)?, self.number("times", 0)?);
        Some(Hits::new(nth, Some(times).filter(|times| *times > 0).or(default_times)))
    }

    fn requests(&mut self, requests: RequestFilter, word: &str) -> Option<InjectedFault> {
        let hits = self.hits(None)?;
        let message = self.text("message", "the message of the API server");
        let retry_after = match self.map.get("retry-after") {
            Some(node) => u32::try_from(self.reader.duration(node)?.as_secs()).unwrap_or(u32::MAX),
            None => RETRY_AFTER,
        };
        let trouble = InjectedError::named(word)?;
        Some(InjectedFault::Requests(RequestFault { requests, trouble, hits, message, retry_after }))
    }

    fn program(&mut self, word: &str) -> Option<ProgramFault> {
        let writes = match self.map.get("write") {
            Some(node) => requests(self.reader, node)?,
            None => RequestFilter::default(),
        };
        let hits = self.hits(Some(1))?;
        match word {
            "watch-stale" => Some(ProgramFault::StaleWatch),
            "watch-dropped" => Some(ProgramFault::DroppedWatch),
            "lease-lost" => Some(ProgramFault::LosesLease(self.lasts.unwrap_or(LEASE_LOST))),
            _ => Some(ProgramFault::Crash { writes, after: word == "crash-after-write", hits }),
        }
    }
}
