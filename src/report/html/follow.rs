//! Follows a record from its first entry to its last, and collects the states of each lane and the events.

use serde_json::Value;
use windtunnel_controllers::faults::Fault;
use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, MACHINE_CONFIG_POOLS, NODES, PODS,
};
use windtunnel_core::{Key, Object, View, cluster_version, pod};
use windtunnel_update_status::insight::published::{CONFIG_MAP, NAMESPACE};
use windtunnel_update_status::status::nodes;

use super::diff;
use super::lanes::{Event, Group, Lanes, Span, State, Tone};
use super::states::{self, HISTORY, Place};
use crate::record::{ADMINISTRATOR, Event as RecordEvent, Record, WriteEvent};
use crate::report::insights::{self, PublishedInsight};
use crate::report::steps::marked;
use crate::report::timeline::{self, changes};

/// The namespace whose pods have lanes: it runs the CVO and the pods that retrieve releases.
const RETRIEVAL: &str = "openshift-cluster-version";

/// The lane of the scenario's steps; the script knows this name.
const STEPS: &str = "steps";
/// The lane of faults that start or end between steps.
const FAULTS: &str = "faults";

/// The state while following a record.
struct Follower<'r> {
    record: &'r Record,
    view: View,
    lanes: Lanes,
    /// The start of the current step.
    step: i64,
}

pub(super) fn follow(record: &Record) -> Lanes {
    let mut follower = Follower { record, view: View::default(), lanes: Lanes::default(), step: 0 };
    let run = record.entries.partition_point(|entry| record.is_set_up(entry));
    for entry in &record.entries[..run] {
        match &entry.event {
            RecordEvent::Write(write) => follower.apply(write),
            other => follower.add_event(entry.at, other),
        }
    }
    follower.begin();
    for entry in &record.entries[run..] {
        follower.add_event(entry.at, &entry.event);
    }
    follower.lanes
}

