//! The reasons of conditions among the states of an exploration, compared with the known ones.

use std::collections::BTreeSet;

use super::coverage;
use crate::scenario::lint::{KnownReason, known_reasons};

/// Returns the known reasons that none of these states has, such as `insight Node/Updating Draining`.
pub(super) fn never_given<'s>(states: impl Iterator<Item = &'s String>) -> Vec<String> {
    let given: BTreeSet<(&str, &str)> = states.filter_map(|state| coverage::reason_in(state)).collect();
    let is_new = |known: &KnownReason| !given.contains(&(&*subject(known), known.reason));
    known_reasons().filter(is_new).map(|known| format!("{} {}", subject(&known), known.reason)).collect()
}

/// Returns the reasons in these states that the list of known ones should have: it is complete for some conditions.
pub(super) fn unlisted<'s>(states: impl Iterator<Item = &'s String>) -> Vec<String> {
    let known: BTreeSet<(String, &str)> =
        known_reasons().map(|known| (subject(&known), known.reason)).collect();
    let listed: BTreeSet<&str> = known.iter().map(|(subject, _)| &**subject).collect();
    let given: BTreeSet<(&str, &str)> = states.filter_map(|state| coverage::reason_in(state)).collect();
    let is_unlisted = |(subject, reason): &(&str, &str)| {
        !reason.is_empty() && listed.contains(subject) && !known.contains(&((*subject).to_owned(), *reason))
    };
    given.into_iter().filter(is_unlisted).map(|(subject, reason)| format!("{subject} {reason}")).collect()
}

/// The condition, as states name it.
fn subject(known: &KnownReason) -> String {
    let family = if known.of_insights { "insight" } else { "condition" };
    format!("{family} {}/{}", known.kind, known.condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_compared_with_the_known_ones() {
        let states = [
            "insight Node/Updating=True Draining",
            "condition ClusterVersion/ReleaseAccepted=False Unheard",
            "condition Pod/Ready=False Anything",
            "insight Node/Updating=False ",
            "mark a controller acts",
        ]
        .map(str::to_owned);
        let never = never_given(states.iter());
        assert!(!never.contains(&"insight Node/Updating Draining".to_owned()), "{never:?}");
        assert!(never.contains(&"condition ClusterVersion/ReleaseAccepted VerifyPayloadVersion".to_owned()));
        assert_eq!(unlisted(states.iter()), ["condition ClusterVersion/ReleaseAccepted Unheard"]);
    }
}
