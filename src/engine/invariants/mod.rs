//! Invariants that must hold in every run, and the first violation of one.
//!
//! A single change or write decides each of them, so checking all of them costs little.

pub(super) mod node_order;
mod recorded;

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text::clock_time;
use windtunnel_core::{Change, Object, View, condition};
use windtunnel_openshift::cvo::NAME as CLUSTER_VERSION_OPERATOR;

use self::node_order::Phases;
pub use self::recorded::RecordedInvariant;
use super::observer::Observer;
use crate::plan::Invariant;
use crate::record::WriteEvent;

/// The invariants that a run checks.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Invariants {
    checked: BTreeSet<Invariant>,
    epoch: Time,
    /// The ClusterVersion as its operator last wrote it; watch events may arrive later.
    last_written: Option<Object>,
    /// Whether the API server rejected the operator's last status: the next one contains more than one
    /// change.
    is_behind: bool,
    broken: Option<String>,
    phases: Phases,
}

impl Invariants {
    /// Creates the checks of a run whose clock starts at `epoch`.
    pub(in crate::engine) fn new(checked: BTreeSet<Invariant>, epoch: Time) -> Self {
        Self {
            checked,
            epoch,
            last_written: None,
            is_behind: false,
            broken: None,
            phases: Phases::new(epoch),
        }
    }

    /// The first violation: invariant, object, time and cause.
    pub(in crate::engine) fn violation(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Records a violation, if the invariant is checked and none was violated before.
    pub(in crate::engine) fn report(&mut self, invariant: Invariant, object: &str, at: Time, how: &str) {
        if self.checked.contains(&invariant) && self.broken.is_none() {
            let (name, at) = (invariant.name(), clock_time(at.duration_since(self.epoch)));
            self.broken = Some(format!("{object} broke invariant `{name}` at {at}: {how}"));
        }
    }

    /// The phases of all nodes.
    pub(in crate::engine) fn phases(&self) -> &Phases {
        &self.phases
    }

    /// Checks nothing from now on.
    pub(in crate::engine) fn ignore_all(&mut self) {
        self.checked.clear();
        self.broken = None;
    }

    /// Forgets the violation, so that the next one is found.
    fn take_violation(&mut self) -> Option<String> {
        self.broken.take()
    }
}

impl Observer for Invariants {
    fn on_change(&mut self, change: &Change, view: &View, now: Time) {
        if let Some(jump) = self.phases.track_change(change, view, now) {
            self.report(Invariant::NodeOrder, &format!("Node/{}", jump.node), now, &jump.to_string());
        }
    }

