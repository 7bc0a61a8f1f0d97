//! `expect`: conditions that must hold, and when.

use semver::Version;
use windtunnel_core::resources::{CLUSTER_VERSIONS, PODS};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_update_status::assessment::node::phase::Phase;

use super::{insight, leader, monitoring, requests, restored, since, status_text};
use crate::plan::{
    Check, Expectation, ExpectedState, ExpectedTime, LogMatch, ObjectRef, Subject, TextMatch, WriteMatch,
    path,
};
use crate::scenario::object::{self, Star};
use crate::scenario::reader::{Map, Reader};

pub(in crate::scenario) const KEYS: &[&str] = &[
    "object",
    "insight",
    "alert",
    "metric",
    "writes",
    "requests",
    "leader",
    "statuses",
    "status",
    "log",
    "node",
    "update",
    "restored",
    "phase",
    "phases",
    "reboots",
    "condition",
    "conditions",
    "no-condition",
    "fields",
    "pod-status",
    "unchanged",
    "about",
    "level",
    "impact",
    "summary",
    "description",
    "absent",
    "never",
    "exactly",
    "since",
    "within",
    "throughout",
];
const SUBJECTS: &[&str] = &[
    "object", "insight", "alert", "metric", "writes", "requests", "leader", "statuses", "status", "log",
    "node", "update", "restored",
];
const PHASES: &[&str] = &["Draining", "Updating", "Rebooting", "Paused", "Pending", "Updated"];
const CHECKS: &[&str] = &["condition", "conditions", "no-condition", "fields", "pod-status", "unchanged"];
const VERBS: &[&str] = &["create", "update", "patch", "delete"];

/// Parses an expectation; `versions` are the releases that exist in the run.
pub(in crate::scenario) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    versions: &[Version],
) -> Option<Expectation> {
    let map = reader.map(node, "an expectation", KEYS)?;
    let when = expected_time(reader, &map);
    let checks = checks(reader, &map);
    if let (Some(at), false) =
        (map.get("unchanged"), matches!(when, Some(ExpectedTime::Throughout(_)) | None))
    {
        reader.error(at, "`unchanged` needs `throughout`: the time without a change");
    }
    let subjects: Vec<&str> = SUBJECTS.iter().copied().filter(|key| map.get(key).is_some()).collect();
    let what = match subjects.as_slice() {
        ["restored"] => {
            reject_checks(reader, &map, "restored", &["absent", "never", "exactly", "since"]);
            insight::reject_keys(reader, &map, "restored");
            map.get("restored").and_then(|node| restored::read(reader, node, versions))
        }
        [subject] => expected_state(reader, &map, subject, checks),
        [] => {
            let subjects = SUBJECTS.join("`, `");
            reader.error(node, format!("an expectation needs one of `{subjects}`"));
            None
        }
        [first, second, ..] => {
            let message =
                format!("an expectation is about one thing: expected `{first}` or `{second}`, not both");
            reader.error(map.get(second).unwrap_or(node), message);
            None
        }
    };
    Some(Expectation { what: what?, when: when? })
}

/// Parses `within` or `throughout`; without either, the expectation must hold now.
fn expected_time(reader: &mut Reader<'_>, map: &Map<'_>) -> Option<ExpectedTime> {
    match (map.get("within"), map.get("throughout")) {
        (None, None) => Some(ExpectedTime::Now),
        (Some(limit), None) => reader.duration(limit).map(ExpectedTime::Within),
        (None, Some(span)) => reader.duration(span).map(ExpectedTime::Throughout),
        (Some(_), Some(span)) => {
            reader.error(span, "an expectation needs either `within` or `throughout`, found both");
            None
        }
    }
}

/// Parses an expectation about a node: `phase`, all `phases` since the start of the run, or the number of
/// `reboots`.
fn node_expectation(reader: &mut Reader<'_>, map: &Map<'_>, node: &Node) -> Option<ExpectedState> {
    let name = reader.text(node, "the name of a node such as `worker-0`");
    let mut phase = |at: &Node| reader.word(at, PHASES).and_then(Phase::named);
    match ["phase", "phases", "reboots"].map(|key| map.get(key)) {
        [Some(at), None, None] => Some(ExpectedState::Phase { phase: phase(at)?, node: name? }),
        [None, None, Some(at)] => {
            Some(ExpectedState::Reboots { times: reader.number(at, 0, 1000)?, node: name? })
        }
        [None, Some(list), None] => {
            let items = reader.list(list, "phases");
            let phases = items.iter().map(|at| reader.word(at, PHASES).and_then(Phase::named));
            Some(ExpectedState::Phases { phases: phases.collect::<Option<_>>()?, node: name? })
        }
        _ => {
            reader.error(node, "an expectation about a node has a `phase`, `phases` or `reboots`");
            None
        }
    }
}

