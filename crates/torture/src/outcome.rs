//! The result of an area: how much was done, and what broke.

use crate::area::Area;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An acknowledged write is gone or changed, or a revision went back.
    Lost,
    /// A process panicked or crashed.
    Panic,
    /// Memory or descriptors grew beyond the limit.
    Growth,
    /// Something did not end in time.
    Hang,
    /// A wrong answer or exit code.
    Wrong,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Lost, Self::Panic, Self::Growth, Self::Hang, Self::Wrong];

    /// The heading of its column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Panic => "panics",
            Self::Growth => "growth",
            Self::Hang => "hangs",
            Self::Wrong => "wrong",
        }
    }
}

/// Something that broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of damage.
    pub kind: Kind,
    /// A line for people: what broke, and the file with the evidence.
    pub text: String,
}

/// The result of an area.
#[derive(Debug, Clone)]
pub struct Outcome {
    area: Area,
    done: Vec<(u64, String)>,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

impl Outcome {
    /// An area that did nothing yet.
    pub fn new(area: Area) -> Self {
        Self { area, done: Vec::new(), findings: Vec::new(), notes: Vec::new() }
    }

    /// The area.
    pub fn area(&self) -> Area {
        self.area
    }

    /// Adds to the number of things that were done, such as `kills`.
    pub fn count(&mut self, number: u64, what: &str) {
        match self.done.iter_mut().find(|(_, known)| known == what) {
            Some((sum, _)) => *sum += number,
            None => self.done.push((number, what.to_owned())),
        }
    }

    /// Adds damage.
    pub fn add(&mut self, kind: Kind, text: impl Into<String>) {
        self.findings.push(Finding { kind, text: text.into() });
    }

    /// Adds a remark, such as a part that this machine cannot run.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Numbers of things that were done, with their names.
    pub fn done(&self) -> &[(u64, String)] {
        &self.done
    }

    /// All damage.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// All remarks.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of findings of a kind.
    pub fn number(&self, kind: Kind) -> usize {
        self.findings.iter().filter(|finding| finding.kind == kind).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_are_summed_and_findings_are_counted_by_kind() {
        let mut outcome = Outcome::new(Area::Kills);
        outcome.count(1, "kills");
        outcome.count(7, "writes");
        outcome.count(2, "kills");
        outcome.add(Kind::Lost, "a");
        assert_eq!(outcome.done(), [(3, "kills".to_owned()), (7, "writes".to_owned())]);
        assert_eq!(Kind::ALL.map(|kind| outcome.number(kind)), [1, 0, 0, 0, 0]);
    }
}
