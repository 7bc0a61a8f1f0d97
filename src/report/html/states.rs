//! The states that lanes show for an object.

use serde_json::Value;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::text::truncate;
use windtunnel_core::{Object, View, cluster_operator, cluster_version, pool};
use windtunnel_update_status::assessment::node::phase::Phase;
use windtunnel_update_status::insight::published;
use windtunnel_update_status::status::nodes::{self, NodeAssessment};

use super::lanes::{Group, State, Tone};
use crate::report::insights::{self, PublishedInsight};

/// A lane by group and name.
pub(super) type Place = (Group, String);

/// The lane of a ClusterVersion's history.
pub(super) const HISTORY: &str = "history";

/// Returns the newest entry of the history, and a state for each condition.
pub(super) fn of_cluster_version(object: &Object) -> Vec<(Place, State)> {
    let mut found = Vec::new();
    if let Some(newest) = cluster_version::newest_entry(object) {
        let text = |field: &str| newest[field].as_str().unwrap_or_default();
        let tone = if text("state") == "Completed" { Tone::Good } else { Tone::Busy };
        let version = if text("version").is_empty() { text("image") } else { text("version") };
        let state = State::new(tone, format!("{version} {}", text("state")), text("acceptedRisks"));
        found.push(((Group::ClusterVersion, HISTORY.to_owned()), state));
    }
    for value in object.conditions() {
        let Condition { kind, status, reason, message } = Condition::from_value(value);
        let label = format!("{status} {reason}");
        let state = State::new(tone(&kind, &status), label.trim_end(), message);
        found.push(((Group::ClusterVersion, kind), state));
    }
    found
}

fn tone(kind: &str, status: &str) -> Tone {
    match (kind, status) {
        ("Available" | "ReleaseAccepted" | "RetrievedUpdates" | "Upgradeable", "True") => Tone::Good,
        ("Available" | "ReleaseAccepted", "False") | ("Failing" | "Invalid", "True") => Tone::Bad,
        ("RetrievedUpdates" | "Upgradeable", "False") => Tone::Warn,
        ("ReconciliationIssues", "True") => Tone::Wait,
        ("Progressing", "True") => Tone::Busy,
        (_, "Unknown") => Tone::Unknown,
        _ => Tone::Calm,
    }
}

/// Returns the state of an operator, from its three conditions and whether it reports the desired version.
pub(super) fn of_operator(object: &Object, desired: &str) -> State {
    let is = |kind: &str, status: &str| condition::has_status(object, kind, status);
    let version = cluster_operator::version_of(object, "operator").unwrap_or_default();
    let problem = |&(kind, _, wrong): &(&str, Tone, &str)| {
        let found = condition::find_in_status(object, kind)
            .map(Condition::from_value)
            .filter(|c| c.status == wrong)?;
        Some(format!("{kind}={wrong} {}: {}", found.reason, found.message.trim_end()))
    };
    let kinds = [
        ("Available", Tone::Bad, "False"),
        ("Degraded", Tone::Warn, "True"),
        ("Progressing", Tone::Busy, "True"),
    ];
    let message: Vec<String> = kinds.iter().filter_map(problem).collect();
    let mut tones = kinds.iter().filter(|(kind, _, wrong)| is(kind, wrong));
    let (tone, word) = match tones.next() {
        Some(("Available", tone, _)) => (*tone, "Unavailable"),
        Some((kind, tone, _)) => (*tone, *kind),
        None if !desired.is_empty() && version != desired => (Tone::Wait, "waits"),
        None => (Tone::Good, ""),
    };
    let mut state = State::new(tone, format!("{version} {word}").trim(), message.join("\n"));
    state.stripe = tones.next_back().map(|(_, tone, _)| *tone);
    state
}

/// Returns the state of a pool: the most important of its conditions, and the number of updated machines.
pub(super) fn of_pool(object: &Object) -> State {
    let count = |field: &str| object["status"][field].as_i64().unwrap_or(0);
    let counts = format!("{}/{}", count("updatedMachineCount"), count("machineCount"));
    let is = |kind: &str| condition::is_true(object, kind);
    let (tone, word, about) = if is("Degraded") {
        (Tone::Warn, "Degraded", "Degraded")
    } else if pool::is_paused(object) {
        (Tone::Wait, "Paused", "Updating")
    } else if is("Updating") {
        (Tone::Busy, "Updating", "Updating")
    } else if is("Updated") {
        (Tone::Good, "Updated", "Updated")
    } else {
        (Tone::Unknown, "", "")
    };
    let message = condition::find_in_status(object, about).map(|found| Condition::from_value(found).message);
    let mut state = State::new(tone, format!("{word} {counts}").trim(), message.unwrap_or_default());
    state.stripe = (tone == Tone::Warn && is("Updating")).then_some(Tone::Busy);
    state
}

/// Returns the phase of a node, as `oc adm upgrade status` determines it; `None` if no pool selects it.
pub(super) fn of_node(node: &Object, view: &View) -> Option<State> {
    let status = nodes::assess_in_view(node, view)?;
    let tone = match (status.assessment, status.state.phase) {
        (NodeAssessment::Degraded | NodeAssessment::Unavailable, _) => Tone::Bad,
        (_, Phase::Updated) => Tone::Good,
        (_, Phase::Draining) => Tone::Drain,
        (_, Phase::Updating | Phase::Rebooting) => Tone::Busy,
        (_, Phase::Pending | Phase::Paused) => Tone::Wait,
    };
    let ready = condition::is_true(node, "Ready");
    let mut lines = vec![status.message, if ready { String::new() } else { "Not ready".to_owned() }];
    lines.dedup();
    lines.retain(|line| !line.is_empty());
    let mut state =
        State::new(tone, format!("{:?} {}", status.state.phase, status.version).trim_end(), lines.join("\n"));
    state.stripe = (!ready && tone != Tone::Bad).then_some(Tone::Bad);
    Some(state)
}

