//! `requests`: how many requests of a kind there may be.

use windtunnel_core::yaml::Node;

use super::since;
use crate::plan::{ExpectedState, RequestLimit};
use crate::scenario::fault::request_filter;
use crate::scenario::reader::{Map, Reader};

/// The highest value of `at-most`.
const MOST: u32 = 1_000_000;

const SHAPE: &str = "requests such as `{by: mine, verb: update, at-most: 10, within: 1h}`";

/// Parses `requests: {by: mine, verb: update, at-most: 10, within: 1h}` or `requests: {by: mine, refused: none}`.
pub(super) fn read(reader: &mut Reader<'_>, outer: &Map<'_>, node: &Node) -> Option<ExpectedState> {
    if let Some(at) = outer.get("within") {
        reader.error(at, "write `within` inside `requests`: the span of time that the limit is for");
    }
    let keys = ["verb", "kind", "name", "subresource", "by", "at-most", "refused", "within", "since"];
    let map = reader.map(node, SHAPE, &keys)?;
    let requests = request_filter(reader, &map);
    let within = map.get("within").map(|at| reader.duration(at));
    let since = since::read(reader, &map);
    let refused = map.get("refused");
    if let Some(at) = refused {
        reader.word(at, &["none"]);
    }
    let at_most = match (map.get("at-most"), refused) {
        (Some(at), Some(_)) => {
            reader.error(at, "expected `at-most` or `refused: none`, found both");
            None
        }
        (Some(at), None) => reader.number(at, 0, MOST),
        (None, Some(_)) => Some(0),
        (None, None) => {
            reader.error(node, "`requests` needs `at-most`: their highest number, or `refused: none`");
            None
        }
    };
    let within = match within {
        Some(span) => Some(span?),
        None => None,
    };
    Some(ExpectedState::Requests(RequestLimit {
        requests: requests?,
        refused: refused.is_some(),
        at_most: at_most?,
        within,
        since,
    }))
}
