//! The part of a node's daemon that pulls pinned images (`PinnedImageSetManager`).
//!
//! Which sets are complete is in the MachineConfigNode, so a restart continues there. Images of incomplete sets
//! are pulled again after a reboot.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::Condition;
use windtunnel_core::log::{Severity, klog};
use windtunnel_core::resources::{NODES, PINNED_IMAGE_SETS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, View};

use super::plan::{Attempt, Source, attempt};
use super::{PinnedSet, is_in_use, sets_of};
use crate::environment::Environment;
use crate::mco::back_off::BackOff;
use crate::mco::registries_of;
use crate::mco::{DAEMON, NAMESPACE, config_node, pace};

/// How long the controller needs to write a changed set into its pools.
const SETTLE: SignedDuration = SignedDuration::from_secs(2);
/// Seconds that the pull of an image takes, and of a slow one.
const PULL_SECONDS: pace::Seconds = (4, 20);
const SLOW_SECONDS: pace::Seconds = (70, 110);

/// Pulls the pinned images of one node.
#[derive(Debug, Clone)]
pub(crate) struct ImagePrefetcher {
    name: String,
    node: String,
    environment: Arc<Environment>,
    streams: Streams,
    phase: Phase,
    /// The sets of the last attempt.
    sets: Vec<PinnedSet>,
    /// Images on the node, of sets that may be incomplete.
    present: BTreeSet<String>,
    back_off: BackOff,
}

#[derive(Debug, Clone)]
enum Phase {
    Idle,
    /// It looks at its sets at this time.
    Checking(Time),
    /// It pulls images until this time.
    Pulling(Time, Attempt),
}

impl ImagePrefetcher {
    /// The prefetcher of `node`, whose daemon is ready at `ready`.
    pub(crate) fn new(node: &str, environment: &Arc<Environment>, streams: Streams, ready: Time) -> Self {
        Self {
            name: format!("{DAEMON}/{node}/pinned-images"),
            node: node.to_owned(),
            environment: Arc::clone(environment),
            streams,
            phase: Phase::Checking(ready),
            sets: Vec::new(),
            present: BTreeSet::new(),
            back_off: BackOff::default(),
        }
    }

    fn wake_at(&self) -> Option<Time> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Checking(at) | Phase::Pulling(at, _) => Some(*at),
        }
    }

    /// Looks at the sets. A changed set cancels the attempt for the old ones.
    fn check(&mut self, view: &View, now: Time, step: &mut Step) {
        let sets = sets_of(&self.node, view);
        let Some(object) = view.get_key(&config_node::key(&self.node)).filter(|_| is_in_use(view)) else {
            self.phase = Phase::Idle;
            return;
        };
        let complete: Vec<(&str, i64)> = config_node::complete_sets(object).collect();
        let is_complete = |set: &PinnedSet| complete.contains(&(set.name.as_str(), set.generation));
        let reported = object.list("/status/pinnedImageSets").len();
        if reported == sets.len() && sets.iter().all(is_complete) {
            (self.phase, self.sets) = (Phase::Idle, sets);
            return;
        }
        if sets != self.sets {
            self.back_off.reset();
        }
        let Some(node) = view.get(&NODES, "", &self.node) else { return };
        for set in &sets {
            let line = format!("Reconciling pinned image set: {}: generation: {}", set.name, set.generation);
            step.effects.push(Effect::Log(klog(Severity::Info, now, "pinned_image_set.go:307", line)));
        }
        let message = format!("node is prefetching images: {}", self.node);
        let progressing = Condition::new("PinnedImageSetsProgressing", "True", "ImagePrefetch", message);
        let entries = sets.iter().map(|set| set.entry(is_complete(set), None)).collect();
        step.writes.extend(config_node::write_pinned(&self.node, view, &[progressing], entries, now));
        let incomplete: Vec<&PinnedSet> = sets.iter().filter(|set| !is_complete(set)).collect();
        let streams = self.streams;
        let pull_time = |image: &str, is_slow: bool| {
            let name = format!("{}/{image}", self.name);
            pace::draw(streams, &name, if is_slow { SLOW_SECONDS } else { PULL_SECONDS })
        };
        let environment = &self.environment;
        let registries = registries_of(node, view).unwrap_or_default();
        let image = |image: &str| registries.resolve(image, |reference| environment.image(reference));
        let source = Source { image: &image, pull_time: &pull_time };
        let found = attempt(node, &incomplete, &self.present, &source);
        self.phase = Phase::Pulling(after(now, found.duration), found);
        self.sets = sets;
    }

    /// Reports the result of the attempt.
    fn finish(&mut self, result: Attempt, view: &View, now: Time, step: &mut Step) {
        self.present.extend(result.pulled);
        let failure = result.failure.as_deref();
        let complete: Vec<(&str, i64)> = view
            .get_key(&config_node::key(&self.node))
            .map(|object| config_node::complete_sets(object).collect())
            .unwrap_or_default();
        let entries = self.sets.iter().map(|set| {
            let was_complete = complete.contains(&(set.name.as_str(), set.generation));
            set.entry(was_complete || failure.is_none(), failure)
        });
        let entries = entries.collect();
        let conditions: &[Condition] = match failure {
            Some(_) => &[Condition::new(
                "PinnedImageSetsDegraded",
                "True",
                "PrefetchFailed",
                "One or more PinnedImageSet is experiencing an error. See PinnedImageSet list for more details.",
            )],
            None => &[
                Condition::new(
                    "PinnedImageSetsProgressing",
                    "False",
                    "AsExpected",
                    "All pinned image sets complete",
                ),
                Condition::new("PinnedImageSetsDegraded", "False", "AsExpected", "All is good"),
            ],
        };
        step.writes.extend(config_node::write_pinned(&self.node, view, conditions, entries, now));
        match failure {
            None => {
                self.phase = Phase::Idle;
                self.back_off.reset();
            }
            Some(why) => {
                let line = klog(Severity::Error, now, "pinned_image_set.go:243", why.to_owned());
                step.effects.push(Effect::Log(line));
                self.phase = Phase::Checking(after(now, self.back_off.fail()));
            }
        }
    }
}

impl Actor for ImagePrefetcher {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        Identity::service_account(NAMESPACE, DAEMON)
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.environment, environment);
    }

    // Changes of pools are not among them: the status of a pool changes with each of its nodes.
    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(PINNED_IMAGE_SETS), Interest::Object(config_node::key(&self.node))]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let mut step = Step::default();
        let concerns_sets = input.changes.iter().any(|change| change.key.is_kind(&PINNED_IMAGE_SETS));
        if concerns_sets || matches!(self.phase, Phase::Idle) && !input.changes.is_empty() {
            self.phase = Phase::Checking(after(input.now, SETTLE));
        }
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Checking(at) if at <= input.now => self.check(input.view, input.now, &mut step),
            Phase::Pulling(until, result) if until <= input.now => {
                self.finish(result, input.view, input.now, &mut step);
            }
            other => self.phase = other,
        }
        step.wake_at = self.wake_at();
        if matches!(self.phase, Phase::Pulling(..)) {
            step.why = "the pull of pinned images".into();
        }
        step
    }
}
