//! `run --check-restored`: takes the cluster of a scenario back, and lists what is left over.

use windtunnel_core::text::counted;

use crate::cli::print_notice;
use crate::engine::restored::{Leftover, render};
use crate::engine::round_trip::{self, Comparison, RoundTrip};
use crate::engine::sweep::Verdict;
use crate::plan::Plan;

/// Returns what is left over of the updates of a scenario; `None` if nothing is.
pub(in crate::cli) fn check(plan: &Plan, seed: u64) -> Option<String> {
    match round_trip::run(plan, seed) {
        Err(error) => Some(format!("the way back: {error}")),
        // The scenario itself reports a failed step; a canary must have one.
        Ok(RoundTrip::Failed(_)) => None,
        Ok(RoundTrip::NoUpdate) => {
            print_notice(&format!("{}: no update is requested, so nothing can be left over", plan.file));
            None
        }
        Ok(RoundTrip::Lost(verdict)) => Some(format!("the cluster does not come back: {}", why(&verdict))),
        Ok(RoundTrip::Back(comparison)) => {
            print_notice(&summary(plan, &comparison));
            let is_restored = !comparison.left_over.iter().any(Leftover::counts);
            (!is_restored).then(|| failure(&comparison))
        }
    }
}

/// One line about the way and the number of differences.
fn summary(plan: &Plan, comparison: &Comparison) -> String {
    let Comparison { releases, is_rollback_added, left_over, drift, only_stayed } = comparison;
    let count = |list: &[Leftover]| list.iter().filter(|leftover| leftover.counts()).count();
    let added = if *is_rollback_added { ", taken back at the end" } else { "" };
    format!(
        "{}: {}{added}: {} left over, {} by time, {} only in the cluster that stayed",
        plan.file,
        releases.join(" -> "),
        counted(count(left_over), "thing"),
        count(drift),
        count(only_stayed),
    )
}

/// The lists of the differences to the state before, and to the cluster that stayed.
fn failure(comparison: &Comparison) -> String {
    let Comparison { releases, left_over, drift, only_stayed, .. } = comparison;
    let mut text = format!("after {}: {}", releases.join(" -> "), render(left_over));
    for (head, list) in [
        ("not caused by the updates, because the cluster that stayed has it as well", drift),
        ("as before, but the cluster that stayed has changed", only_stayed),
    ] {
        let lines =
            list.iter().filter(|leftover| leftover.counts()).map(|leftover| format!("\n    {leftover}"));
        let lines: String = lines.collect();
        if !lines.is_empty() {
            text += &format!("\n  {head}:{lines}");
        }
    }
    text
}

/// Why a cluster does not come back.
fn why(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Safe | Verdict::LeftOver => String::new(),
        Verdict::Trapped(rejected) => {
            let lines = rejected.iter().map(|rejected| {
                format!("\n  {}, {} times: {}", rejected.write, rejected.times, rejected.message)
            });
            format!("the API server rejects writes{}", lines.collect::<String>())
        }
        Verdict::Stuck(waiting) => format!("components wait\n  {}", waiting.join("\n  ")),
        Verdict::Failed(why) => why.clone(),
    }
}
