//! Marks: names of interesting branches, which a component reports when it takes them.
//!
//! A search for unusual runs counts them like any other state that it sees. They are not part of the record. Nothing but the
//! owner of a component can take them, so that no component depends on them.

use std::cell::RefCell;

thread_local! {
    static REACHED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// The name of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(&'static str);

impl Mark {
    /// Names a branch.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Reports that a component takes this branch now.
    pub fn reach(self) {
        REACHED.with_borrow_mut(|reached| {
            if !reached.contains(&self.0) {
                reached.push(self.0);
            }
        });
    }

    /// Reports it if `is_reached`. Returns `is_reached`, for use in conditions.
    pub fn reach_if(self, is_reached: bool) -> bool {
        if is_reached {
            self.reach();
        }
        is_reached
    }
}

/// Takes the names of the marks that this thread has reached since the last call.
pub fn take_reached() -> Vec<&'static str> {
    REACHED.take()
}

/// Defines marks, and `ALL` with all of them.
#[macro_export]
macro_rules! marks {
    ($($name:ident = $text:literal;)*) => {
        $(#[doc = $text] pub const $name: $crate::mark::Mark = $crate::mark::Mark::new($text);)*

        /// All marks of this module.
        pub const ALL: &[$crate::mark::Mark] = &[$($name),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Mark = Mark::new("one");
    const OTHER: Mark = Mark::new("other");

    #[test]
    fn marks_are_taken_once() {
        ONE.reach();
        ONE.reach();
        assert!(!OTHER.reach_if(false) && OTHER.reach_if(true));
        assert_eq!(take_reached(), ["one", "other"]);
        assert!(take_reached().is_empty());
    }
}
