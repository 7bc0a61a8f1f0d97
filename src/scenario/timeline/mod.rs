//! `timeline`: the steps of a scenario.

mod feature_set;
mod include;
mod keep_and_retry;

use std::collections::BTreeMap;

use semver::Version;
use windtunnel_core::Propagation;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};

use super::expectations::{command, expectation};
use super::labels::labels;
use super::object::{self, Star};
use super::reader::Reader;
use super::{fault, step_text};
use crate::plan::{Action, Attempt, PlannedStep, Step, Target, pod_prefix};

pub(super) const ACTIONS: &[&str] = &[
    "run",
    "update",
    "clear-update",
    "publish-insights",
    "feature-set",
    "apply",
    "patch",
    "delete",
    "try",
    "join",
    "logs",
    "fault",
    "heal",
    "advance",
    "at",
    "expect",
    "keep",
    "retry",
    "include",
];

/// Returns all valid steps; `versions` are those that exist in the run.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Vec<PlannedStep> {
    let items = reader.list(node, "steps");
    if items.is_empty() && matches!(node.kind, Kind::List(_)) {
        reader.error(node, "the list of steps is empty: expected at least one");
    }
    let mut steps = Vec::new();
    for item in items {
        match item.get("include").filter(|_| has_one_key(item)) {
            Some(node) => steps.extend(include::steps(reader, node, versions)),
            None => steps.extend(planned(reader, item, versions)),
        }
    }
    steps
}

fn has_one_key(item: &Node) -> bool {
    matches!(&item.kind, Kind::Map(entries) if entries.len() == 1)
}

