//! The wrapper of an actor that makes it a mutant.

use std::sync::Arc;

use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Identity, Write};

use super::awaited::{Awaited, Sent};
use super::mutant::{Mutant, MutantKind};
use super::mutant_state::{MutantState, Passed, State, component};

/// An actor whose writes, news and effects pass a mutant.
#[derive(Clone)]
pub(in crate::engine) struct MutantActor {
    actor: Box<dyn Actor>,
    mutant_state: MutantState,
    awaited: Awaited,
    /// Changes that the actor has not seen yet.
    unseen: Vec<Change>,
    /// When the actor wants its next turn, and what it waits for.
    wake_at: Option<Time>,
    why: String,
}

impl MutantState {
    /// Wraps an actor, if the mutant is one of its component.
    pub(in crate::engine) fn wrap(&self, actor: Box<dyn Actor>) -> Box<dyn Actor> {
        let planned = self.lock().planned().map(|mutant| mutant.component.clone());
        let is_meant = planned.is_none_or(|planned| planned == component(actor.name()));
        if is_meant { Box::new(MutantActor::new(actor, self.clone())) } else { actor }
    }
}

impl MutantActor {
    pub(in crate::engine) fn new(actor: Box<dyn Actor>, mutant_state: MutantState) -> Self {
        Self {
            actor,
            mutant_state,
            awaited: Awaited::default(),
            unseen: Vec::new(),
            wake_at: None,
            why: String::new(),
        }
    }

    /// Returns whether the only reason for this turn is a change that the mutant does not notice.
    fn overlooks(&self, mutant: &Mutant, input: &Input<'_>) -> bool {
        mutant.how == MutantKind::Unnoticed
            && !input.changes.is_empty()
            && input.changes.iter().all(|change| change.object.text("/kind") == mutant.kind)
            && input.answers.is_empty()
            && input.signals.is_empty()
            && input.clock_shift.is_zero()
            && self.wake_at.is_none_or(|at| at > input.now)
    }

    /// Returns the changes that the actor sees, and keeps the others.
    fn changes(&mut self, state: &mut State, input: &Input<'_>) -> Vec<Change> {
        state.reveal_written(input.answers, input.view);
        state.reveal_due(input.view, input.now);
        let withheld = input.changes.iter().filter(|change| state.is_withheld(&change.key)).count();
        state.observed.hits += u64::try_from(withheld).unwrap_or(0);
        let changes = std::mem::take(&mut self.unseen).into_iter().chain(input.changes.iter().cloned());
        let (unseen, seen): (Vec<Change>, Vec<Change>) =
            changes.partition(|change| state.is_withheld(&change.key));
        self.unseen = unseen;
        seen.iter().filter_map(|change| state.believed(change)).collect()
    }

    /// Runs the actor with the cluster as it believes it to be.
    fn run(&mut self, input: &Input<'_>) -> Step {
        let mutant_state = self.mutant_state.clone();
        let mut state = mutant_state.lock();
        let answers = self.awaited.take(input.answers, |write, answer| {
            answer.outcome.clone().map(|object| state.believed_object(&write.key(), &object))
        });
        let changes = self.changes(&mut state, input);
        let shadow = state.take_shadow();
        let view = shadow.as_ref().unwrap_or(input.view);
        let step = self.actor.step(&Input { view, changes: &changes, answers: &answers, ..*input });
        state.put_shadow(shadow);
        step
    }

    /// Passes the decisions of a turn through the mutant.
    fn pass(&mut self, mutant: &Mutant, step: Step, input: &Input<'_>) -> Step {
        let Step { writes, wake_at, why, effects } = step;
        (self.wake_at, self.why) = (wake_at, why.clone().into_owned());
        let mutant_state = self.mutant_state.clone();
        let mut state = mutant_state.lock();
        let all = effects.len();
        let effects: Vec<Effect> = effects.into_iter().filter(|effect| !is_hidden(mutant, effect)).collect();
        state.observed.hits += u64::try_from(all - effects.len()).unwrap_or(0);
        let mut sent = state.take_due(self.actor.name(), input.view, input.now);
        for _ in &sent {
            self.awaited.push(Sent::Own);
        }
        for write in writes {
            match state.pass(self.actor.name(), write.clone(), input.view, input.now) {
                Passed::Made(made) => {
                    self.awaited.push(Sent::Made(made.clone()));
                    sent.push(made);
                }
                Passed::Twice => {
                    self.awaited.push(Sent::Own);
                    self.awaited.push(Sent::Made(write.clone()));
                    sent.extend([write.clone(), write]);
                }
                Passed::Unanswered => {
                    self.awaited.push(Sent::Unanswered(write.clone()));
                    sent.push(write);
                }
                Passed::Skipped(outcome) => self.awaited.push(Sent::Skipped(Answer { write, outcome })),
            }
        }
        let answers_at = self.awaited.has_only_skipped().then_some(input.now);
        let seen_at = self.unseen.iter().filter_map(|change| state.reveals_at(&change.key)).min();
        let own_at = state.next_due(self.actor.name());
        let wake_at = [wake_at, answers_at, seen_at, own_at].into_iter().flatten().min();
        Step { writes: sent, wake_at, why, effects }
    }
}

/// Returns whether the mutant suppresses an effect.
fn is_hidden(mutant: &Mutant, effect: &Effect) -> bool {
    match (&mutant.how, effect) {
        (MutantKind::NoAlert(name), Effect::Alert(alert)) => alert.name() == name,
        _ => false,
    }
}

impl Actor for MutantActor {
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
        let mut state = self.mutant_state.lock();
        let may_run = state.count_turn(self.actor.name(), input.changes);
        state.note_rejections(input.answers);
        let Some(mutant) = state.active().cloned() else {
            drop(state);
            let step = self.actor.step(input);
            (self.wake_at, self.why) = (step.wake_at, step.why.clone().into_owned());
            return step;
        };
        if !may_run {
            return Step { why: "the mutant took too many turns".into(), ..Step::default() };
        }
        if self.overlooks(&mutant, input) {
            state.observed.hits += 1;
            return Step { wake_at: self.wake_at, why: self.why.clone().into(), ..Step::default() };
        }
        drop(state);
        let step = self.run(input);
        self.pass(&mutant, step, input)
    }
}
