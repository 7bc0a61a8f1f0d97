//! Speaks every step to a world without a cluster, so that what its words mean is checked before anything runs: releases,
//! kinds, durations, patterns, doc strings, and whether there is a cluster at all.

use std::panic::{self, AssertUnwindSafe};

use cucumber::gherkin::{Feature, Step};
use cucumber::step::Collection;
use futures::FutureExt as _;

use super::gherkin::scenarios;
use super::suite::panic_text;
use super::world::ClusterWorld;

/// Steps that cannot be played, and why, in the order of the text. The steps must be of the vocabulary.
pub(super) fn problems<'f>(
    steps: &Collection<ClusterWorld>,
    feature: &'f Feature,
) -> Vec<(&'f Step, String)> {
    let mut found: Vec<(&Step, String)> = Vec::new();
    // A step tells of its error by a panic, as cucumber wants it; that is no reason to print one.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    for scenario in scenarios(feature) {
        let rule =
            feature.rules.iter().find(|rule| rule.scenarios.iter().any(|own| std::ptr::eq(own, scenario)));
        let backgrounds = feature.background.iter().chain(rule.and_then(|rule| rule.background.as_ref()));
        let mut world = ClusterWorld::rehearsal();
        for step in backgrounds.flat_map(|background| &background.steps).chain(&scenario.steps) {
            let Some(why) = rehearse(steps, &mut world, step) else { continue };
            // Backgrounds and examples say the same step again.
            if !found.iter().any(|(told, same)| told.position == step.position && *same == why) {
                found.push((step, why));
            }
        }
    }
    panic::set_hook(hook);
    found.sort_by_key(|(step, _)| (step.position.line, step.position.col));
    found
}

/// Why the step cannot be played.
fn rehearse(steps: &Collection<ClusterWorld>, world: &mut ClusterWorld, step: &Step) -> Option<String> {
    let Ok(Some((play, _, _, context))) = steps.find(step) else { return None };
    let played = AssertUnwindSafe(play(world, context)).catch_unwind().now_or_never()?;
    played.err().map(|panic| panic_text(&panic.into()))
}