impl Follower<'_> {
    /// Returns milliseconds since the start; 0 for the set-up.
    fn since_start(&self, at: Time) -> i64 {
        (at.as_millisecond() - self.record.header.epoch.as_millisecond()).max(0)
    }

    fn apply(&mut self, write: &WriteEvent) {
        if let Some(change) = write.change() {
            self.view.apply(&change);
        }
    }

    /// Adds the state of the cluster at the start of the run.
    fn begin(&mut self) {
        self.lanes.lane(Group::Scenario, STEPS);
        let view = self.view.clone();
        if let Some(cluster_version) = view.cluster_version() {
            self.show_all(0, states::of_cluster_version(cluster_version), None);
        }
        for (key, object) in view.objects() {
            self.show_object(0, &key, None, Some(object), &|_| None);
        }
    }

    fn add_event(&mut self, at: Time, event: &RecordEvent) {
        let at = self.since_start(at);
        match event {
            RecordEvent::Write(write) => self.add_write(at, write),
            RecordEvent::Step { .. } => self.step = at,
            RecordEvent::Outcome { text, failure, held_before, .. } => {
                self.add_step_end(at, &marked(text, *held_before), failure.as_deref());
            }
            RecordEvent::Command { line, code, stdout, stderr } => {
                let text = format!("$ {line}\nexit {code}\n{stdout}{stderr}");
                let event = self.event(at, "command", ADMINISTRATOR, text);
                self.lanes.mark((Group::Scenario, ADMINISTRATOR), Tone::Busy, event);
            }
            RecordEvent::Kubernetes { minor } => {
                let event = self.event(at, "kube-apiserver", "", format!("serves Kubernetes 1.{minor}"));
                let state = State::new(Tone::Good, format!("1.{minor}"), "");
                self.lanes.show((Group::ClusterVersion, "Kubernetes"), at, Some(state), Some(event));
            }
            RecordEvent::Alert(alert) => self.alert(at, alert),
            RecordEvent::Process { program, pod, started } => {
                let name = pod.rsplit('/').next().unwrap_or_default();
                let text = format!("{program} {}", if *started { "started" } else { "ended" });
                let event = self.event(at, &timeline::running_object(program, pod), "", text);
                let is_ours = pod.starts_with(RETRIEVAL);
                let lane = if is_ours { (Group::Pods, name) } else { (Group::Others, "Pod") };
                self.lanes.mark(lane, Tone::Calm, event);
            }
            RecordEvent::Fault { text } => {
                let event = self.event(at, "fault", "", text.clone());
                self.lanes.mark((Group::Scenario, FAULTS), Tone::Bad, event);
            }
        }
    }

    fn event(&mut self, at: i64, object: &str, by: &str, text: String) -> usize {
        let (object, by) = (object.to_owned(), by.to_owned());
        self.lanes.event(Event { at, object, by, text, diff: Vec::new() })
    }

    /// Adds the end of a step.
    fn add_step_end(&mut self, at: i64, text: &str, failure: Option<&str>) {
        let event_text = failure.map_or_else(|| format!("ok {text}"), |why| format!("FAILED {text}\n{why}"));
        let event = self.event(at, "step", "", event_text);
        let tone = if failure.is_some() { Tone::Bad } else { Tone::Good };
        let state = State::new(tone, text, failure.unwrap_or_default());
        let lane = (Group::Scenario, STEPS);
        self.lanes.span(lane, Span { from: self.step, to: at, state, event: Some(event) });
        if failure.is_some() {
            self.lanes.mark(lane, Tone::Bad, event);
        }
    }

    fn alert(&mut self, at: i64, alert: &Alert) {
        let (change, about) = timeline::alert_text(alert);
        let name = format!("{} {about}", alert.name());
        let event = self.event(at, &format!("Alert/{}", alert.name()), "prometheus", change);
        let tone = match alert.state {
            AlertState::Pending => Some(Tone::Wait),
            AlertState::Firing => Some(Tone::Bad),
            AlertState::Inactive => None,
        };
        let message =
            ["description", "message", "summary"].into_iter().find_map(|key| alert.annotations.get(key));
        let state =
            tone.map(|tone| State::new(tone, alert.state.as_str(), message.cloned().unwrap_or_default()));
        self.lanes.show((Group::Alerts, name.trim_end()), at, state, Some(event));
    }

    fn add_write(&mut self, at: i64, write: &WriteEvent) {
        self.apply(write);
        let news = changes::changes_of_write(write);
        if insights::is_insights_config_map(&write.key) && write.code < 400 {
            self.add_insights(at, write, &news);
            return;
        }
        // The UpdateStatus repeats the insights of the ConfigMap.
        let is_repeated = insights::is_update_status(&write.key) && self.has_config_map() && write.code < 400;
        if news.is_empty() || is_repeated {
            self.show_object(at, &write.key, write.before.as_ref(), write.after.as_ref(), &|_| None);
            return;
        }
        let diff = if write.code < 400 { difference(write) } else { Vec::new() };
        if diff.is_empty() && write.code < 400 && write.after.is_some() {
            // Only the leader or its lease time has changed.
            return;
        }
        let text = news.into_iter().map(|change| change.text).collect::<Vec<_>>().join("\n");
        let object = format!("{}/{}", write.kind, write.key.name);
        let event = self.lanes.event(Event { at, object, by: write.by.clone(), text, diff });
        if write.by == ADMINISTRATOR {
            let tone = if write.code < 400 { Tone::Busy } else { Tone::Bad };
            self.lanes.mark((Group::Scenario, ADMINISTRATOR), tone, event);
        }
        if write.code >= 400 {
            self.lanes.mark((Group::Refusals, &write.by), Tone::Bad, event);
            return;
        }
        let (before, after) = (write.before.as_ref(), write.after.as_ref());
        if !self.show_object(at, &write.key, before, after, &|_| Some(event)) {
            let (group, name) = lane_of_object(&write.key, &write.kind);
            self.lanes.mark((group, &name), Tone::Calm, event);
        }
    }

    /// Returns whether the ConfigMap with insights exists. It is then preferred to the UpdateStatus.
    fn has_config_map(&self) -> bool {
        self.view.get(&CONFIG_MAPS, NAMESPACE, CONFIG_MAP).is_some()
    }

    /// Adds an event for each changed insight; new insights without findings share one event.
    fn add_insights(&mut self, at: i64, write: &WriteEvent, news: &[changes::Change]) {
        let mut events: Vec<(&str, usize)> = Vec::new();
        // The fields of an insight say more than the lines of its document.
        let data = |object: Option<&Object>, key: &str| {
            let document = object.and_then(|object| object["data"].get(key)?.as_str());
            let parsed = document.and_then(|text| PublishedInsight::Document(text).parse());
            parsed.map_or(Value::Null, |insight| (*insight).clone())
        };
        for change in news {
            let subject = &change.subject;
            let (old, new) = (data(write.before.as_ref(), subject), data(write.after.as_ref(), subject));
            let (by, text) = (write.by.clone(), change.text.clone());
            let object = format!("{}/{}", write.kind, write.key.name);
            let event = Event { at, object, by, text, diff: diff::between(&old, &new) };
            events.push((subject, self.lanes.event(event)));
        }
        let of = |key: &str| {
            let find = |wanted: &str| events.iter().find(|(subject, _)| *subject == wanted);
            find(key).or_else(|| find("insights")).map(|(_, event)| *event)
        };
        self.show_object(at, &write.key, write.before.as_ref(), write.after.as_ref(), &of);
        if let Some((_, event)) = events.first().filter(|_| write.by == ADMINISTRATOR) {
            self.lanes.mark((Group::Scenario, ADMINISTRATOR), Tone::Busy, *event);
        }
    }

    fn show_all(&mut self, at: i64, all: Vec<(Place, State)>, event: Option<usize>) -> bool {
        let mut shown = false;
        for ((group, name), state) in all {
            shown |= self.lanes.show((group, &name), at, Some(state), event);
        }
        shown
    }

    /// Shows the state of an object in its lanes, and in those of others that depend on it. `event` returns
    /// the event for a key of an insight. Returns whether a lane changed.
    fn show_object(
        &mut self,
        at: i64,
        key: &Key,
        before: Option<&Object>,
        after: Option<&Object>,
        event: &dyn Fn(&str) -> Option<usize>,
    ) -> bool {
        let own = event("");
        if insights::is_insights_config_map(key) || insights::is_update_status(key) && !self.has_config_map()
        {
            let null = Value::Null;
            let (old, new) = (before.map_or(&null, |object| object), after.map_or(&null, |object| object));
            for (key, (group, name), state) in states::of_insights(old, new) {
                self.lanes.show((group, &name), at, state, event(&key));
            }
            return true;
        }
        let mut shown = self.show_fault(at, key, after, own);
        if key.is_kind(&CLUSTER_VERSIONS) {
            shown |= self.show_cluster_version(at, before, after, own);
        } else if key.is_kind(&NODES) {
            shown |= self.show_node(at, &key.name, after, own);
        } else if key.is_kind(&MACHINE_CONFIG_POOLS) {
            shown |= self.lanes.show((Group::Pools, &key.name), at, after.map(states::of_pool), own);
        } else if key.is_kind(&CLUSTER_OPERATORS) {
            let desired = self.desired();
            let state = after.map(|operator| states::of_operator(operator, &desired));
            shown |= self.lanes.show((Group::Operators, &key.name), at, state, own);
        } else if key.is_kind(&PODS) && key.namespace == RETRIEVAL {
            shown |= self.lanes.show((Group::Pods, &key.name), at, after.map(of_pod), own);
        }
        // The initial state is shown as a whole by `begin`.
        if at > 0 && nodes::can_change_all_nodes(key, before, after) {
            self.show_nodes(at, own);
        }
        shown
    }

    fn show_fault(&mut self, at: i64, key: &Key, object: Option<&Object>, event: Option<usize>) -> bool {
        let state = object.and_then(|object| Fault::from_annotations(object).flatten()).map(|fault| {
            let message = format!("{} {}", fault.reason, fault.message);
            State::new(Tone::Warn, fault.kind.name(), message.trim())
        });
        self.lanes.show((Group::Scenario, &format!("fault of {}", key.name)), at, state, event)
    }

    fn show_cluster_version(
        &mut self,
        at: i64,
        before: Option<&Object>,
        after: Option<&Object>,
        event: Option<usize>,
    ) -> bool {
        let Some(after) = after else { return false };
        let shown = self.show_all(at, states::of_cluster_version(after), event);
        let Some(before) = before else { return shown };
        if before["status"]["desired"] != after["status"]["desired"] {
            let desired = self.desired();
            for operator in self.view.list(&CLUSTER_OPERATORS) {
                let state = states::of_operator(operator, &desired);
                self.lanes.show((Group::Operators, operator.name()), at, Some(state), event);
            }
        }
        shown
    }

    fn desired(&self) -> String {
        let cluster_version = self.view.cluster_version();
        cluster_version.map_or("", |object| cluster_version::desired_version(object)).to_owned()
    }

    fn show_nodes(&mut self, at: i64, event: Option<usize>) {
        let nodes: Vec<Object> = self.view.list(&NODES).cloned().collect();
        for node in nodes {
            self.show_node(at, node.name(), Some(&node), event);
        }
    }

    fn show_node(&mut self, at: i64, name: &str, node: Option<&Object>, event: Option<usize>) -> bool {
        let state = node.and_then(|node| states::of_node(node, &self.view));
        self.lanes.show((Group::Nodes, name), at, state, event)
    }
}

