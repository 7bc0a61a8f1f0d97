//! The wrapper of an actor that makes it a seeded mutant.
//!
//! It shares nothing with other actors, so a cluster with a mutant can be copied like any other. A component that sees its
//! forgotten write undone would repeat it at once. So it believes that the write was made, as a program does whose code
//! lacks the write.

use std::sync::Arc;

use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Input, Interest, Signal, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Identity, View, Write};

use super::belief::Beliefs;
use super::{Fate, HIT, Scene, SeededMutant, SeededMutantKind};
use crate::engine::mutants::awaited::{Awaited, Sent};

/// An actor that is a seeded mutant.
#[derive(Clone)]
pub(super) struct Planted {
    actor: Box<dyn Actor>,
    mutant: &'static SeededMutant,
    awaited: Awaited,
    beliefs: Beliefs,
    /// When the actor wants its next turn, and what it waits for.
    wake_at: Option<Time>,
    why: String,
}

impl Planted {
    pub(super) fn new(actor: Box<dyn Actor>, mutant: &'static SeededMutant) -> Self {
        Self {
            actor,
            mutant,
            awaited: Awaited::default(),
            beliefs: Beliefs::default(),
            wake_at: None,
            why: String::new(),
        }
    }

    /// The answers that the actor gets.
    fn answers(&mut self, input: &Input<'_>) -> Vec<Answer> {
        self.awaited.take(input.answers, |write, answer| match (self.mutant.kind, &answer.outcome) {
            (SeededMutantKind::Misreads(is_misread), Err(rejection))
                if HIT.reach_if(is_misread(write, rejection)) =>
            {
                Ok(self.beliefs.believe(write, None, input.view))
            }
            (_, outcome) => outcome.clone(),
        })
    }

    /// The news that the actor gets: changes and signals.
    fn news(&self, input: &Input<'_>) -> (Vec<Change>, Vec<Signal>) {
        let (mut changes, mut signals) = (input.changes.to_vec(), input.signals.to_vec());
        match self.mutant.kind {
            SeededMutantKind::Overlooks(is_overlooked) => {
                changes.retain(|change| !HIT.reach_if(is_overlooked(change)));
            }
            SeededMutantKind::Deaf(is_unheard) => signals.retain(|signal| !HIT.reach_if(is_unheard(signal))),
            _ => {}
        }
        (changes, signals)
    }

    /// Whether all that woke the actor was lost.
    fn stays_asleep(&self, input: &Input<'_>, seen: usize, heard: usize) -> bool {
        let has_lost = seen < input.changes.len() || heard < input.signals.len();
        let is_due = self.wake_at.is_some_and(|at| at <= input.now);
        has_lost && seen + heard + input.answers.len() == 0 && !is_due
    }

    /// Passes the decisions of a turn through the mutant.
    fn pass(&mut self, mut step: Step, scene: &Scene<'_>) -> Step {
        match self.mutant.kind {
            SeededMutantKind::Loses(is_lost) => {
                step.effects.retain(|effect| !HIT.reach_if(is_lost(effect, scene)));
            }
            SeededMutantKind::Wakes(wakes) => {
                if let Some(at) = wakes(&step, scene) {
                    HIT.reach_if(at != step.wake_at);
                    step.wake_at = at;
                }
            }
            _ => {}
        }
        (self.wake_at, self.why) = (step.wake_at, step.why.clone().into_owned());
        for write in std::mem::take(&mut step.writes) {
            self.pass_write(write, scene, &mut step.writes);
        }
        if self.awaited.has_only_skipped() {
            step.wake_at = Some(scene.now);
        }
        step
    }

    fn pass_write(&mut self, write: Write, scene: &Scene<'_>, made: &mut Vec<Write>) {
        let fate = match self.mutant.kind {
            SeededMutantKind::Writes(decide) => decide(&write, scene),
            _ => Fate::Made,
        };
        if !matches!(fate, Fate::Made) {
            HIT.reach();
        }
        match fate {
            Fate::Made => {
                self.beliefs.forget(&write);
                self.awaited.push(Sent::Made(write.clone()));
                made.push(write);
            }
            Fate::Skipped => {
                let outcome = Ok(self.beliefs.believe(&write, None, scene.view));
                self.awaited.push(Sent::Skipped(Answer { write, outcome }));
            }
            Fate::Changed(operation) => {
                let changed = Write { operation, ..write.clone() };
                self.beliefs.believe(&write, Some(&changed), scene.view);
                self.awaited.push(Sent::Made(write));
                made.push(changed);
            }
            Fate::Followed(others) => {
                self.awaited.push(Sent::Made(write.clone()));
                made.push(write);
                for _ in &others {
                    self.awaited.push(Sent::Own);
                }
                made.extend(others);
            }
            Fate::Panics => panic!("{}", self.mutant.text),
        }
    }
}

impl Actor for Planted {
    fn name(&self) -> &str {
        self.actor.name()
    }

    fn identity(&self) -> Identity {
        self.actor.identity()
    }

    fn identity_for(&self, write: &Write) -> Option<Identity> {
        self.actor.identity_for(write)
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.actor.set_environment(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        self.actor.interests()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let by = self.actor.name().to_owned();
        let scene = Scene { by: &by, view: input.view, now: input.now };
        let (changes, signals) = self.news(input);
        if self.stays_asleep(input, changes.len(), signals.len()) {
            return Step { wake_at: self.wake_at, why: self.why.clone().into(), ..Step::default() };
        }
        let answers = self.answers(input);
        let believed: Option<View> = self.beliefs.applied_to(input.view);
        let view = believed.as_ref().unwrap_or(input.view);
        let input = Input { view, changes: &changes, answers: &answers, signals: &signals, ..*input };
        let step = self.actor.step(&input);
        self.pass(step, &scene)
    }
}
