//! The data that the script draws a timeline from. Texts are indices, and numbers that grow are differences, so
//! that they compress well; `unpack.js` expands them.

use serde::Serialize;

use super::lanes::{Lane, Lanes, Span, Titled, Tone};
use super::logs::{self, Logs};
use super::statuses;
use super::steps::Step;
use super::texts::{Line, Texts};
use crate::record::Record;

/// The data of a scenario.
#[derive(Debug, Default, Serialize)]
pub(super) struct Data {
    /// Milliseconds of cluster time.
    end: i64,
    groups: Vec<Group>,
    events: Events,
    /// Moments, and the texts of the lines of the status at each.
    statuses: Vec<(i64, Vec<usize>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<Logs>,
    /// The rows of its steps, if the page does not have them as HTML.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<Step>,
    /// The distinct lines of differences.
    pub(super) lines: Vec<Line>,
    /// The distinct texts that all others refer to.
    pub(super) texts: Vec<String>,
}

/// A group of lanes.
#[derive(Debug, Clone, Serialize)]
struct Group {
    title: &'static str,
    lanes: Vec<PackedLane>,
}

/// A lane.
#[derive(Debug, Clone, Serialize)]
struct PackedLane {
    /// The text of its name.
    name: usize,
    /// Each span: the time since the end of the one before, its length, its tone, its second tone or -1, the
    /// texts of its label and its message, and its event or -1.
    spans: Vec<(i64, i64, Tone, i64, usize, usize, i64)>,
    /// Each mark: its event and its tone.
    marks: Vec<(usize, Tone)>,
}

/// The events, a list for each field.
#[derive(Debug, Default, Clone, Serialize)]
struct Events {
    /// The time since the event before.
    at: Vec<i64>,
    /// The texts of objects.
    object: Vec<usize>,
    /// The texts of writers; 0, the empty text, means nobody.
    by: Vec<usize>,
    /// The texts of changes.
    text: Vec<usize>,
    /// The lines of differences.
    diff: Vec<Vec<usize>>,
}

impl Data {
    /// Returns the data of a record with its lanes.
    pub(super) fn of(record: &Record, lanes: Lanes) -> Self {
        let span = record.end().duration_since(record.header.epoch);
        let end = i64::try_from(span.as_millis()).unwrap_or(i64::MAX).max(0);
        let (groups, found) = lanes.finish(end);
        let (mut texts, mut events, mut last) = (Texts::new(), Events::default(), 0);
        for event in &found {
            events.at.push(event.at - last);
            last = event.at;
            events.object.push(texts.number(&event.object));
            events.by.push(texts.number(&event.by));
            events.text.push(texts.number(&event.text));
            events.diff.push(event.diff.iter().map(|line| texts.line(line)).collect());
        }
        let groups = groups.iter().map(|group| Group::of(group, &mut texts)).collect();
        let statuses = statuses::statuses(record)
            .into_iter()
            .map(|(at, text)| (at, text.lines().map(|line| texts.number(line)).collect()))
            .collect();
        let logs = logs::logs(record, &mut texts);
        let (texts, lines) = texts.into_lists();
        Self { end, groups, events, statuses, logs, steps: Vec::new(), lines, texts }
    }

    /// Returns the data with other indices for the same texts and lines, and without these.
    pub(super) fn renumbered(&self, text: &impl Fn(usize) -> usize, line: &impl Fn(usize) -> usize) -> Self {
        let texts = |list: &[usize]| list.iter().map(|index| text(*index)).collect::<Vec<_>>();
        let events = Events {
            at: self.events.at.clone(),
            object: texts(&self.events.object),
            by: texts(&self.events.by),
            text: texts(&self.events.text),
            diff: self
                .events
                .diff
                .iter()
                .map(|lines| lines.iter().map(|index| line(*index)).collect())
                .collect(),
        };
        Self {
            end: self.end,
            groups: self.groups.iter().map(|group| group.renumbered(text)).collect(),
            events,
            statuses: self.statuses.iter().map(|(at, lines)| (*at, texts(lines))).collect(),
            logs: self.logs.as_ref().map(|logs| logs.renumbered(text)),
            steps: Vec::new(),
            lines: Vec::new(),
            texts: Vec::new(),
        }
    }
}

impl Group {
    fn of(group: &Titled, texts: &mut Texts) -> Self {
        let lanes = group.lanes().iter().map(|lane| PackedLane::of(lane, texts));
        Self { title: group.title(), lanes: lanes.collect() }
    }

    fn renumbered(&self, text: &impl Fn(usize) -> usize) -> Self {
        let mut group = self.clone();
        for lane in &mut group.lanes {
            lane.name = text(lane.name);
            for span in &mut lane.spans {
                (span.4, span.5) = (text(span.4), text(span.5));
            }
        }
        group
    }
}

impl PackedLane {
    fn of(lane: &Lane, texts: &mut Texts) -> Self {
        let name = texts.number(&lane.name);
        let mut last = 0;
        let span = |Span { from, to, state, event }: &Span| {
            let stripe = state.stripe.map_or(-1, |tone| tone as i64);
            let event = event.and_then(|event| i64::try_from(event).ok()).unwrap_or(-1);
            let (label, message) = (texts.number(&state.label), texts.number(&state.message));
            let since = from - std::mem::replace(&mut last, *to);
            (since, to - from, state.tone, stripe, label, message, event)
        };
        let spans = lane.spans.iter().map(span).collect();
        let marks = lane.marks.iter().map(|mark| (mark.event, mark.tone)).collect();
        Self { name, spans, marks }
    }
}
