//! The check of one definition that both releases have.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Check, RejectedDefinition, cluster, random, trap};
use crate::diff::{self, Candidate, Difference};
use crate::release::{Definition, Version};
use crate::servers::Side;
use crate::trap::{Harm, Proof, Trap, Witness};
use crate::trial::{Trial, Verdict, replace_definition};
use crate::witness::{Bench, Found, Miss, search, search_change};

/// A definition that both releases have, and a server of each.
pub(super) struct Subject<'c> {
    check: &'c Check,
    newer: &'c Definition,
    older: &'c Definition,
    newer_side: Side,
    older_side: Side,
}

impl<'c> Subject<'c> {
    /// Creates both definitions on servers.
    pub(super) fn new(
        check: &'c Check,
        newer: &'c Definition,
        older: &'c Definition,
    ) -> Result<Self, RejectedDefinition> {
        let rejected = |is_newer: bool, message: String| RejectedDefinition {
            is_newer,
            definition: newer.name().to_owned(),
            message,
        };
        let newer_side = check.servers.newer_with(newer, check.now);
        let older_side = check.servers.older_with(older, check.now);
        Ok(Self {
            check,
            newer,
            older,
            newer_side: newer_side.map_err(|rejection| rejected(true, rejection.message))?,
            older_side: older_side.map_err(|rejection| rejected(false, rejection.message))?,
        })
    }

    /// All traps.
    pub(super) fn check(&self) -> Vec<Trap> {
        let mut traps = Vec::new();
        let mut by_version: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
        for candidate in diff::compare(self.newer, self.older) {
            match &candidate.difference {
                difference if difference.is_note() => {
                    traps.push(trap(self.newer, &candidate, Harm::Note, Proof::Note));
                }
                Difference::Immutable { .. } | Difference::Version { is_stored: true } => {
                    traps.extend(self.replacement(&candidate));
                }
                _ => by_version.entry(candidate.version.clone()).or_default().push(candidate),
            }
        }
        for (version, candidates) in by_version {
            if let Some(now) = self.newer.version(&version) {
                traps.extend(self.version(now, self.older.version(&version).unwrap_or(now), &candidates));
            }
        }
        traps
    }

    /// The trap of a definition that cannot be replaced.
    fn replacement(&self, candidate: &Candidate) -> Option<Trap> {
        let minor = self.check.options.kubernetes;
        let try_at = |minor: u32| {
            let mut side = self.newer_side.clone();
            side.set_minor(minor);
            replace_definition(&mut side, self.older)
        };
        let (exchange, rejection) = try_at(minor);
        rejection?;
        let witness = Witness {
            object: self.newer.object().clone(),
            place: "spec".to_owned(),
            read: None,
            others: Vec::new(),
            exchanges: vec![exchange],
            after: None,
        };
        let harm = |minor: u32| if try_at(minor).1.is_some() { Harm::Definition } else { Harm::Note };
        let by_minor = self.check.options.others.clone().map(|minor| (minor, harm(minor))).collect();
        let proof = Proof::Proved(Box::new(witness));
        Some(Trap { by_minor, ..trap(self.newer, candidate, Harm::Definition, proof) })
    }

    /// The traps in the schemas of a version.
    fn version(&self, now: &Version, before: &Version, candidates: &[Candidate]) -> Vec<Trap> {
        let resource = self.newer.resource_in(&now.name);
        let mut bench =
            Bench::new((self.newer_side.clone(), now), (self.older_side.clone(), before), resource.clone());
        let judge = Trial {
            newer: &self.newer_side,
            older_definition: self.older,
            version: before,
            newer_has_status: now.has_status,
            resource,
        };
        let mut traps: Vec<Trap> =
            candidates.iter().map(|candidate| self.candidate(&mut bench, &judge, candidate)).collect();
        cluster::add_hits(&mut bench, candidates, &mut traps, &self.check.objects);
        for candidate in random::unknown(&mut bench, candidates, &self.check.options) {
            traps.push(self.judged(&judge, &candidate.0, candidate.1, None));
        }
        traps
    }

    /// The trap of a candidate.
    fn candidate(&self, bench: &mut Bench, judge: &Trial<'_>, candidate: &Candidate) -> Trap {
        let seed = self.check.options.seed;
        let result = match candidate.difference {
            Difference::Transition(_) => {
                search_change(bench, candidate, seed).map(|(found, after)| (found, Some(after)))
            }
            _ => search(bench, candidate, seed).map(|found| (found, None)),
        };
        match result {
            Ok((found, after)) => self.judged(judge, candidate, found, after),
            Err(Miss::Unproved(reason)) => trap(self.newer, candidate, Harm::Note, Proof::Unproved(reason)),
            Err(Miss::Reworded(count)) => trap(self.newer, candidate, Harm::Note, Proof::Reworded(count)),
        }
    }

    /// The trap of a witness; `after` is its state after a change that the older release rejects.
    fn judged(&self, judge: &Trial<'_>, candidate: &Candidate, found: Found, after: Option<Value>) -> Trap {
        let minor = self.check.options.kubernetes;
        let mut prepared = match judge.prepare(&found.object, &found.place, minor) {
            Ok(prepared) => prepared,
            Err(reason) => return trap(self.newer, candidate, Harm::Note, Proof::Unproved(reason)),
        };
        let judge_at = |minor: u32| -> Verdict {
            let (mut side, stored) = (prepared.side.clone(), &prepared.stored);
            side.set_minor(minor);
            match (&candidate.difference, &after) {
                (Difference::Subresource(name), _) => judge.try_subresource(&side, stored, name),
                (_, Some(after)) => {
                    let is_status = candidate.path.section() == "status" && judge.newer_has_status;
                    judge.try_change(&side, stored, after, &found.place, is_status)
                }
                _ => judge.try_all(&side, &prepared, &found.object, &found.place),
            }
        };
        let verdict = judge_at(minor);
        let others = self.check.options.others.clone();
        let by_minor = others.map(|other| (other, Harm::of(judge_at(other).outcome))).collect();
        let harm = Harm::of(verdict.outcome);
        let mut exchanges = std::mem::take(&mut prepared.exchanges);
        exchanges.extend(verdict.exchanges);
        let witness = Witness {
            place: found.place.to_string(),
            read: verdict.read,
            exchanges,
            others: found.others.iter().map(|cause| format!("{}: {}", cause.place, cause.message)).collect(),
            object: found.object,
            after,
        };
        Trap { by_minor, ..trap(self.newer, candidate, harm, Proof::Proved(Box::new(witness))) }
    }
}
