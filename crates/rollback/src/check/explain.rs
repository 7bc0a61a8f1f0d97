//! Which candidate explains an error.

use crate::diff::{Candidate, Difference};
use crate::schema::{Path, Step};

/// The path at which a candidate has its effect.
pub(super) fn effect(candidate: &Candidate) -> Path {
    match &candidate.difference {
        Difference::Required(field) => candidate.path.field(field),
        _ => candidate.path.clone(),
    }
}

/// Whether a candidate can cause an error or a change at a path: one at this path, above it or below it.
pub(super) fn explains(candidate: &Candidate, path: &Path) -> bool {
    let own: Vec<Step> = effect(candidate).steps().to_vec();
    let is_change = matches!(
        candidate.difference,
        Difference::Pruned
            | Difference::Default { .. }
            | Difference::Version { .. }
            | Difference::Subresource(_)
    );
    path.steps().starts_with(&own) || own.starts_with(path.steps()) && !is_change
}
