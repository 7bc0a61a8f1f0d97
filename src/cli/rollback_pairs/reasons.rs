//! Why clusters do not arrive.

use windtunnel_core::text::truncate;

use crate::engine::pairs::CellResult;
use crate::engine::sweep::Verdict;

/// The greatest number of characters of a message.
const MESSAGE_MAX: usize = 400;

/// Why a cluster does not arrive, a line each: on the way to the newer release, or back. Empty for one that does.
pub(super) fn reasons(result: &CellResult) -> Vec<String> {
    let verdicts = [
        Some(&result.there.verdict),
        result.back.as_ref().map(|back| &back.verdict),
        result.no_return.as_ref().map(|no_return| &no_return.verdict),
    ];
    let first = verdicts.into_iter().flatten().find(|verdict| **verdict != Verdict::Safe);
    first.map(of_verdict).unwrap_or_default()
}

/// The details of a verdict, a line each.
pub(super) fn of_verdict(verdict: &Verdict) -> Vec<String> {
    match verdict {
        Verdict::Safe | Verdict::LeftOver => Vec::new(),
        Verdict::Trapped(rejected) => rejected
            .iter()
            .map(|rejected| {
                let message = truncate(&rejected.message, MESSAGE_MAX);
                format!("{}{}: {message}", rejected.write, rejected.at)
            })
            .collect(),
        Verdict::Stuck(waiting) if waiting.is_empty() => vec!["no component waits for anything".to_owned()],
        Verdict::Stuck(waiting) => waiting.clone(),
        Verdict::Failed(why) => vec![why.clone()],
    }
}
