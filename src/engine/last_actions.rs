//! The last actions of a scenario, for expectations that no action made true.

/// The last actions that followed each other without a step that waits or expects between them.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct LastActions {
    /// The number of entries in the record before the first of them; `None` before any action.
    since: Option<usize>,
    /// Whether the next action belongs to them.
    continues: bool,
    /// Whether the expectation of the current step has held since before them.
    pub(in crate::engine) held_before: bool,
    /// Whether such an expectation fails.
    pub(in crate::engine) is_strict: bool,
}

impl LastActions {
    /// The number of entries in the record before the last actions, if there were any.
    pub(in crate::engine) fn since(&self) -> Option<usize> {
        self.since
    }

    /// Adds an action, before which the record had this many entries.
    pub(in crate::engine) fn add(&mut self, entries: usize) {
        if !self.continues {
            self.since = Some(entries);
        }
        self.continues = true;
    }

    /// Ends the group: a step waits or expects something.
    pub(in crate::engine) fn end(&mut self) {
        self.continues = false;
    }

    /// Forgets the actions: steps are retried, and the record will lack some of what they do.
    pub(in crate::engine) fn forget(&mut self) {
        (self.since, self.continues) = (None, false);
    }
}
