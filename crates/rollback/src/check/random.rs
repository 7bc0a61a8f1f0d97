//! Random objects, which find differences that the comparison does not know.

use std::collections::BTreeSet;

use super::Options;
use super::explain::explains;
use crate::diff::{Candidate, Difference};
use crate::witness::{Bench, Found, random_objects};

/// Objects that the older release rejects or changes at a place that no candidate explains, one for each place.
pub(super) fn unknown(
    bench: &mut Bench,
    candidates: &[Candidate],
    options: &Options,
) -> Vec<(Candidate, Found)> {
    let Some(version) = candidates.first().map(|candidate| candidate.version.clone()) else {
        return Vec::new();
    };
    let mut found: Vec<(Candidate, Found)> = Vec::new();
    let mut known = BTreeSet::new();
    for (object, causes) in random_objects(bench, options.random_objects, options.seed) {
        for cause in causes {
            let path = bench.path(&cause.place);
            let is_explained = candidates.iter().any(|candidate| explains(candidate, &path));
            if is_explained || !known.insert(path.clone()) {
                continue;
            }
            let difference = Difference::Unexplained(cause.message.clone());
            let candidate = Candidate { version: version.clone(), path, difference };
            found.push((candidate, Found { object: object.clone(), place: cause.place, others: Vec::new() }));
        }
    }
    found
}
