//! The list of what a draft leaves out, for the user: one line for each kind, with the number, examples and the reason.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::text::one_line;

/// The number of examples in a line.
const EXAMPLES: usize = 3;

/// The omissions of a draft: kinds of things, each with the reason.
#[derive(Debug, Default)]
pub(super) struct Lost(BTreeMap<(String, String), BTreeSet<String>>);

impl Lost {
    /// Adds a thing of a kind.
    pub(super) fn add(&mut self, kind: &str, reason: &str, thing: &str) {
        self.0.entry((kind.to_owned(), reason.to_owned())).or_default().insert(one_line(thing).into_owned());
    }

    /// Returns a line for each kind.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |((kind, reason), things): (&(String, String), &BTreeSet<String>)| {
            let examples: Vec<&str> = things.iter().take(EXAMPLES).map(String::as_str).collect();
            let more = if things.len() > EXAMPLES { ", ..." } else { "" };
            format!("{kind} ({}: {}{more}): {reason}", things.len(), examples.join(", "))
        };
        self.0.iter().map(line).collect()
    }
}
