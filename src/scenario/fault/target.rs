//! The targets of faults.

use windtunnel_controllers::registry::repository_of;
use windtunnel_core::requests::faults::{RequestFilter, VERBS};
use windtunnel_core::yaml::Node;

use crate::plan::FaultTarget;
use crate::scenario::object::{self, Star};
use crate::scenario::reader::{Map, Reader};

const POD: &str = "pods such as `default/web-*`";

const WEBHOOK: &str = "writes such as `{verb: update, kind: ClusterOperator}`";

const REGISTRY: &str = "a registry, namespace or repository such as `mirror.example.com/ocp`";

const CRD: &str = "the name of a CustomResourceDefinition such as `backups.config.openshift.io`";

/// The keys that name the target of a fault, with the expected value of each.
pub(super) const TARGETS: [(&str, &str); 10] = [
    ("operator", "the name of a ClusterOperator such as `etcd`"),
    ("node", "the name of a node such as `worker-0`"),
    ("pod", POD),
    ("api", "requests such as `{verb: update, kind: ClusterVersion}`"),
    ("process", "a component or a program by its name in the timeline, such as `cluster-version-operator`"),
    ("pool", "the name of a MachineConfigPool such as `worker`"),
    ("release", "a release that exists in the run, such as `4.14.8`"),
    ("registry", REGISTRY),
    ("webhook", WEBHOOK),
    ("crd", CRD),
];

/// The verbs that a webhook can cover.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// Parses the target: exactly one of [`TARGETS`].
pub(super) fn fault_target(reader: &mut Reader<'_>, at: &Node, map: &Map<'_>) -> Option<FaultTarget> {
    let mut found = TARGETS.iter().filter_map(|(key, what)| Some((*key, *what, map.get(key)?)));
    let Some((key, what, node)) = found.next() else {
        let known: Vec<String> = TARGETS.iter().map(|(key, what)| format!("`{key}` ({what})")).collect();
        reader.error(at, format!("expected a target, one of {}", known.join(", ")));
        return None;
    };
    if let Some((other, _, second)) = found.next() {
        reader.error(second, format!("expected one target, `{key}` or `{other}`, found both"));
        return None;
    }
    match key {
        "operator" => reader.text(node, what).map(FaultTarget::Operator),
        "node" => reader.text(node, what).map(FaultTarget::Node),
        "process" => reader.text(node, what).map(FaultTarget::Process),
        "pool" => reader.text(node, what).map(FaultTarget::Pool),
        "pod" => pods(reader, node),
        "release" => reader.release(node).map(|release| FaultTarget::Release(release.version)),
        "registry" => registry(reader, node),
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
            reader.error(node, format!("expected {POD}, found `{text}`"));
            None
        }
    }
}

/// Parses a registry, namespace or repository, which has no tag or digest.
fn registry(reader: &mut Reader<'_>, node: &Node) -> Option<FaultTarget> {
    let name = reader.text(node, REGISTRY)?;
    let is_host = repository_of(&name) == name || !name.contains(['/', '@']);
    if is_host && !name.is_empty() && !name.ends_with('/') {
        return Some(FaultTarget::Registry(name));
    }
    reader.error(node, format!("expected {REGISTRY}, found `{name}`"));
    None
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
    reader.error(node, format!("expected {CRD}, found `{name}`"));
    None
}

/// Parses
/// `{verb: update, kind: ClusterVersion, name: version, subresource: status, by: cluster-version-operator}`.
pub(super) fn requests(reader: &mut Reader<'_>, node: &Node) -> Option<RequestFilter> {
    let keys = ["verb", "kind", "name", "subresource", "by"];
    let map = reader.map(node, "requests such as `{verb: update, kind: ClusterVersion}`, or `all`", &keys)?;
    request_filter(reader, &map)
}

/// Parses the keys `verb`, `kind`, `name`, `subresource` and `by` of a map.
pub(in crate::scenario) fn request_filter(reader: &mut Reader<'_>, map: &Map<'_>) -> Option<RequestFilter> {
    let mut requests = RequestFilter::default();
    if let Some(verb) = map.get("verb") {
        requests.verb = Some(reader.word(verb, &VERBS)?.to_owned());
    }
    if let Some(node) = map.get("kind") {
        let kind = reader.text(node, "a kind such as `ClusterVersion`")?;
        if let Err(message) = reader.kinds.find(&kind) {
            reader.error(node, message);
        }
        requests.kind = Some(kind);
    }
    let mut text = |key, what| map.get(key).and_then(|node| reader.text(node, what));
    requests.name = text("name", "the name of an object, or a prefix such as `etcd*`");
    requests.subresource = text("subresource", "a subresource such as `status`");
    requests.by = text("by", "the client, such as `cluster-version-operator`");
    Some(requests)
}
