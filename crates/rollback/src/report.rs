//! The report of a check: all traps, ranked.

use std::collections::BTreeSet;

use crate::check::{Check, Findings, RejectedDefinition};
use crate::trap::{Harm, Proof, Trap};

/// The direction of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a newer release to an older one.
    Rollback,
    /// From an older release to a newer one.
    Update,
}

impl Direction {
    /// The name for headings and data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rollback => "rollback",
            Self::Update => "update",
        }
    }
}

/// The result of a check in one direction.
#[derive(Debug, Clone)]
pub struct Report {
    /// The direction.
    pub direction: Direction,
    /// The release that the cluster leaves.
    pub source: String,
    /// The release to which it goes.
    pub target: String,
    /// The x of the Kubernetes 1.x that judges.
    pub kubernetes: u32,
    /// The minors with a column of their own.
    pub columns: Vec<u32>,
    /// The number of definitions that both releases have.
    pub compared: usize,
    /// The traps, the most harmful first; unproved ones last.
    pub traps: Vec<Trap>,
    /// Definitions that no server accepts.
    pub rejected_definitions: Vec<RejectedDefinition>,
    /// The number of traps that the baseline has.
    pub known: usize,
}

impl Report {
    /// Combines the findings of all definitions of a check.
    pub fn of(check: &Check, direction: Direction, findings: Vec<Findings>) -> Self {
        let both = check.names().into_iter().filter(|name| check.older().definition(name).is_some());
        let mut report = Self {
            direction,
            source: check.newer().name().to_owned(),
            target: check.older().name().to_owned(),
            kubernetes: check.options().kubernetes,
            columns: Vec::new(),
            compared: both.count(),
            traps: Vec::new(),
            rejected_definitions: Vec::new(),
            known: 0,
        };
        for found in findings {
            report.traps.extend(found.traps);
            report.rejected_definitions.extend(found.rejected_definitions);
        }
        // Traps that objects of the cluster meet come first.
        report.traps.sort_by_cached_key(|trap| {
            let place = (trap.definition.clone(), trap.version.clone(), trap.path.clone());
            (trap.is_unproved(), trap.hits.is_empty(), trap.harm, place, trap.difference)
        });
        report
    }

    /// The same report with a column for each of these minors.
    #[must_use]
    pub fn with_columns(self, columns: Vec<u32>) -> Self {
        Self { columns, ..self }
    }

    /// Removes the traps of a baseline, by [`Trap::fingerprint`].
    pub fn remove_known(&mut self, baseline: &BTreeSet<String>) {
        let before = self.traps.len();
        self.traps.retain(|trap| trap.harm == Harm::Note || !baseline.contains(&trap.fingerprint()));
        self.known = before - self.traps.len();
    }

    /// The proved traps at or above a level.
    pub fn at_level(&self, level: Harm) -> impl Iterator<Item = &Trap> {
        self.traps.iter().filter(move |trap| !trap.is_unproved() && trap.harm <= level)
    }

    /// The traps without a witness.
    pub fn unproved(&self) -> impl Iterator<Item = &Trap> {
        self.traps.iter().filter(|trap| trap.is_unproved())
    }

    /// The number of proved traps of a rank.
    pub fn count(&self, harm: Harm) -> usize {
        self.at_level(harm).filter(|trap| trap.harm == harm).count()
    }

    /// The number of restrictions that were only reworded.
    pub fn reworded(&self) -> usize {
        self.traps.iter().filter(|trap| matches!(trap.proof, Proof::Reworded(_))).count()
    }

    /// A heading, such as `Rollback from 4.14 to 4.13, judged by Kubernetes 1.26`.
    pub fn heading(&self) -> String {
        let name = match self.direction {
            Direction::Rollback => "Rollback",
            Direction::Update => "Update",
        };
        format!("{name} from {} to {}, judged by Kubernetes 1.{}", self.source, self.target, self.kubernetes)
    }

    /// The totals in one line.
    pub fn totals(&self) -> String {
        let counts: Vec<String> =
            Harm::ALL.into_iter().map(|harm| format!("{harm} {}", self.count(harm))).collect();
        let known = if self.known > 0 { format!("; in the baseline {}", self.known) } else { String::new() };
        format!(
            "{} compared: {}; unproved {}; reworded {}{known}",
            windtunnel_core::text::counted(self.compared, "definition"),
            counts.join(", "),
            self.unproved().count(),
            self.reworded()
        )
    }
}