fn expected_state(
    reader: &mut Reader<'_>,
    map: &Map<'_>,
    subject: &str,
    checks: Vec<Check>,
) -> Option<ExpectedState> {
    let node = map.get(subject)?;
    let absent = map.get("absent").and_then(|at| Some((at, reader.flag(at)?)));
    if let Some((at, false)) = absent {
        reader.error(at, "expected `absent: true`; to expect that the object exists, remove `absent`");
    }
    let absent = matches!(absent, Some((_, true)));
    if subject != "insight" {
        insight::reject_keys(reader, map, subject);
    }
    reject_keys_of_writes(reader, map, subject);
    let never = never(reader, map, subject)?;
    match subject {
        "writes" | "requests" | "leader" | "statuses" | "status" | "log" | "node" | "update" => {
            reject_checks(reader, map, subject, &["absent"]);
        }
        "alert" | "metric" => reject_checks(reader, map, subject, &[]),
        _ => {}
    }
    match subject {
        "object" => {
            let object = object::reference(reader, node, Star::Allowed)?;
            if let Some(at) = map.get("pod-status").filter(|_| object.resource != PODS) {
                reader.error(at, format!("`pod-status` is for pods, not for {}", object.resource.kind));
            }
            if absent {
                reject_checks(reader, map, "absent", &[]);
                return Some(ExpectedState::Absent(object));
            }
            Some(if never {
                ExpectedState::Never(object, checks)
            } else {
                ExpectedState::Object(object, checks)
            })
        }
        "node" => node_expectation(reader, map, node),
        "status" => status_text::read(reader, map, node).map(ExpectedState::Status),
        "log" => {
            if let Some(at) = map.get("throughout") {
                reader.error(at, "`throughout` cannot be combined with `log`: use `within`, or neither");
            }
            log(reader, node).map(ExpectedState::Log)
        }
        "insight" => {
            if let Some(at) = map.get("pod-status") {
                reader.error(at, "`pod-status` is for pods, not for insights");
            }
            insight::expected(reader, map, node, checks, (absent, never))
        }
        "alert" => {
            let alert = monitoring::alert(reader, node)?;
            Some(match (absent, never) {
                (true, _) => ExpectedState::NoAlert(alert),
                (_, true) => ExpectedState::NeverAlert(alert),
                _ => ExpectedState::Alert(alert),
            })
        }
        "metric" => {
            let metric = monitoring::metric(reader, node)?;
            Some(if absent { ExpectedState::NoMetric(metric) } else { ExpectedState::Metric(metric) })
        }
        "update" => reader.word(node, &["complete"]).map(|_| completed_update()),
        "writes" => Some(expected_writes(reader, map, node)),
        "requests" => requests::read(reader, map, node),
        "leader" => leader::read(reader, node),
        _ => statuses(reader, node),
    }
}

/// Rejects the keys that only `writes` has.
fn reject_keys_of_writes(reader: &mut Reader<'_>, map: &Map<'_>, subject: &str) {
    for key in ["exactly", "since"] {
        if let Some(at) = map.get(key).filter(|_| subject != "writes") {
            let place =
                if (subject, key) == ("requests", "since") { ": write it inside `requests`" } else { "" };
            reader.error(at, format!("`{key}` cannot be combined with `{subject}`{place}"));
        }
    }
}

/// Returns the expectation that the requested release, if any, is `Completed`, and no update is in progress.
fn completed_update() -> ExpectedState {
    let cluster_version =
        ObjectRef { resource: CLUSTER_VERSIONS, namespace: String::new(), name: "version".to_owned() };
    ExpectedState::Object(cluster_version, vec![Check::Updated])
}

fn expected_writes(reader: &mut Reader<'_>, map: &Map<'_>, node: &Node) -> ExpectedState {
    if let Some(at) = map.get("throughout") {
        reader.error(at, "`throughout` cannot be combined with `writes`: use `within`, or neither");
    }
    let items = reader.list(node, "writes");
    if items.is_empty() && matches!(node.kind, Kind::List(_)) {
        reader.error(node, "expected at least one write");
    }
    let exactly = map.get("exactly").is_some_and(|at| reader.flag(at) == Some(true));
    let writes = items.iter().filter_map(|item| write(reader, item)).collect();
    let since = since::read(reader, map);
    if exactly { ExpectedState::OnlyWrites(writes, since) } else { ExpectedState::Writes(writes, since) }
}

