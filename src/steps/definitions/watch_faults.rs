//! When: faults of what clients see on their watches.

use cucumber::gherkin::Step;
use cucumber::when;
use windtunnel_core::requests::faults::{Hits, RequestFault, RequestFilter, Trouble, WatchTrouble};

use super::faults::requests;
use crate::plan::{Action, InjectedFault};
use crate::steps::phrase::duration;
use crate::steps::world::{ClusterWorld, StepError};

/// Makes watches of clients show something other than the present, as a real API server may.
/// Watches that `see the past` show the moment at which the fault begins, until it ends; after watches that `lose
/// changes`, only the last state of each object arrives. Watches that `are 10 seconds late` or `are 3 events behind`
/// lag. Watches that `end` can continue, those that `expire` end with 410, and those that `repeat` end with 410
/// after their next event: their clients list again.
///
/// ```gherkin
/// When watches of ClusterVersion by update-status-controller see the past for 10 minutes
/// When watches by update-status-controller lose changes for 10 minutes
/// When watches of ClusterOperator are 10 seconds late for 1 hour
/// When watches of ClusterOperator are 3 events behind
/// When watches by update-status-controller expire
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?watches(?: of ([^\s/]+)(?:/(\S+))?)?(?: by (\S+))? (see the past|lose changes|are \d+ \w+ late|are \d+ events? behind|end|expire|repeat)(?: for (\d+ \w+))?$"
)]
async fn watches_fail(
    world: &mut ClusterWorld,
    kind: String,
    name: String,
    by: String,
    how: String,
    span: String,
    step: &Step,
) -> Result<(), StepError> {
    let by = Some(by).filter(|by| !by.is_empty());
    let requests = RequestFilter { by, ..requests(&world.kinds, "request", &kind, name)? };
    let trouble = trouble(&how)?;
    // Open watches end at once, except those that repeat what they have just sent.
    let times = (trouble == WatchTrouble::Duplicate).then_some(1);
    let fault = RequestFault {
        requests,
        trouble: Trouble::Watch(trouble),
        hits: Hits::new(1, times),
        message: String::new(),
        retry_after: 0,
    };
    let lasts = if span.is_empty() { None } else { Some(duration(&span)?) };
    let (fault, after) = (InjectedFault::Requests(fault), jiff::SignedDuration::ZERO);
    world.act(&step.value, Action::Fault { fault, event: None, after, lasts }).await
}

/// Reads what happens to watches.
fn trouble(how: &str) -> Result<WatchTrouble, StepError> {
    if let Some(delay) = how.strip_prefix("are ").and_then(|how| how.strip_suffix(" late")) {
        return Ok(WatchTrouble::Slow(duration(delay)?));
    }
    if let Some(number) = how.strip_prefix("are ").and_then(|how| how.split(' ').next()) {
        let events = number.parse().ok().filter(|events| (1..=1000).contains(events));
        let expected = || StepError::Usage(format!("expected a number from 1 to 1000, found {number}"));
        return Ok(WatchTrouble::Behind(events.ok_or_else(expected)?));
    }
    Ok(match how {
        "see the past" => WatchTrouble::Stale,
        "lose changes" => WatchTrouble::Gap,
        "end" => WatchTrouble::Disconnect,
        "expire" => WatchTrouble::Expired,
        _ => WatchTrouble::Duplicate,
    })
}
