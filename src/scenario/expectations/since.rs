//! `since`: the moment from which an expectation about writes or requests counts.

use windtunnel_core::yaml::{Kind, Node};

use crate::plan::Since;
use crate::scenario::reader::{Map, Reader};

/// The words that name a moment.
const WORDS: [(&str, Since); 3] =
    [("start", Since::Start), ("last-action", Since::LastAction), ("last-update", Since::LastUpdate)];

/// The greatest number of a step.
const MOST_STEPS: u32 = 100_000;

/// Parses `since: start`, `since: last-update`, `since: 5m` or `since: {step: 3}`; without it, the last action.
pub(super) fn read(reader: &mut Reader<'_>, map: &Map<'_>) -> Since {
    map.get("since").and_then(|node| moment(reader, node)).unwrap_or_default()
}

fn moment(reader: &mut Reader<'_>, node: &Node) -> Option<Since> {
    if matches!(node.kind, Kind::Map(_)) {
        let map = reader.map(node, "`since`", &["step"])?;
        let step = map.required(reader, "step", "the number of a step in the timeline, from 1");
        return Some(Since::Step(step.and_then(|node| reader.number(node, 1, MOST_STEPS))?));
    }
    let text = node.scalar().unwrap_or_default();
    if let Some((_, since)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Some(*since);
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return reader.duration(node).map(Since::Back);
    }
    reader.word(node, &WORDS.map(|(word, _)| word)).map(|_| Since::default())
}
