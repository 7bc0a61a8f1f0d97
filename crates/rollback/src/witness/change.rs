//! Finds a change that the newer release accepts, and a rule of the older one rejects.

use serde_json::Value;

use super::bench::Bench;
use super::dice::Dice;
use super::generate::{Pin, Put};
use super::moves::{Kept, Mover};
use super::search::{Found, Miss};
use crate::diff::{Candidate, Difference};
use crate::schema::{Path, Place, Rule};
use crate::servers::Cause;

/// The attempts to find a change.
const ATTEMPTS: usize = 60;
/// The changes of each state.
const CHANGES: usize = 60;

/// Searches for an object and a change of it that show a difference between rules about changes. The place of the result
/// is that of the rule.
///
/// # Errors
/// None was found.
pub(crate) fn search_change(
    bench: &mut Bench,
    candidate: &Candidate,
    seed: u64,
) -> Result<(Found, Value), Miss> {
    let Difference::Transition(rule) = &candidate.difference else {
        return Err(Miss::Unproved("the difference is no rule about changes".to_owned()));
    };
    let mut dice = Dice::new(seed, &format!("{}/{}/change", bench.resource.plural, candidate.path));
    let search = Change { candidate, place: candidate.path.first_place(), rule };
    let mut count = 0;
    for attempt in 0..ATTEMPTS {
        dice.set_minimal(attempt == 0);
        let Some(before) = search.state(bench, &mut dice) else { continue };
        dice.set_minimal(false);
        for _ in 0..CHANGES {
            let mut after = before.clone();
            search.alter(bench, &mut after, &mut dice);
            match search.judge(bench, (&before, &after)) {
                Some(true) => {
                    let found = Found { object: before, place: search.place, others: Vec::new() };
                    return Ok((found, after));
                }
                Some(false) => count += 1,
                None => {}
            }
        }
    }
    Err(Miss::Unproved(format!("the target accepts all of {count} changes that the source accepts")))
}

/// The rule and its place.
struct Change<'c> {
    candidate: &'c Candidate,
    place: Place,
    rule: &'c Rule,
}

impl Change<'_> {
    /// An object that both releases accept.
    fn state(&self, bench: &mut Bench, dice: &mut Dice) -> Option<Value> {
        let older = bench.older_schema.clone();
        let pin = Pin { steps: self.candidate.path.steps(), put: &Put::Present };
        let mut object = bench.object(Some(&older), Some(pin), 20, dice)?;
        dice.set_minimal(false);
        for change in 0..CHANGES {
            let rejected = bench.store_newer(&object).err().or_else(|| bench.store_older(&object).err());
            let Some(failure) = rejected else { return Some(object) };
            let cause = failure.causes[dice.any_index(failure.causes.len())].clone();
            let mover = Mover { bench, older: Some(&older), kept: None };
            mover.change(&mut object, &cause, 1 + change / 30, dice);
        }
        None
    }

    /// Changes an object at the place of the rule, some times.
    fn alter(&self, bench: &Bench, object: &mut Value, dice: &mut Dice) {
        let path = Path::default();
        let kept = Kept { place: Place::default(), path, put: Put::Present };
        for _ in 0..=dice.any_index(3) {
            let cause =
                Cause { place: self.place.clone(), reason: String::new(), message: self.rule.text.clone() };
            let mover = Mover { bench, older: Some(&bench.older_schema), kept: Some(&kept) };
            mover.change(object, &cause, 0, dice);
        }
    }

    /// Whether the older release rejects a change because of the rule; `None` if the newer one rejects it, too.
    fn judge(&self, bench: &mut Bench, states: (&Value, &Value)) -> Option<bool> {
        let is_status = bench.is_status(self.candidate.path.section());
        if states.0 == states.1 {
            return None;
        }
        bench.change_newer(states, is_status).ok()?;
        let Err(failure) = bench.change_older(states, is_status) else { return Some(false) };
        let is_aimed =
            |cause: &Cause| cause.place.is_within(&self.place) && self.rule.has_message(&cause.message);
        Some(failure.causes.iter().all(is_aimed))
    }
}