/// Returns whether `never: true` is set; `None` for a subject that does not support it.
fn never(reader: &mut Reader<'_>, map: &Map<'_>, subject: &str) -> Option<bool> {
    let Some(at) = map.get("never") else { return Some(false) };
    if !["object", "insight", "alert"].contains(&subject) {
        reader.error(at, format!("`never` cannot be combined with `{subject}`"));
        return None;
    }
    if !reader.flag(at)? {
        let message = format!("expected `never: true`; to expect that the {subject} exists, remove `never`");
        reader.error(at, message);
        return None;
    }
    for key in ["absent", "within", "throughout"].into_iter().filter(|key| map.get(key).is_some()) {
        reader.error(at, format!("`never` is about the whole run: it cannot be combined with `{key}`"));
    }
    Some(true)
}

/// Rejects checks and the keys `other_keys`, which do not apply to `subject`.
fn reject_checks(reader: &mut Reader<'_>, map: &Map<'_>, subject: &str, other_keys: &[&str]) {
    for key in CHECKS.iter().chain(other_keys) {
        if let Some(at) = map.get(key) {
            reader.error(at, format!("`{key}` cannot be combined with `{subject}`"));
        }
    }
}

fn checks(reader: &mut Reader<'_>, map: &Map<'_>) -> Vec<Check> {
    let mut found = Vec::new();
    if let (Some(_), Some(second)) = (map.get("condition"), map.get("conditions")) {
        reader.error(second, "expected `condition` or `conditions`, not both");
    }
    for node in ["condition", "conditions"].into_iter().filter_map(|key| map.get(key)) {
        let items =
            if let Kind::List(items) = &node.kind { items.as_slice() } else { std::slice::from_ref(node) };
        found.extend(items.iter().filter_map(|item| condition(reader, item)));
    }
    let missing = map.get("no-condition");
    if let Some(kind) = missing.and_then(|node| reader.text(node, "a condition type such as `Upgradeable`")) {
        found.push(Check::NoCondition(kind));
    }
    if let Some(fields) = map.get("fields") {
        for (key, value) in reader.entries(fields, "fields by path").unwrap_or_default() {
            if let (Some(path), Some(value)) = (path(reader, key), reader.text_match(value)) {
                found.push(Check::Field { path, value });
            }
        }
    }
    if let Some(value) = map.get("pod-status").and_then(|node| reader.text_match(node)) {
        found.push(Check::PodStatus(value));
    }
    if let Some(node) = map.get("unchanged") {
        let items = reader.list(node, "paths");
        found
            .extend(items.iter().filter_map(|item| path(reader, item)).map(|path| Check::Unchanged { path }));
    }
    found
}

/// Parses `log: {pod: NAMESPACE/NAME, contains: TEXT}`.
fn log(reader: &mut Reader<'_>, node: &Node) -> Option<LogMatch> {
    let map = reader.map(node, "a log", &["pod", "container", "contains", "previous"])?;
    let what = "a pod such as `openshift-cluster-version/cluster-version-operator`, where a prefix of the name is enough";
    let at = map.required(reader, "pod", "NAMESPACE/NAME, where a prefix of the name is enough");
    let pod = at.and_then(|at| Some((at, reader.text(at, what)?)));
    let text = map.required(reader, "contains", "part of a line, or `/a regular expression/`");
    let text = text.and_then(|at| reader.text(at, "part of a line, or `/a regular expression/`"));
    let container = map.get("container").and_then(|at| reader.text(at, "the name of a container"));
    let previous = map.get("previous").is_some_and(|at| reader.flag(at) == Some(true));
    let ((at, pod), text) = (pod?, text?);
    let wanted = LogMatch::parse(&pod, &text).map_err(|error| reader.error(at, error)).ok()?;
    Some(LogMatch { container, previous, ..wanted })
}

fn path(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let path = reader.text(node, "a path such as `status.history[0].state`")?;
    path::validate(&path).map_err(|error| reader.error(node, error.to_string())).ok()?;
    Some(path)
}

