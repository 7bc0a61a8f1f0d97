//! The search for a witness.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::Object;

use super::aim::{Aim, aims, relaxed};
use super::bench::Bench;
use super::dice::Dice;
use super::generate::{Generator, Pin, Put};
use super::moves::{Kept, Mover};
use super::outcome::{Outcome, reason};
use super::shrink::shrink;
use crate::diff::{Candidate, Difference};
use crate::schema::{Node, Place, get};
use crate::servers::{Cause, bare};

/// The rounds of a search; each tries other values at the place of the difference.
const ROUNDS: usize = 6;
/// The changes of an object in each round.
const CHANGES: usize = 200;
/// The most changes of an object whose difference is a rule or an alternative, in each round.
const RULE_CHANGES: usize = 300;

/// An object that shows a difference.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The object, as a client sends it.
    pub(crate) object: Value,
    /// The place of the difference in it.
    pub(crate) place: Place,
    /// Errors of the older release at other places.
    pub(crate) others: Vec<Cause>,
}

/// Why a search has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Miss {
    /// For this reason.
    Unproved(String),
    /// The newer release has other words for the same: it accepts this many different values, and so does the older one.
    Reworded(usize),
}

/// The least number of values that show that a restriction was only reworded.
const REWORDED_MIN: usize = 30;

/// The number of values that ends a search early.
const REWORDED_ENOUGH: usize = 150;

/// Searches for an object that shows a difference.
///
/// # Errors
/// None was found.
pub(crate) fn search(bench: &mut Bench, candidate: &Candidate, seed: u64) -> Result<Found, Miss> {
    let name = format!("{}/{}/{}", bench.resource.plural, candidate.path, candidate.difference.id());
    let mut dice = Dice::new(seed, &name);
    let older = relaxed(&bench.older_schema, candidate);
    let mut seen = Seen::default();
    for round in 0..ROUNDS {
        dice.set_minimal(round == 0);
        let values = {
            let generator = Generator { texts: &bench.texts, optional: 20 };
            aims(candidate, &bench.newer_schema, &bench.older_schema, &generator, &mut dice, round)
        };
        for aim in values {
            dice.set_minimal(round == 0);
            if let Some(found) =
                (Attempt { bench, candidate, older: &older, aim: &aim }).run(&mut dice, &mut seen)
            {
                return Ok(found);
            }
        }
        if seen.accepted.len() >= REWORDED_ENOUGH {
            break;
        }
    }
    let Seen { best, last, accepted } = seen;
    match best {
        Some(found) => Ok(found),
        None if accepted.len() >= REWORDED_MIN && is_replaced(bench, candidate) => {
            Err(Miss::Reworded(accepted.len()))
        }
        None => Err(Miss::Unproved(reason(last.as_ref()))),
    }
}

/// The state of a search.
#[derive(Default)]
struct Seen {
    /// An object that shows the difference, but has other errors as well.
    best: Option<Found>,
    /// The outcome of the last attempt.
    last: Option<Outcome>,
    /// Values at the place of the difference that both releases accept.
    accepted: BTreeSet<String>,
}

/// Whether the newer release has another restriction in the place of one that it does not have any more.
fn is_replaced(bench: &Bench, candidate: &Candidate) -> bool {
    let steps = candidate.path.steps();
    let (Some(newer), Some(older)) = (bench.newer_schema.at(steps), bench.older_schema.at(steps)) else {
        return false;
    };
    let is_restriction = matches!(
        candidate.difference,
        Difference::Rule(_) | Difference::Composition { .. } | Difference::Pattern(_)
    );
    let mut before = Vec::new();
    older.each(&mut |node| before.extend(&node.rules));
    let mut has_more = newer.limits != older.limits;
    newer.each(&mut |node| has_more |= node.rules.iter().any(|rule| !before.contains(&rule)));
    is_restriction && has_more
}

/// The search with one value at the place of the difference.
struct Attempt<'a> {
    bench: &'a mut Bench,
    candidate: &'a Candidate,
    older: &'a Node,
    aim: &'a Aim,
}

