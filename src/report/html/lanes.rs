//! The data of a timeline: lanes with spans and marks, in groups. Moments are milliseconds since the start of
//! the run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::diff::Line;

/// A kind of lanes, in the order of the page.
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
            Self::Refusals => "Rejected requests",
            Self::Others => "Other objects",
        }
    }
}

/// A kind of state, which the page shows as a colour. The script has the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As expected.
    Good,
    /// Working.
    Busy,
    /// Draining.
    Drain,
    /// Waiting for its turn.
    Wait,
    /// Not as expected.
    Warn,
    /// Failed.
    Bad,
    /// Neutral.
    Calm,
    /// Unknown.
    Unknown,
}

impl Serialize for Tone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// The state that a lane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) tone: Tone,
    /// A second state at the same time.
    pub(super) stripe: Option<Tone>,
    /// A label of a word or two.
    pub(super) label: String,
    pub(super) message: String,
}

impl State {
    pub(super) fn new(tone: Tone, label: impl Into<String>, message: impl Into<String>) -> Self {
        Self { tone, stripe: None, label: label.into(), message: message.into() }
    }
}

/// A state with its start and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) state: State,
    /// The event that started it; `None` if it precedes the run.
    pub(super) event: Option<usize>,
}

/// A moment in a lane: the index of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) tone: Tone,
    pub(super) event: usize,
}

/// An event with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: i64,
    /// The object, such as `ClusterVersion/version`.
    pub(super) object: String,
    pub(super) by: String,
    /// The changes, one per line.
    pub(super) text: String,
    pub(super) diff: Vec<Line>,
}

/// The history of one thing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Mark>,
    /// The current state, with its start and its event.
    open: Option<(i64, State, Option<usize>)>,
}

impl Lane {
    fn close(&mut self, at: i64) {
        if let Some((from, state, event)) = self.open.take() {
            self.spans.push(Span { from, to: at, state, event });
        }
    }
}

/// The lanes of a group with its title.
#[derive(Debug)]
pub(super) struct Titled {
    title: &'static str,
    lanes: Vec<Lane>,
}

impl Titled {
    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }
}

/// The lanes while they are built.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    groups: BTreeMap<Group, Vec<Lane>>,
    /// The index of each lane in its group.
    places: BTreeMap<(Group, String), usize>,
    pub(super) events: Vec<Event>,
}

impl Lanes {
    /// Adds an event and returns its index.
    pub(super) fn event(&mut self, event: Event) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    /// Makes a lane show a state, or nothing, from `at` on. Returns whether the state is new.
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

    pub(super) fn mark(&mut self, (group, name): (Group, &str), tone: Tone, event: usize) {
        self.lane(group, name).marks.push(Mark { tone, event });
    }

    /// Returns the lane of this name; adds a new lane at the end of its group.
    pub(super) fn lane(&mut self, group: Group, name: &str) -> &mut Lane {
        let lanes = self.groups.entry(group).or_default();
        let place = *self.places.entry((group, name.to_owned())).or_insert_with(|| {
            lanes.push(Lane { name: name.to_owned(), ..Lane::default() });
            lanes.len() - 1
        });
        &mut lanes[place]
    }

    /// Returns all groups that have lanes, and all events; ends open spans at `end`.
    pub(super) fn finish(self, end: i64) -> (Vec<Titled>, Vec<Event>) {
        let groups = self.groups.into_iter().map(|(group, mut lanes)| {
            for lane in &mut lanes {
                lane.close(end);
            }
            if group == Group::Insights {
                // Insights about the whole cluster come first.
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
    fn a_lane_merges_equal_states_into_one_span() {
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
        let found: Vec<_> =
            spans.iter().map(|span| (span.from, span.to, &*span.state.label, span.event)).collect();
        assert_eq!(found, [(0, 7, "a", None), (7, 9, "b", Some(1)), (20, 30, "c", Some(3))]);
    }

    #[test]
    fn sorts_groups_by_kind_and_lanes_by_first_appearance() {
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