fn planned(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<PlannedStep> {
    let step = step(reader, node, versions)?;
    let text = step_text::describe_step(&step);
    Some(PlannedStep { line: node.line, column: node.column, text, step })
}

/// Returns the message about the second key of a step.
fn second_key(first: &Node, second: &Node) -> String {
    let (name, found) = (first.scalar().unwrap_or_default(), second.describe());
    let is_step = |key: &Node| key.scalar().is_some_and(|key| ACTIONS.contains(&key));
    let hint = match (is_step(first), is_step(second)) {
        (true, true) => format!("; write `- ` before {found} to make it a step of its own"),
        (true, false) => format!("; if it belongs to `{name}`, indent it more than `{name}`"),
        (false, true) => format!("; if `{name}` belongs to {found}, indent it more than {found}"),
        (false, false) => String::new(),
    };
    format!("a step does one thing: expected one key, found {found} too{hint}")
}

fn step(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Step> {
    let actions = ACTIONS.join("`, `");
    let (key, value) = match &node.kind {
        Kind::Text(_) => (node, None),
        Kind::Map(entries) => match entries.as_slice() {
            [(key, value)] => (key, Some(value)),
            [(first, _), (second, _), ..] => {
                reader.error(second, second_key(first, second));
                return None;
            }
            [] => {
                reader.error(node, format!("expected a step, one of `{actions}`, found an empty map"));
                return None;
            }
        },
        _ => {
            reader.error(node, format!("expected a step, one of `{actions}`, found {}", node.describe()));
            return None;
        }
    };
    let name = key.scalar().unwrap_or_default();
    match (name, value) {
        ("clear-update" | "publish-insights", value) => {
            if let Some(value) = value.filter(|value| value.kind != Kind::Null) {
                reader.error(value, format!("`{name}` takes no value, found {}", value.describe()));
                return None;
            }
            let action = if name == "clear-update" { Action::ClearUpdate } else { Action::PublishInsights };
            Some(Step::Act(action))
        }
        ("run", Some(value)) => command::run(reader, value, versions).map(Step::Run),
        (name, Some(value)) if REQUESTS.contains(&name) => {
            request(reader, name, value, versions).map(Step::Act)
        }
        ("try", Some(value)) => attempt(reader, value, versions).map(Step::Try),
        ("feature-set", Some(value)) => feature_set::read(reader, value).map(Step::Act),
        ("join", Some(value)) => join(reader, value).map(Step::Act),
        ("logs", Some(value)) => logs(reader, value).map(Step::Act),
        ("fault", Some(value)) => fault::fault(reader, value).map(Step::Act),
        ("heal", Some(value)) => fault::heal(reader, value).map(Step::Act),
        ("advance", Some(value)) => reader.duration(value).map(Step::Advance),
        ("at", Some(value)) => reader.duration(value).map(Step::At),
        ("expect", Some(value)) => expectation::read(reader, value, versions).map(Step::Expect),
        ("keep", Some(value)) => keep_and_retry::keep(reader, value),
        ("retry", Some(value)) => keep_and_retry::retry(reader, value, versions).map(Step::Retry),
        (known, None) if ACTIONS.contains(&known) => {
            reader.error(node, format!("`{known}` needs a value, as in `{known}: ...`"));
            None
        }
        _ => {
            let hint = did_you_mean(name, ACTIONS.iter().copied());
            let hint = if hint.is_empty() { format!("; there are `{actions}`") } else { hint };
            reader.error(key, format!("unknown step {}{hint}", key.describe()));
            None
        }
    }
}

/// The steps that send a request to the API server, and that `try` takes.
const REQUESTS: [&str; 4] = ["update", "apply", "patch", "delete"];

/// Parses one of [`REQUESTS`].
fn request(reader: &mut Reader<'_>, name: &str, value: &Node, versions: &[Version]) -> Option<Action> {
    match name {
        "update" => update(reader, value, versions),
        "apply" => object::parse_object(reader, value).map(Action::Apply),
        "patch" => patch(reader, value),
        _ => delete(reader, value),
    }
}

/// Parses `patch: {object: Kind/name, merge: {...}}`, with `subresource: status` for a patch of the status.
fn patch(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let shape = "a patch such as `{object: Kind/name, merge: {spec: {paused: true}}}`";
    let map = reader.map(node, shape, &["object", "merge", "subresource"])?;
    let object = map.required(reader, "object", "the object to patch, such as `MachineConfigPool/worker`");
    let object = object.and_then(|node| object::reference(reader, node, Star::Allowed));
    let merge = map.required(reader, "merge", "the fields to change, such as `{spec: {paused: true}}`");
    let patch = merge.and_then(|node| object::fields(reader, node, "the fields to change"));
    let subresource = match map.get("subresource") {
        Some(node) => Some(reader.word(node, &["status"])?),
        None => None,
    };
    Some(Action::Patch { object: object?, patch: patch?, status: subresource.is_some() })
}

/// Parses `delete: Kind/name` or `delete: {object: Kind/name, cascade: orphan}`.
fn delete(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    if !matches!(node.kind, Kind::Map(_)) {
        let object = object::reference(reader, node, Star::Rejected)?;
        return Some(Action::Delete { object, cascade: None });
    }
    let shape = "an object such as `Kind/name`, or `{object: Kind/name, cascade: orphan}`";
    let map = reader.map(node, shape, &["object", "cascade"])?;
    let object = map.required(reader, "object", "the object to delete, such as `ConfigMap/default/settings`");
    let object = object.and_then(|node| object::reference(reader, node, Star::Rejected));
    let cascade = match map.get("cascade") {
        Some(node) => Some(cascade(reader, node)?),
        None => None,
    };
    Some(Action::Delete { object: object?, cascade })
}

/// Parses `join: worker-3` or `join: {node: worker-3, labels: {topology.kubernetes.io/zone: a}}`.
fn join(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    if !matches!(node.kind, Kind::Map(_)) {
        return Some(Action::Join { node: new_node(reader, node)?, labels: BTreeMap::new() });
    }
    let map = reader.map(node, "a machine that joins", &["node", "labels"])?;
    let name = map.required(reader, "node", "the name of its node, such as `worker-3`");
    let name = name.and_then(|node| new_node(reader, node));
    let labels = map.get("labels").map(|node| labels(reader, node)).unwrap_or_default();
    Some(Action::Join { node: name?, labels })
}

/// Parses `logs: {pod: NAMESPACE/NAME, lines: [...]}`.
fn logs(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let map = reader.map(node, "lines for the log of a pod", &["pod", "container", "lines"])?;
    let what = "a pod such as `openshift-dns/dns-default`, where a prefix of the name is enough";
    let at = map.required(reader, "pod", "NAMESPACE/NAME, where a prefix of the name is enough");
    let pod = at.and_then(|at| Some((at, reader.text(at, what)?)));
    let container = map.get("container").and_then(|at| reader.text(at, "the name of a container"));
    let lines = map.required(reader, "lines", "a list of lines, such as `[connection refused]`");
    let lines_at = lines?;
    let lines: Vec<String> =
        reader.list(lines_at, "lines").iter().filter_map(|line| reader.text(line, "a line")).collect();
    if lines.is_empty() {
        reader.error(lines_at, "expected at least one line");
        return None;
    }
    let (at, pod) = pod?;
    let (namespace, pod) = pod_prefix(&pod).map_err(|error| reader.error(at, error)).ok()?;
    Some(Action::Log { namespace, pod, container, lines })
}

fn new_node(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let what = "the name of a new node, such as `worker-3`";
    let name = reader.text(node, what)?;
    let is_valid =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
    if name.is_empty() || !name.chars().all(is_valid) {
        let message = format!("expected {what}, found `{name}`: use lower-case letters, digits, `-` and `.`");
        reader.error(node, message);
        return None;
    }
    Some(name)
}

fn cascade(reader: &mut Reader<'_>, node: &Node) -> Option<Propagation> {
    let known = "`background`, `foreground` or `orphan`";
    let word = reader.text(node, known)?;
    let found = Propagation::named(&word);
    if found.is_none() {
        reader.error(node, format!("expected {known}, found `{word}`"));
    }
    found
}

/// Parses `try: {apply: ..., refused: ...}`.
fn attempt(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Attempt> {
    let map = reader.map(node, "a `try` step", &["update", "apply", "patch", "delete", "refused"])?;
    let requests: Vec<(&str, &Node)> =
        REQUESTS.iter().filter_map(|name| Some((*name, map.get(name)?))).collect();
    let refused =
        map.required(reader, "refused", "the expected message, such as `{contains: Unsupported value}`");
    let refused = refused.map(|node| reader.text_matches(node));
    let [(name, value)] = requests.as_slice() else {
        reader.error(node, "a `try` step needs exactly one of `update`, `apply`, `patch`, `delete`");
        return None;
    };
    let action = request(reader, name, value, versions);
    Some(Attempt { action: action?, refused: refused? })
}

/// Parses `update: {to: 4.14.8}` or `update: {image: ...}`.
fn update(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Option<Action> {
    let shape = "an update such as `{to: 4.14.8}` or `{image: quay.io/...@sha256:..., force: true}`";
    let map = reader.map(node, shape, &["to", "image", "force"])?;
    let force = map.get("force").and_then(|node| reader.flag(node)).unwrap_or(false);
    let to = match (map.get("to"), map.get("image")) {
        (Some(version), None) => Target::Version(reader.existing_version(version, versions)?),
        (None, Some(image)) => Target::Image(pullspec(reader, image)?),
        (Some(_), Some(image)) => {
            reader.error(image, "an update needs either `to` or `image`, found both");
            return None;
        }
        (None, None) => {
            reader.error(node, "an update needs `to` (a version) or `image` (a pull specification)");
            return None;
        }
    };
    Some(Action::Update { to, force })
}

fn pullspec(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text =
        reader.text(node, "an image such as `quay.io/openshift-release-dev/ocp-release@sha256:...`")?;
    if text.contains('/') && !text.contains(char::is_whitespace) {
        return Some(text);
    }
    let example = "quay.io/openshift-release-dev/ocp-release@sha256:...";
    reader.error(node, format!("expected an image such as `{example}`, found `{text}`"));
    None
}
