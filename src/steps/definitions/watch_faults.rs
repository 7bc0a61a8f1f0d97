//! When: faults of what clients see on their watches.

use windtunnel_core::requests::faults::{FaultEffect, Hits, RequestFault, WatchFault};

use super::definition::{Definition, Words, meaning, when};
use crate::plan::InjectedFault;
use crate::steps::phrase::{duration, number};

const WATCHES: &str = concat!(
    r"{at or change}watches{of}{by} ",
    r"(see the past|lose changes|are \d+ \w+ late|are \d+ events? behind|end|expire|repeat){for}",
);

/// The faults of watches, except delays.
const OF_WATCHES: Words<WatchFault> = &[
    ("see the past", WatchFault::Stale),
    ("lose changes", WatchFault::Gap),
    ("end", WatchFault::Disconnect),
    ("expire", WatchFault::Expired),
    ("repeat", WatchFault::Duplicate),
];

pub(in crate::steps) const STEPS: &[Definition] = &[when(
    WATCHES,
    "Makes watches of clients show something other than the present, as a real API server may. \
         Watches that `see the past` show the moment at which the fault begins, until it ends; after \
         watches that `lose changes`, only the last state of each object arrives. Watches that `are 10 \
         seconds late` or `are 3 events behind` lag. Watches that `end` can continue, those that `expire` \
         end with 410, and those that `repeat` end with 410 after their next event: their clients list \
         again.",
    &[
        "watches of ClusterVersion by update-status-controller see the past for 10 minutes",
        "watches by update-status-controller lose changes for 10 minutes",
        "watches of ClusterOperator are 10 seconds late for 1 hour",
        "watches of ClusterOperator are 3 events behind",
        "watches by update-status-controller expire",
    ],
    |world, call| {
        let [how] = call.values();
        let requests = call.requests(&world.kinds, "request")?;
        let effect = effect(&how)?;
        // Open watches end at once, except those that repeat what they have just sent.
        let times = (effect == WatchFault::Duplicate).then_some(1);
        let fault = RequestFault {
            requests,
            effect: FaultEffect::Watch(effect),
            hits: Hits::new(1, times),
            message: String::new(),
            retry_after: 0,
        };
        call.begin(&world.kinds, InjectedFault::Requests(fault))
    },
)];

/// Parses what happens to watches.
fn effect(how: &str) -> Result<WatchFault, String> {
    let Some(delay) = how.strip_prefix("are ") else { return meaning(OF_WATCHES, how) };
    match (delay.strip_suffix(" late"), delay.split_once(' ')) {
        (Some(delay), _) => Ok(WatchFault::Slow(duration(delay)?)),
        (None, Some((events, _))) => Ok(WatchFault::Behind(number(events)?)),
        (None, None) => meaning(OF_WATCHES, how),
    }
}
