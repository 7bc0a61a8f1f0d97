//! Groups of moments that follow each other and have the same outcome.

use crate::engine::sweep::{Branch, Verdict};

/// Moments that follow each other and have the same outcome; never empty.
pub(super) struct Group<'a> {
    pub(super) branches: &'a [Branch],
}

impl<'a> Group<'a> {
    /// Splits the branches of a sweep, which are in the order of time.
    pub(super) fn all(branches: &'a [Branch]) -> Vec<Self> {
        let same = |one: &Branch, other: &Branch| outcome(&one.verdict) == outcome(&other.verdict);
        branches.chunk_by(same).map(|branches| Self { branches }).collect()
    }

    pub(super) fn first(&self) -> &'a Branch {
        &self.branches[0]
    }

    pub(super) fn last(&self) -> &'a Branch {
        &self.branches[self.branches.len() - 1]
    }

    pub(super) fn verdict(&self) -> &'a Verdict {
        &self.first().verdict
    }
}

/// The outcome in a word, and the details that distinguish it from others with the same word.
fn outcome(verdict: &Verdict) -> (&'static str, Vec<String>) {
    let details = match verdict {
        Verdict::Safe | Verdict::LeftOver => Vec::new(),
        Verdict::Trapped(rejected) => rejected.iter().map(|rejected| rejected.write.clone()).collect(),
        Verdict::Stuck(waiting) => waiting.iter().map(|waiting| actor(waiting).to_owned()).collect(),
        Verdict::Failed(why) => vec![why.clone()],
    };
    (word(verdict), details)
}

/// The name of the waiting component.
pub(super) fn actor(waiting: &str) -> &str {
    waiting.split_once(": ").map_or(waiting, |(actor, _)| actor)
}

/// The outcome in a word.
pub(in crate::cli) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Safe => "safe",
        Verdict::LeftOver => "left over",
        Verdict::Trapped(_) => "trapped",
        Verdict::Stuck(_) => "stuck",
        Verdict::Failed(_) => "failed",
    }
}
