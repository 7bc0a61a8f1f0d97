//! Changed copies of a case.

use crate::explore::case::Case;

/// Adds a copy of a case with a change.
pub(super) fn push(case: &Case, found: &mut Vec<Case>, change: impl FnOnce(&mut Case)) {
    let mut changed = case.clone();
    change(&mut changed);
    found.push(changed);
}