    fn on_write(&mut self, write: &WriteEvent, at: Time) {
        if !write.key.is_kind(&CLUSTER_VERSIONS) || write.by != CLUSTER_VERSION_OPERATOR {
            return;
        }
        let Some(after) = &write.after else {
            self.is_behind = true;
            return;
        };
        let was_behind = std::mem::take(&mut self.is_behind);
        let last = self.last_written.replace(after.clone()).filter(|last| last.uid() == after.uid());
        let Some(before) = last.or_else(|| write.before.clone()) else { return };
        for (invariant, contradiction) in CONTRADICTIONS {
            if was_behind && *invariant == Invariant::RefusalAlone {
                continue;
            }
            if let Some(how) = contradiction(&before, after) {
                self.report(*invariant, &format!("ClusterVersion/{}", after.name()), at, &how);
            }
        }
    }
}

/// Returns how a status of the cluster-version operator contradicts its predecessor.
type Contradiction = fn(&Object, &Object) -> Option<String>;

const CONTRADICTIONS: &[(Invariant, Contradiction)] = &[
    (Invariant::RefusalAlone, refusal_changes_more),
    (Invariant::ObservedGeneration, observed_too_early),
    (Invariant::CompletedAvailable, completed_too_early),
    (Invariant::HistoryOrder, completed_too_late),
];

/// A rejected release must not become the target. The operator writes no status during a retrieval, and reports
/// at its end also the progress of the apply loop with the current release: it may have completed, or be
/// applied again because overrides, capabilities or feature gates changed (`SyncWork.calculateNextFrom`).
fn refusal_changes_more(before: &Object, after: &Object) -> Option<String> {
    let rejection = status_and_message(after, "ReleaseAccepted");
    if rejection.0 != "False" || rejection == status_and_message(before, "ReleaseAccepted") {
        return None;
    }
    let desired = |object: &Object| object["status"]["desired"]["image"].clone();
    let progressing = |object: &Object| status_and_message(object, "Progressing").0.to_owned();
    let changes = !(completes_head(before, after) || history(before).eq(history(after)))
        || desired(before) != desired(after)
        || !(progressing(before) == progressing(after) || progresses_with_desired(after));
    changes.then(|| format!("a rejected release changed more than ReleaseAccepted: {}", rejection.1))
}

/// Whether the condition Progressing is about the desired release.
fn progresses_with_desired(object: &Object) -> bool {
    let version = object.text("/status/desired/version");
    let message = status_and_message(object, "Progressing").1;
    message.split([' ', ':']).any(|word| !word.is_empty() && word == version)
}

/// Whether the only change of the history is the completion of its first item.
fn completes_head(before: &Object, after: &Object) -> bool {
    let head = history(before).next().map(|head| Entry { state: "Completed", ..head });
    head.is_some_and(|head| std::iter::once(head).chain(history(before).skip(1)).eq(history(after)))
}

fn observed_too_early(_: &Object, after: &Object) -> Option<String> {
    let (observed, generation) = (after.number("/status/observedGeneration")?, after.generation());
    (observed > generation)
        .then(|| format!("observedGeneration is {observed}, but generation is only {generation}"))
}

fn completed_too_early(before: &Object, after: &Object) -> Option<String> {
    let head = history(after).next()?;
    if !head.is("Completed") || history(before).next() == Some(head) {
        return None;
    }
    let done = status_and_message(after, "Available") == ("True", &format!("Done applying {}", head.version));
    (!done).then(|| format!("{} is Completed, but Available does not report it", head.version))
}

fn completed_too_late(before: &Object, after: &Object) -> Option<String> {
    let was_partial = |entry: &Entry<'_>| {
        let same = |old: &Entry<'_>| (old.started, old.version) == (entry.started, entry.version);
        history(before).any(|old| old.is("Partial") && same(&old))
    };
    let completed = history(after).skip(1).find(|entry| entry.is("Completed") && was_partial(entry))?;
    Some(format!("{} became Completed after another release had replaced it", completed.version))
}

/// An item of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry<'o> {
    started: &'o str,
    version: &'o str,
    state: &'o str,
}

impl Entry<'_> {
    fn is(&self, state: &str) -> bool {
        self.state == state
    }
}

fn history(object: &Object) -> impl Iterator<Item = Entry<'_>> {
    object.list("/status/history").iter().map(|entry| Entry {
        started: text(&entry["startedTime"]),
        version: text(&entry["version"]),
        state: text(&entry["state"]),
    })
}

