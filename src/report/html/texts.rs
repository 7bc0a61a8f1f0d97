//! Replaces the texts of events, which repeat often, by indices into a list.

use std::collections::BTreeMap;

use serde::Serialize;

use super::lanes;

/// An event with indices instead of texts.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Event {
    at: i64,
    object: usize,
    /// 0, the empty text, means nobody.
    by: usize,
    text: usize,
    /// Paths with the values before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diff: Vec<[usize; 3]>,
}

/// Returns the events and their distinct texts, the empty text first.
pub(super) fn once(events: &[lanes::Event]) -> (Vec<Event>, Vec<String>) {
    let mut texts = vec![String::new()];
    let mut known = BTreeMap::from([("", 0)]);
    let mut number = |text| {
        *known.entry(text).or_insert_with(|| {
            texts.push(str::to_owned(text));
            texts.len() - 1
        })
    };
    let events = events.iter().map(|event| Event {
        at: event.at,
        object: number(&event.object),
        by: number(&event.by),
        text: number(&event.text),
        diff: event.diff.iter().map(|line| [&*line.0, &line.1, &line.2].map(&mut number)).collect(),
    });
    let events = events.collect();
    (events, texts)
}