fn condition(reader: &mut Reader<'_>, node: &Node) -> Option<Check> {
    let map = reader.map(node, "a condition", &["type", "status", "reason", "message"])?;
    let kind = map.required(reader, "type", "such as `Progressing`");
    let kind = kind.and_then(|node| reader.text(node, "a condition type such as `Progressing`"));
    let status = map.get("status").and_then(|node| status(reader, node));
    let mut text = |key| map.get(key).and_then(|node| reader.text_match(node));
    let (reason, message) = (text("reason"), text("message"));
    Some(Check::Condition { kind: kind?, status, reason, message })
}

/// Parses the status of a condition. YAML's `true` means Kubernetes' `True`.
fn status(reader: &mut Reader<'_>, node: &Node) -> Option<TextMatch> {
    let wanted = reader.text_match(node)?;
    status_match(reader, node, wanted)
}

fn status_match(reader: &mut Reader<'_>, node: &Node, wanted: TextMatch) -> Option<TextMatch> {
    match wanted {
        TextMatch::Equals(text) => status_word(reader, node, &text).map(TextMatch::Equals),
        TextMatch::AnyOf(all) => {
            let all: Option<_> = all.into_iter().map(|one| status_match(reader, node, one)).collect();
            all.map(TextMatch::AnyOf)
        }
        other => Some(other),
    }
}

fn status_word(reader: &mut Reader<'_>, node: &Node, text: &str) -> Option<String> {
    const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
    let known = STATUSES.into_iter().find(|word| word.eq_ignore_ascii_case(text));
    if known.is_none() {
        let hint = match text.to_lowercase().as_str() {
            "yes" | "on" | "1" => "; write `\"True\"`".to_owned(),
            "no" | "off" | "0" => "; write `\"False\"`".to_owned(),
            _ => did_you_mean(text, STATUSES),
        };
        reader.error(
            node,
            format!("expected a status (`True`, `False` or `Unknown`), found {}{hint}", node.describe()),
        );
    }
    known.map(str::to_owned)
}

/// Parses `statuses: {object: .., condition: Updating, statuses: [..]}`.
fn statuses(reader: &mut Reader<'_>, node: &Node) -> Option<ExpectedState> {
    let map = reader.map(node, "`statuses`", &["object", "insight", "condition", "statuses"])?;
    let subject = match (map.get("object"), map.get("insight")) {
        (Some(at), None) => object::reference(reader, at, Star::Rejected).map(Subject::Object),
        (None, Some(at)) => insight::reference(reader, at).map(Subject::Insight),
        _ => {
            reader.error(node, "`statuses` needs either `object` or `insight`: the owner of the condition");
            None
        }
    };
    let condition = map.required(reader, "condition", "the condition's type, such as `Updating`");
    let condition = condition.and_then(|node| reader.text(node, "a condition type such as `Updating`"));
    let list = map.required(reader, "statuses", "the statuses in order, such as `[\"False\", \"True\"]`");
    let items = list.map(|node| reader.list(node, "statuses")).unwrap_or_default();
    if let Some(list) = list.filter(|list| items.is_empty() && matches!(list.kind, Kind::List(_))) {
        reader.error(list, "expected at least one status");
    }
    let mut word = |item: &Node| status_word(reader, item, item.scalar().unwrap_or_default());
    let statuses = items.iter().filter_map(&mut word).collect();
    Some(ExpectedState::Statuses { subject: subject?, condition: condition?, statuses })
}

/// Parses one item of `writes`.
fn write(reader: &mut Reader<'_>, node: &Node) -> Option<WriteMatch> {
    const KEYS: &[&str] =
        &["by", "verb", "object", "subresource", "code", "message", "condition", "conditions", "fields"];
    let map = reader.map(node, "a write", KEYS)?;
    let by = map.get("by").and_then(|node| reader.text_match(node));
    let verb = map.get("verb").and_then(|node| reader.word(node, VERBS)).map(str::to_owned);
    let object = map.get("object").and_then(|node| object::reference(reader, node, Star::Allowed));
    let subresource = map.get("subresource").and_then(|node| match node.scalar() {
        Some(text) => Some(text.to_owned()),
        None => reader.text(node, "a subresource such as `status`, or \"\" for none"),
    });
    let code = map.get("code").and_then(|node| reader.number(node, 200, 599));
    let code = code.and_then(|code| u16::try_from(code).ok());
    let message = map.get("message").and_then(|node| reader.text_match(node));
    let checks = checks(reader, &map);
    Some(WriteMatch { by, verb, object, subresource, code, message, checks })
}
