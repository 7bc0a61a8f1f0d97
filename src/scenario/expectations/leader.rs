//! `leader`: only the holder of a Lease writes.

use windtunnel_core::yaml::Node;

use crate::plan::{ExpectedState, Leadership};
use crate::scenario::reader::Reader;

/// The highest value of `handovers`.
const MOST: u32 = 1000;

const SHAPE: &str = "a leader such as `{lease: default/mine, handovers: 1, gap: 30s}`";

/// Parses `leader: {lease: default/mine, candidates: [one, two], handovers: 1, gap: 30s}`.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<ExpectedState> {
    let map = reader.map(node, SHAPE, &["lease", "candidates", "handovers", "gap"])?;
    let lease = map.required(reader, "lease", "the Lease as `NAMESPACE/NAME`");
    let lease = lease.and_then(|at| {
        let text = reader.text(at, "a Lease as `NAMESPACE/NAME`")?;
        Leadership::of(&text).map_err(|error| reader.error(at, error)).ok()
    });
    let candidates = map.get("candidates").map(|at| reader.texts(at, "the names of clients"));
    let handovers = map.get("handovers").map(|at| reader.number(at, 0, MOST));
    let gap = map.get("gap").map(|at| reader.duration(at));
    Some(ExpectedState::Leader(Leadership {
        candidates: candidates.unwrap_or_default(),
        handovers: transpose(handovers)?,
        gap: transpose(gap)?,
        ..lease?
    }))
}

/// Returns the value of an optional key; `None` if it is wrong.
#[expect(clippy::option_option, reason = "a missing key is right, a wrong value is not")]
fn transpose<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(None) => None,
        Some(value) => Some(value),
        None => Some(None),
    }
}