/// Status and message of a condition.
fn status_and_message<'o>(object: &'o Object, kind: &str) -> (&'o str, &'o str) {
    condition::find_in_status(object, kind)
        .map_or(("", ""), |found| (text(&found["status"]), text(&found["message"])))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A ClusterVersion at 4.18.1, or on its way from there to 4.18.3.
    fn cluster_version(updates: bool, accepted: &str) -> Value {
        let entry = |version: &str, state: &str| json!({ "startedTime": version, "version": version, "state": state });
        let mut history = vec![entry("4.18.1", "Completed")];
        if updates {
            history.insert(0, entry("4.18.3", "Partial"));
        }
        json!({
            "metadata": { "name": "version", "uid": "u", "generation": 2 },
            "status": {
                "observedGeneration": 2,
                "desired": {
                    "image": if updates { "new" } else { "old" },
                    "version": if updates { "4.18.3" } else { "4.18.1" },
                },
                "history": history,
                "conditions": [
                    { "type": "ReleaseAccepted", "status": accepted, "message": accepted },
                    {
                        "type": "Progressing",
                        "status": if updates { "True" } else { "False" },
                        "message": if updates { "Working towards 4.18.3: 1 of 900 done" } else { "Cluster version is 4.18.1" },
                    },
                    { "type": "Available", "status": "True", "message": "Done applying 4.18.1" },
                ],
            },
        })
    }

    /// Returns the violation after `by` wrote these objects, one after the other.
    fn broken(checked: BTreeSet<Invariant>, by: &str, written: [Value; 2]) -> Option<String> {
        let epoch = Time::UNIX_EPOCH;
        let mut invariants = Invariants::new(checked, epoch);
        for (second, object) in (60..).zip(written) {
            let write = WriteEvent {
                by: by.to_owned(),
                process: String::new(),
                verb: "update".to_owned(),
                kind: "ClusterVersion".to_owned(),
                key: CLUSTER_VERSIONS.key("", "version"),
                subresource: "status".to_owned(),
                code: 200,
                message: String::new(),
                before: None,
                after: Some(Object::new(object)),
            };
            invariants.on_write(&write, Time::constant(second, 0));
        }
        invariants.violation().map(str::to_owned)
    }

    fn with_field(mut object: Value, field: &str, value: Value) -> Value {
        *object.pointer_mut(field).unwrap() = value;
        object
    }

    /// Returns the violation of any invariant after the operator wrote these objects.
    fn found(before: Value, after: Value) -> Option<String> {
        broken(Invariant::all(), CLUSTER_VERSION_OPERATOR, [before, after])
    }

    #[test]
    fn progress_may_be_reported_beside_a_refusal() {
        assert_eq!(found(cluster_version(false, "True"), cluster_version(false, "False")), None);
        assert_eq!(found(cluster_version(false, "True"), cluster_version(true, "True")), None);
        let mut done =
            with_field(cluster_version(true, "False"), "/status/history/0/state", json!("Completed"));
        done["status"]["conditions"][2]["message"] = json!("Done applying 4.18.3");
        assert_eq!(
            found(cluster_version(true, "True"), done.clone()),
            None,
            "completed during the retrieval"
        );
        done["status"]["conditions"][1]["status"] = json!("False");
        done["status"]["conditions"][1]["message"] = json!("Cluster version is 4.18.3");
        assert_eq!(
            found(cluster_version(true, "True"), done.clone()),
            None,
            "completed and no longer progressing"
        );
        let mut again = done.clone();
        again["status"]["conditions"][0]["message"] = json!("rejected once more");
        again["status"]["conditions"][1] = cluster_version(true, "False")["status"]["conditions"][1].clone();
        assert_eq!(found(done, again), None, "applied again with other settings");
    }

    #[test]
    fn finds_statuses_that_contradict_their_predecessor() {
        let completed = |item: usize| format!("/status/history/{item}/state");
        for (before, after, name, how) in [
            (
                cluster_version(false, "True"),
                cluster_version(true, "False"),
                "refusal-alone",
                "a rejected release changed more than ReleaseAccepted: False",
            ),
            (
                cluster_version(true, "True"),
                with_field(
                    cluster_version(true, "False"),
                    "/status/conditions/1",
                    json!({ "type": "Progressing", "status": "False", "message": "Cluster version is 4.18.31" }),
                ),
                "refusal-alone",
                "a rejected release changed more than ReleaseAccepted: False",
            ),
            (
                cluster_version(true, "True"),
                with_field(cluster_version(true, "False"), "/status/desired/image", json!("refused")),
                "refusal-alone",
                "a rejected release changed more than ReleaseAccepted: False",
            ),
            (
                cluster_version(true, "True"),
                with_field(cluster_version(true, "True"), "/status/observedGeneration", json!(3)),
                "observed-generation",
                "observedGeneration is 3, but generation is only 2",
            ),
            (
                cluster_version(true, "True"),
                with_field(cluster_version(true, "True"), &completed(0), json!("Completed")),
                "completed-available",
                "4.18.3 is Completed, but Available does not report it",
            ),
            (
                with_field(cluster_version(true, "True"), &completed(1), json!("Partial")),
                cluster_version(true, "True"),
                "history-order",
                "4.18.1 became Completed after another release had replaced it",
            ),
        ] {
            let expected = format!("ClusterVersion/version broke invariant `{name}` at 0:01:01: {how}");
            assert_eq!(found(before.clone(), after.clone()), Some(expected));
            let mut others = Invariant::all();
            others.remove(&Invariant::find(name).unwrap());
            let pair = || [before.clone(), after.clone()];
            assert_eq!(broken(others, CLUSTER_VERSION_OPERATOR, pair()), None, "{name} is not checked");
            assert_eq!(
                broken(Invariant::all(), "someone", pair()),
                None,
                "only writes of the operator are checked"
            );
        }
    }
}
