//! `expect: {status: ...}`: the expected output of `oc adm upgrade status`.

use windtunnel_core::yaml::Node;
use windtunnel_update_status::status::Details;

use crate::plan::{StatusMatch, TextMatch};
use crate::scenario::reader::{Map, Reader};

const KEYS: &[&str] = &["contains", "matches", "details"];

/// Parses `node`, the value of `status` in the expectation `around`.
pub(in crate::scenario) fn read(
    reader: &mut Reader<'_>,
    around: &Map<'_>,
    node: &Node,
) -> Option<StatusMatch> {
    let map = reader.map(node, "`status`", KEYS)?;
    let details = match map.get("details") {
        None => Some(Details::None),
        Some(at) => reader.word(at, Details::NAMES).and_then(Details::named),
    };
    // A plain text also means `contains`, since the output has many lines.
    let has = map.get("contains").map(|at| reader.text_matches(at)).unwrap_or_default();
    let has = has.into_iter().map(TextMatch::as_part);
    let file = map.get("matches");
    if file.is_none() && map.get("contains").is_none() {
        reader.error(node, "`status` needs `contains`, a text, or `matches`, a file");
    }
    let snapshot = file.and_then(|at| {
        for key in ["within", "throughout"] {
            if let Some(at) = around.get(key) {
                reader.error(at, format!("`{key}` cannot be combined with a file in `status`"));
            }
        }
        let name = reader.text(at, "a file such as `status.txt`")?;
        reader.snapshot(&name).map_err(|message| reader.error(at, message)).ok()
    });
    Some(StatusMatch { details: details?, has: has.collect(), snapshot })
}
