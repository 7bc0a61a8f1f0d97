//! Random objects of the newer release.

use serde_json::Value;

use super::bench::Bench;
use super::dice::Dice;
use super::moves::Mover;
use crate::schema::{Place, Spot};
use crate::servers::{Cause, bare};

/// The changes of a random object until the newer release accepts it.
const CHANGES: usize = 24;

/// Random objects that the newer release accepts, each with the errors of the older release, or with the places that it
/// changes.
pub(crate) fn random_objects(bench: &mut Bench, count: usize, seed: u64) -> Vec<(Value, Vec<Cause>)> {
    let mut dice = Dice::new(seed, &format!("{}/random", bench.resource.plural));
    dice.set_minimal(false);
    let mut found = Vec::new();
    for round in 0..count {
        let Some(mut object) = bench.object(None, None, [10, 30, 50][round % 3], &mut dice) else { continue };
        for change in 0..CHANGES {
            let Err(failure) = bench.store_newer(&object) else { break };
            let cause = failure.causes[dice.any_index(failure.causes.len())].clone();
            let mover = Mover { bench, older: None, kept: None };
            mover.change(&mut object, &cause, change / 6, &mut dice);
        }
        let Ok(newer) = bench.store_newer(&object) else { continue };
        let causes = errors_or_changes(bench, &object, &bare(&newer));
        found.push((object, causes));
    }
    found.retain(|(_, causes)| !causes.is_empty());
    found
}

/// The errors of the older release for an object of a cluster, or the places that it changes.
pub(crate) fn answers_of_older(bench: &mut Bench, object: &Value) -> Vec<Cause> {
    let mut copy = bare(object);
    bench.move_to_namespace(&mut copy);
    errors_or_changes(bench, &copy, &copy)
}

/// The errors of the older release for an object, or the places at which it differs from `expected` then.
fn errors_or_changes(bench: &mut Bench, object: &Value, expected: &Value) -> Vec<Cause> {
    let older = match bench.store_older(object) {
        Err(failure) => return failure.causes,
        Ok(older) => older,
    };
    let mut places = Vec::new();
    differences(expected, &bare(&older), &Place::default(), &mut places);
    let message = "the value changes".to_owned();
    places.into_iter().map(|place| Cause { place, reason: String::new(), message: message.clone() }).collect()
}

/// The places at which two values differ.
fn differences(one: &Value, two: &Value, place: &Place, found: &mut Vec<Place>) {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let mut names: Vec<&String> = one.keys().chain(two.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let place = place.field(name);
                match (one.get(name), two.get(name)) {
                    (Some(one), Some(two)) => differences(one, two, &place, found),
                    _ => found.push(place),
                }
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                let mut place = place.clone();
                place.0.push(Spot::Index(index));
                differences(one, two, &place, found);
            }
        }
        (one, two) if one == two => {}
        _ => found.push(place.clone()),
    }
}
