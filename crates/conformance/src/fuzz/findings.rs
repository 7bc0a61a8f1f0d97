//! The differences that were found, by cause.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Compared;
use crate::areas::Area;
use crate::compare::Class;

/// All cases with one cause.
#[derive(Debug)]
pub struct Finding {
    /// How bad it is.
    pub class: Class,
    /// The number of answers that differ.
    pub count: u64,
    /// The area of the first case.
    pub area: Area,
    /// The number of the first case.
    pub number: u64,
    /// The smallest case.
    pub case: Value,
    /// The pointer of the step that differs.
    pub at: String,
    /// The answer that is right.
    pub right: Value,
    /// The other answer.
    pub checked: Value,
    /// Whether the difference came again when the case was repeated.
    pub stable: bool,
}

/// The result of a run.
#[derive(Debug)]
pub struct Findings {
    /// By cause.
    pub causes: BTreeMap<String, Finding>,
    /// The number of cases.
    pub cases: u64,
    /// The number of compared answers.
    pub requests: u64,
    /// The number of answers that accepted the request.
    pub accepted: u64,
    /// The number of answers in which each class was the worst.
    pub classes: BTreeMap<Class, u64>,
    /// Cases without a difference, with the answers.
    pub agreed: Vec<(Area, Value)>,
    sample: usize,
}

impl Findings {
    pub(super) fn new(sample: usize) -> Self {
        Self {
            causes: BTreeMap::new(),
            cases: 0,
            requests: 0,
            accepted: 0,
            classes: BTreeMap::new(),
            agreed: Vec::new(),
            sample,
        }
    }

    /// Adds the answers to a case. Returns the causes that no earlier case had.
    pub(super) fn add(&mut self, area: Area, number: u64, case: &Value, answers: &[Compared]) -> Vec<String> {
        let mut new = Vec::new();
        self.cases += 1;
        self.requests += answers.len() as u64;
        let success = |answer: &&Compared| answer.right["status"].as_u64().is_some_and(|code| code < 400);
        self.accepted += answers.iter().filter(success).count() as u64;
        for answer in answers {
            if let Some(worst) = answer.differences.iter().map(|difference| difference.class).min() {
                *self.classes.entry(worst).or_default() += 1;
            }
            for difference in &answer.differences {
                let finding = self.causes.entry(difference.cause.clone()).or_insert_with(|| {
                    new.push(difference.cause.clone());
                    Finding {
                        class: difference.class,
                        count: 0,
                        area,
                        number,
                        case: case.clone(),
                        at: answer.at.clone(),
                        right: answer.right.clone(),
                        checked: answer.checked.clone(),
                        stable: true,
                    }
                });
                finding.count += 1;
            }
        }
        if self.agreed.len() < self.sample {
            let agreed = super::recorded::agreed(case, answers);
            self.agreed.extend(agreed.into_iter().map(|case| (area, case)));
        }
        new
    }

    /// The findings, worst and most frequent first.
    pub fn sorted(&self) -> Vec<(&String, &Finding)> {
        let mut sorted: Vec<_> = self.causes.iter().collect();
        sorted.sort_by_key(|(cause, finding)| {
            (finding.class, std::cmp::Reverse(finding.count), (*cause).clone())
        });
        sorted
    }

    /// The areas of all findings and agreeing cases.
    pub fn areas(&self) -> BTreeSet<Area> {
        let found = self.causes.values().map(|finding| finding.area);
        found.chain(self.agreed.iter().map(|(area, _)| *area)).collect()
    }
}