fn difference(write: &WriteEvent) -> Vec<diff::Line> {
    let (before, after) = (write.before.as_ref(), write.after.as_ref());
    diff::between(before.map_or(&Value::Null, |object| object), after.map_or(&Value::Null, |object| object))
}

fn of_pod(pod: &Object) -> State {
    let status = pod::status_column(pod);
    let tone = match &*status {
        "Running" | "Completed" => Tone::Good,
        "Terminating" => Tone::Wait,
        "Pending" | "ContainerCreating" | "PodInitializing" => Tone::Busy,
        other if other.contains("Err") || other.contains("BackOff") || other.contains("Exit") => Tone::Bad,
        other if other.starts_with("Init:") => Tone::Busy,
        _ => Tone::Warn,
    };
    State::new(tone, status, pod.text("/status/message"))
}

/// Returns the lane for changes that the states of an object do not show.
fn lane_of_object(key: &Key, kind: &str) -> Place {
    if key.is_kind(&CLUSTER_VERSIONS) {
        return (Group::ClusterVersion, HISTORY.to_owned());
    }
    let own = [
        (&CLUSTER_OPERATORS, Group::Operators),
        (&NODES, Group::Nodes),
        (&MACHINE_CONFIG_POOLS, Group::Pools),
    ];
    let own = own.into_iter().find(|(resource, _)| key.is_kind(resource)).map(|(_, group)| group);
    let own = own.or((key.is_kind(&PODS) && key.namespace == RETRIEVAL).then_some(Group::Pods));
    own.map_or_else(|| (Group::Others, kind.to_owned()), |group| (group, key.name.clone()))
}
