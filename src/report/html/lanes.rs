//! What a timeline is drawn from: lanes with spans and marks, in groups. Moments are milliseconds since the run's start.

use std::collections::BTreeMap;

use serde::Serialize;

use super::diff::Line;

/// Lanes of one kind, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Scenario,
    ClusterVersion,
    Pods,
    Operators,
    Pools,
    Nodes,
    Insights,
    Alerts,
    Refusals,
    Others,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Scenario => "Scenario",
            Self::ClusterVersion => "ClusterVersion",
            Self::Pods => "Pods of openshift-cluster-version",
            Self::Operators => "ClusterOperators",
            Self::Pools => "MachineConfigPools",
            Self::Nodes => "Nodes",
            Self::Insights => "Insights",
            Self::Alerts => "Alerts",
            Self::Refusals => "Refused requests",
            Self::Others => "Other objects",
        }
    }
}

/// How something is, in a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tone {
    /// As it should be.
    Good,
    /// Says nothing.
    Calm,
    /// Waits for its turn.
    Wait,
    /// Is at work.
    Busy,
    /// Is taken out of use for a while.
    Drain,
    /// Not as it should be.
    Warn,
    /// Fails.
    Bad,
    /// Nobody knows.
    Unknown,
}

/// What a lane shows from some moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct State {
    pub(super) tone: Tone,
    /// A second thing that is so at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stripe: Option<Tone>,
    /// In a word or two.
    pub(super) label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

impl State {
    pub(super) fn new(tone: Tone, label: impl Into<String>, message: impl Into<String>) -> Self {
        Self { tone, stripe: None, label: label.into(), message: message.into() }
    }
}

/// A state with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
    #[serde(flatten)]
    pub(super) state: State,
    /// The event with which it began; `None`: it was so before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<usize>,
}

/// Something that happened in a lane, with the index of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    pub(super) at: i64,
    pub(super) tone: Tone,
    pub(super) event: usize,
}

/// Something that happened, to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: i64,
    /// To what, such as `ClusterVersion/version`.
    pub(super) object: String,
    /// Who did it; may be empty.
    pub(super) by: String,
    /// What changed, a line for each change.
    pub(super) text: String,
    pub(super) diff: Vec<Line>,
}

/// The history of one thing.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Mark>,
    /// What it shows now, since when and by which event.
    #[serde(skip)]
    open: Option<(i64, State, Option<usize>)>,
}

impl Lane {
    fn close(&mut self, at: i64) {
        if let Some((from, state, event)) = self.open.take() {
            self.spans.push(Span { from, to: at, state, event });
        }
    }
}

/// The lanes of a group under its title.
#[derive(Debug, Serialize)]
pub(super) struct Titled {
    title: &'static str,
    lanes: Vec<Lane>,
}

/// All lanes while they are written.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    groups: BTreeMap<Group, Vec<Lane>>,
    /// Where in its group a lane stands.
    places: BTreeMap<(Group, String), usize>,
    pub(super) events: Vec<Event>,
}

impl Lanes {
    /// Adds an event; gives its index.
    pub(super) fn event(&mut self, event: Event) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    /// Lets a lane show a state, or nothing, from `at` on. Says whether that is new.
    pub(super) fn show(
        &mut self,
        (group, name): (Group, &str),
        at: i64,
        state: Option<State>,
        event: Option<usize>,
    ) -> bool {
        if state.is_none() && !self.places.contains_key(&(group, name.to_owned())) {
            return false;
        }
        let lane = self.lane(group, name);
        if lane.open.as_ref().map(|(_, open, _)| open) == state.as_ref() {
            return false;
        }
        lane.close(at);
        lane.open = state.map(|state| (at, state, event));
        true
    }

    /// Adds a span whose end is known.
    pub(super) fn span(&mut self, (group, name): (Group, &str), span: Span) {
        self.lane(group, name).spans.push(span);
    }

    /// Marks an event in a lane.
    pub(super) fn mark(&mut self, (group, name): (Group, &str), tone: Tone, event: usize) {
        let at = self.events[event].at;
        self.lane(group, name).marks.push(Mark { at, tone, event });
    }

    /// The lane of this name; a new one is the last of its group.
    pub(super) fn lane(&mut self, group: Group, name: &str) -> &mut Lane {
        let lanes = self.groups.entry(group).or_default();
        let place = *self.places.entry((group, name.to_owned())).or_insert_with(|| {
            lanes.push(Lane { name: name.to_owned(), ..Lane::default() });
            lanes.len() - 1
        });
        &mut lanes[place]
    }

    /// All groups that have lanes, and all events; what still is so ends with the run.
    pub(super) fn finish(self, end: i64) -> (Vec<Titled>, Vec<Event>) {
        let groups = self.groups.into_iter().map(|(group, mut lanes)| {
            for lane in &mut lanes {
                lane.close(end);
            }
            if group == Group::Insights {
                // What tells of the whole comes first.
                let kinds = ["ClusterVersion ", "Health "];
                lanes.sort_by_key(|lane| {
                    kinds.iter().position(|kind| lane.name.starts_with(kind)).unwrap_or(kinds.len())
                });
            }
            Titled { title: group.title(), lanes }
        });
        (groups.collect(), self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(label: &str) -> State {
        State::new(Tone::Good, label, "")
    }

    #[test]
    fn a_lane_has_a_span_for_each_state_and_none_for_a_state_again() {
        let mut lanes = Lanes::default();
        let lane = (Group::Nodes, "n");
        assert!(!lanes.show(lane, 0, None, None));
        assert!(lanes.show(lane, 0, Some(state("a")), None));
        assert!(!lanes.show(lane, 5, Some(state("a")), Some(0)));
        assert!(lanes.show(lane, 7, Some(state("b")), Some(1)));
        assert!(lanes.show(lane, 9, None, Some(2)));
        assert!(lanes.show(lane, 20, Some(state("c")), Some(3)));
        let (groups, _) = lanes.finish(30);
        let spans = &groups[0].lanes[0].spans;
        let told: Vec<_> =
            spans.iter().map(|span| (span.from, span.to, &*span.state.label, span.event)).collect();
        assert_eq!(told, [(0, 7, "a", None), (7, 9, "b", Some(1)), (20, 30, "c", Some(3))]);
    }

    #[test]
    fn groups_stand_in_the_order_of_the_page_and_lanes_in_that_of_their_coming() {
        let mut lanes = Lanes::default();
        for lane in [(Group::Alerts, "z"), (Group::Operators, "b"), (Group::Alerts, "a")] {
            lanes.show(lane, 0, Some(state("x")), None);
        }
        let (groups, _) = lanes.finish(1);
        let names: Vec<Vec<&str>> =
            groups.iter().map(|group| group.lanes.iter().map(|lane| &*lane.name).collect()).collect();
        assert_eq!(groups[0].title, "ClusterOperators");
        assert_eq!(names, [vec!["b"], vec!["z", "a"]]);
    }
}