/// Returns a state for each insight whose document changed; `None` for those that were removed.
pub(super) fn of_insights(before: &Value, after: &Value) -> Vec<(String, Place, Option<State>)> {
    let (old, new) = (insights::published_insights(before), insights::published_insights(after));
    let mut found = Vec::new();
    for (key, insight) in &new {
        if old.get(key) != Some(insight)
            && let Some((name, state)) = of_insight(key, *insight)
        {
            found.push((key.to_string(), (Group::Insights, name), Some(state)));
        }
    }
    for (key, insight) in &old {
        if !new.contains_key(key)
            && let Some((name, _)) = of_insight(key, *insight)
        {
            found.push((key.to_string(), (Group::Insights, name), None));
        }
    }
    found
}

fn of_insight(key: &str, source: PublishedInsight<'_>) -> Option<(String, State)> {
    /// Summaries are truncated; the last characters of the key distinguish equal ones.
    const SUMMARY: usize = 60;
    const TAIL: usize = 6;
    let insight = source.parse()?;
    let (kind, content) = published::content(&insight)?;
    let short = insights::summarize(source);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if kind == "Health" {
        let impact = &content["impact"];
        let tone = match impact["level"].as_str() {
            Some("Warning") => Tone::Warn,
            Some("Error" | "Critical") => Tone::Bad,
            _ => Tone::Unknown,
        };
        let tail = key.get(key.len().saturating_sub(TAIL)..).unwrap_or_default();
        let name = format!("Health {} ({tail})", truncate(&text(&impact["summary"]), SUMMARY));
        let label = format!("{} {}", text(&impact["level"]), text(&impact["type"]));
        return Some((name, State::new(tone, label, text(&impact["description"]))));
    }
    let is = |kind: &str, status: &str| {
        let found = content["conditions"].as_array().and_then(|all| condition::find(all, kind));
        found.is_some_and(|condition| condition["status"] == status)
    };
    let waits = short.contains("Pending") || short.contains("Paused");
    let tone = if is("Degraded", "True") || is("Healthy", "False") {
        Tone::Warn
    } else if is("Updating", "True") {
        Tone::Busy
    } else if is("Available", "False") {
        Tone::Warn
    } else if waits {
        Tone::Wait
    } else {
        Tone::Good
    };
    let name = [&content["name"], &content["resource"]["name"]].into_iter().find_map(Value::as_str);
    Some((format!("{kind} {}", name.unwrap_or(key)), State::new(tone, short, "")))
}

#[cfg(test)]
mod tests {
    use windtunnel_core::yaml;

    use super::*;

    fn object(text: &str) -> Object {
        Object::new(yaml::from_str::<Value>(text).unwrap())
    }

    #[test]
    fn an_operator_shows_its_worst_condition_and_a_stripe_for_another() {
        let check = |conditions: &str, expected: (Tone, Option<Tone>, &str)| {
            let state = of_operator(
                &object(&format!(
                    "status: {{versions: [{{name: operator, version: 4.14.1}}], conditions: [{conditions}]}}"
                )),
                "4.14.8",
            );
            assert_eq!((state.tone, state.stripe, &*state.label), expected, "{conditions}");
        };
        let (available, unavailable) =
            ("{type: Available, status: 'True'}", "{type: Available, status: 'False'}");
        let progressing = "{type: Progressing, status: 'True'}";
        let degraded = "{type: Degraded, status: 'True'}";
        check(available, (Tone::Wait, None, "4.14.1 waits"));
        check(progressing, (Tone::Busy, None, "4.14.1 Progressing"));
        check(&format!("{degraded}, {progressing}"), (Tone::Warn, Some(Tone::Busy), "4.14.1 Degraded"));
        check(&format!("{unavailable}, {degraded}"), (Tone::Bad, Some(Tone::Warn), "4.14.1 Unavailable"));
    }

    #[test]
    fn returns_only_changed_insights() {
        let document = |status: &str| {
            format!(
                "{{uid: co-dns, type: ClusterOperator, clusterOperator: {{name: dns, conditions: [{{type: Updating, status: '{status}', reason: Progressing}}]}}}}"
            )
        };
        let map =
            |dns: &str, etcd: &str| serde_json::json!({"data": {"usc.cpi.dns": dns, "usc.cpi.etcd": etcd}});
        let (before, after) = (map(&document("False"), "same"), map(&document("True"), "same"));
        let found = of_insights(&before, &after);
        assert_eq!(found.len(), 1);
        let (key, (_, name), state) = &found[0];
        assert_eq!((&**key, &**name), ("usc.cpi.dns", "ClusterOperator dns"));
        assert_eq!(state.as_ref().unwrap().tone, Tone::Busy);
        assert_eq!(of_insights(&before, &Value::Null)[0].2, None);
        let part = |status: &str| {
            let insight = yaml::from_str::<Value>(&document(status)).unwrap();
            let informers = serde_json::json!([{"name": "cpi", "insights": [insight]}]);
            serde_json::json!({"status": {"controlPlane": {"informers": informers}}})
        };
        let (key, (_, name), state) = &of_insights(&part("False"), &part("True"))[0];
        assert_eq!((&**key, &**name), ("usc.cpi.co-dns", "ClusterOperator dns"));
        assert_eq!(state.as_ref().unwrap().tone, Tone::Busy);
        assert!(of_insights(&part("True"), &part("True")).is_empty());
    }
}
