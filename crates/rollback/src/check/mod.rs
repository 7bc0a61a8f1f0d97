//! The whole check: from two releases to a report, definition by definition.

mod built_in;
mod cluster;
mod explain;
mod random;
mod subject;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;
use windtunnel_core::clock::Time;

use crate::diff::{self, Candidate};
use crate::release::{Definition, Release};
use crate::servers::Servers;
use crate::trap::{Harm, Proof, Trap, writer};

use subject::Subject;

/// The Kubernetes minors that can judge.
pub const MINORS: RangeInclusive<u32> = 25..=36;

/// The settings of a check.
#[derive(Debug, Clone)]
pub struct Options {
    /// The x of the Kubernetes 1.x that judges.
    pub kubernetes: u32,
    /// The minors whose harm is computed besides.
    pub others: RangeInclusive<u32>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of random objects for each kind that are tried besides the candidates of the comparison.
    pub random_objects: usize,
    /// Whether 1.31 and 1.32 ratchet status writes, as OpenShift's do.
    pub backports: bool,
}

impl Options {
    /// The settings for a minor that judges: seed 1, all later minors, 40 random objects, with OpenShift's backports.
    pub fn judged_by(kubernetes: u32) -> Self {
        Self { kubernetes, others: kubernetes..=*MINORS.end(), seed: 1, random_objects: 40, backports: true }
    }
}

/// A check of a rollback from a newer release to an older one.
#[derive(Debug)]
pub struct Check {
    newer: Release,
    older: Release,
    options: Options,
    servers: Servers,
    now: Time,
    objects: Vec<Value>,
}

/// The traps of one definition.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The traps, in the order of the comparison.
    pub traps: Vec<Trap>,
    /// Errors of definitions that no server accepts.
    pub rejected_definitions: Vec<RejectedDefinition>,
}

/// A definition that no server accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedDefinition {
    /// Whether it is that of the newer release.
    pub is_newer: bool,
    /// The name of the definition.
    pub definition: String,
    /// The message of the server.
    pub message: String,
}

impl Check {
    /// Prepares a check.
    pub fn new(newer: Release, older: Release, options: Options) -> Self {
        let now: Time = "2024-01-01T00:00:00Z".parse().expect("a valid time");
        let servers = Servers::new(newer.kubernetes(), options.kubernetes, options.backports, now);
        Self { newer, older, options, servers, now, objects: Vec::new() }
    }

    /// The same check, with the objects of a cluster of the newer release: each trap lists those that meet it.
    #[must_use]
    pub fn with_objects(self, objects: Vec<Value>) -> Self {
        Self { objects, ..self }
    }

    /// The release before the rollback.
    pub fn newer(&self) -> &Release {
        &self.newer
    }

    /// The release after the rollback.
    pub fn older(&self) -> &Release {
        &self.older
    }

    /// The settings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The names of the definitions to check: those of the newer release.
    pub fn names(&self) -> Vec<&str> {
        self.newer.definitions().map(Definition::name).collect()
    }

    /// Checks one definition. Definitions are independent of each other, so callers may use several threads.
    pub fn definition(&self, name: &str) -> Findings {
        let Some(newer) = self.newer.definition(name) else { return Findings::default() };
        let Some(older) = self.older.definition(name) else {
            let trap = trap(newer, &diff::new_kind(newer), Harm::Note, Proof::Note);
            return Findings { traps: vec![trap], rejected_definitions: Vec::new() };
        };
        if newer.object()["spec"] == older.object()["spec"] {
            return Findings::default();
        }
        match Subject::new(self, newer, older) {
            Ok(subject) => Findings { traps: subject.check(), rejected_definitions: Vec::new() },
            Err(rejected) => Findings { traps: Vec::new(), rejected_definitions: vec![rejected] },
        }
    }
}

/// A trap of a candidate.
fn trap(definition: &Definition, candidate: &Candidate, harm: Harm, proof: Proof) -> Trap {
    Trap {
        definition: definition.name().to_owned(),
        kind: definition.resource().kind.to_string(),
        version: candidate.version.clone(),
        path: candidate.path.to_string(),
        difference: candidate.difference.id(),
        detail: candidate.difference.to_string(),
        harm,
        writer: writer(definition.name(), &candidate.path),
        proof,
        by_minor: BTreeMap::new(),
        hits: Vec::new(),
    }
}