impl Attempt<'_> {
    fn run(mut self, dice: &mut Dice, seen: &mut Seen) -> Option<Found> {
        let place = self.aim.path.first_place();
        let put = if self.aim.is_free { Put::Present } else { self.aim.put.clone() };
        let kept = Kept { place: place.clone(), path: self.aim.path.clone(), put };
        let pin = Pin { steps: self.aim.path.steps(), put: &self.aim.put };
        let mut object = self.bench.object(Some(self.older), Some(pin), 20, dice)?;
        let mut outcome = self.judge(&object, &place);
        dice.set_minimal(false);
        for change in 0..self.changes() {
            let found = |others: &[Cause]| Found {
                object: object.clone(),
                place: place.clone(),
                others: others.to_vec(),
            };
            match &outcome {
                Outcome::Witness => {
                    let object = shrink(object, &kept, |smaller| {
                        matches!(self.judge(smaller, &place), Outcome::Witness)
                    });
                    return Some(Found { object, place, others: Vec::new() });
                }
                Outcome::Mixed(others)
                    if seen.best.as_ref().is_none_or(|best| best.others.len() > others.len()) =>
                {
                    seen.best = Some(found(others));
                }
                Outcome::Accepted => {
                    let value = get(&object, &self.candidate.path.first_place());
                    seen.accepted.insert(value.map_or_else(String::new, Value::to_string));
                }
                _ => {}
            }
            if self.is_hopeless(&outcome, &kept) {
                break;
            }
            let Some(next) = self.change(&object, &outcome, &kept, change, dice) else { continue };
            let judged = self.judge(&next, &place);
            if judged.score() <= outcome.score() {
                (object, outcome) = (next, judged);
            }
        }
        seen.last = Some(outcome);
        None
    }

    /// Whether only another value at the place of the difference can help.
    fn is_hopeless(&self, outcome: &Outcome, kept: &Kept) -> bool {
        if self.aim.is_free {
            return false;
        }
        match outcome {
            Outcome::Accepted => true,
            Outcome::Invalid(causes) if matches!(kept.put, Put::Value(_)) => {
                causes.iter().all(|cause| {
                    cause.place.is_within(&kept.place)
                        && cause.place != Place::default()
                        && !kept.place.0.is_empty()
                }) && causes.iter().all(|cause| cause.message.contains(" in body "))
            }
            _ => false,
        }
    }

    /// A changed copy of an object; `None` if the change affects what must stay.
    fn change(
        &self,
        object: &Value,
        outcome: &Outcome,
        kept: &Kept,
        change: usize,
        dice: &mut Dice,
    ) -> Option<Value> {
        let causes = match outcome {
            Outcome::Mixed(causes) | Outcome::Elsewhere(causes) | Outcome::Invalid(causes) => {
                causes.as_slice()
            }
            Outcome::Accepted | Outcome::Witness => &[],
        };
        let cause =
            if causes.is_empty() { self.goal() } else { causes[dice.any_index(causes.len())].clone() };
        let mut next = object.clone();
        let mover = Mover { bench: self.bench, older: Some(self.older), kept: Some(kept) };
        // Without an error, other values at the place of the difference are all that can help.
        let height = if causes.is_empty() && dice.any_index(4) > 0 { 0 } else { 1 + change / 60 };
        mover.change(&mut next, &cause, height, dice);
        let is_present = get(&next, &kept.place).is_some();
        let is_kept = is_present != (kept.put == Put::Absent);
        (is_kept && next != *object).then_some(next)
    }

    /// The error that the older release should have.
    fn goal(&self) -> Cause {
        let message = match &self.candidate.difference {
            Difference::Rule(rule) => rule.text.clone(),
            _ => String::new(),
        };
        Cause { place: self.candidate.path.first_place(), reason: String::new(), message }
    }

    fn changes(&self) -> usize {
        match self.candidate.difference {
            Difference::Rule(_) | Difference::Composition { .. } => RULE_CHANGES,
            _ => CHANGES,
        }
    }

    /// Asks both servers about an object.
    fn judge(&mut self, object: &Value, place: &Place) -> Outcome {
        let newer = match self.bench.store_newer(object) {
            Err(failure) => return Outcome::Invalid(failure.causes),
            Ok(_) if matches!(self.candidate.difference, Difference::Subresource(_)) => {
                return Outcome::Witness;
            }
            Ok(stored) => stored,
        };
        match self.bench.store_older(object) {
            Ok(older) if self.shows_change(&newer, &older, place) => Outcome::Witness,
            Ok(_) => Outcome::Accepted,
            Err(failure) => {
                let (aimed, others): (Vec<Cause>, Vec<Cause>) =
                    failure.causes.into_iter().partition(|cause| self.is_aimed(cause, place));
                match (aimed.is_empty(), others.is_empty()) {
                    (false, true) if !self.is_change() => Outcome::Witness,
                    (false, false) if !self.is_change() => Outcome::Mixed(others),
                    // An object that the older release rejects for other reasons was stored before, and is read.
                    _ if self.is_change() => Outcome::Mixed(others.into_iter().chain(aimed).collect()),
                    _ => Outcome::Elsewhere(others.into_iter().chain(aimed).collect()),
                }
            }
        }
    }

    /// Whether the difference changes objects instead of rejecting them.
    fn is_change(&self) -> bool {
        matches!(
            self.candidate.difference,
            Difference::Pruned | Difference::Unknown | Difference::Default { .. }
        )
    }

    /// Whether the two stored objects differ because of the difference.
    fn shows_change(&self, newer: &Object, older: &Object, place: &Place) -> bool {
        let (now, before) = (bare(newer), bare(older));
        let (now, before) = (get(&now, place), get(&before, place));
        match self.candidate.difference {
            // Servers drop a null that the schema does not allow.
            Difference::Pruned | Difference::Unknown | Difference::Null => now.is_some() && now != before,
            Difference::Default { .. } => now != before,
            _ => false,
        }
    }

    /// Whether an error is that of the difference.
    fn is_aimed(&self, cause: &Cause, place: &Place) -> bool {
        match &self.candidate.difference {
            Difference::Rule(rule) => {
                // The message may be an expression.
                let may_be = rule.message.is_empty() && !place.0.is_empty();
                let here = cause.place.is_within(&self.candidate.path.first_place());
                here && (may_be || rule.has_message(&cause.message))
            }
            _ => cause.place.is_within(place),
        }
    }
}
