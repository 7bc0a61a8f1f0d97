//! The objects of a dump that a run left out although they can hold its updates up.

use crate::plan::{LeftOut, Plan};
use crate::record::Record;

/// Returns the left out objects of a run with an update.
pub(super) fn of(plan: &Plan, record: &Record) -> Vec<LeftOut> {
    let left_out = &plan.cluster.past.left_out;
    if left_out.is_empty() {
        return Vec::new();
    }
    let view = record.view_at(record.end());
    let history = view.cluster_version().map_or(&[][..], |version| version.list("/status/history"));
    // A run without an update meets none of them.
    if history.len() > plan.cluster.past.history.len() { left_out.clone() } else { Vec::new() }
}

/// Returns why a run cannot pass: it left out objects that the user does not ignore.
pub(super) fn failure(omissions: &[LeftOut]) -> Option<String> {
    let blocking: Vec<&LeftOut> = omissions.iter().filter(|left| !left.is_ignored).collect();
    let first = blocking.first()?;
    let more = match blocking.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let mut kinds: Vec<&str> = blocking.iter().map(|left| left.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let flags: Vec<String> = kinds.iter().map(|kind| format!("--ignore {kind}")).collect();
    let lines: Vec<String> = blocking.iter().map(|left| format!("\n  {left}")).collect();
    Some(format!(
        "not decided: the run left out {} {} that can hold the update up{more}. All steps passed without:{}\nto pass without \
         them: {}",
        first.kind,
        first.name,
        lines.concat(),
        flags.join(" ")
    ))
}
