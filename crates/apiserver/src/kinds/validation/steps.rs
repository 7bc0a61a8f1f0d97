//! Counts how often validation looks at the text or the elements of a value.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a step of this thread.
pub(super) fn step() {
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The number of steps of this thread so far.
pub(in crate::kinds) fn count() -> u64 {
    STEPS.with(Cell::get)
}
