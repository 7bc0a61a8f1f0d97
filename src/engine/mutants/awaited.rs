//! The answers that a defective actor awaits. It gets them as if all of its writes had been made, and no others.

use std::collections::VecDeque;

use windtunnel_core::{Answer, Object, Rejection, Write};

use super::answers;

/// The writes of an actor whose answers it awaits, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Awaited(VecDeque<Sent>);

/// A write of an actor, or of the mutant around it.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// It was made, perhaps in another form. The actor expects an answer to this one.
    Made(Write),
    /// It was made, and its answer is lost.
    Unanswered(Write),
    /// The mutant made it; the actor does not know it.
    Own,
    /// It was not made, and has this answer.
    Skipped(Answer),
}

impl Awaited {
    pub(super) fn push(&mut self, sent: Sent) {
        self.0.push_back(sent);
    }

    /// Whether no write was made, so that no answer wakes the actor.
    pub(super) fn has_only_skipped(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|sent| matches!(sent, Sent::Skipped(_)))
    }

    /// Takes the answers that the actor gets, in the order of its writes. `understand` returns the outcome of a write that
    /// was made, as the actor understands it.
    pub(super) fn take(
        &mut self,
        answers: &[Answer],
        mut understand: impl FnMut(&Write, &Answer) -> Result<Object, Rejection>,
    ) -> Vec<Answer> {
        let mut taken = Vec::new();
        for answer in answers {
            self.take_skipped(&mut taken);
            let (write, is_lost) = match self.0.pop_front() {
                Some(Sent::Own) => continue,
                Some(Sent::Made(write)) => (write, false),
                Some(Sent::Unanswered(write)) => (write, true),
                Some(Sent::Skipped(_)) | None => (answer.write.clone(), false),
            };
            let outcome = match understand(&write, answer) {
                Ok(_) if is_lost => Err(answers::timeout()),
                outcome => outcome,
            };
            taken.push(Answer { write, outcome });
        }
        self.take_skipped(&mut taken);
        taken
    }

    /// Takes the answers to the next writes that were not made.
    fn take_skipped(&mut self, taken: &mut Vec<Answer>) {
        while let Some(Sent::Skipped(answer)) = self.0.front() {
            taken.push(answer.clone());
            self.0.pop_front();
        }
    }
}
