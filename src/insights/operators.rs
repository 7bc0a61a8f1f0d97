//! What decides about the insights of cluster operators, and which of them are out of date.
//!
//! An operator that changes costs the work of one operator. All are looked at again when the release changes that they are on
//! their way to.

use std::collections::BTreeSet;

use kube::runtime::watcher::Event;

use super::assess::cluster_operator::{self, MACHINE_CONFIG, Operator};
use super::cache::{Cache, Change};
use super::informer::Informer;
use super::uid;
use crate::base::clock::Time;
use crate::base::yaml::YamlError;
use crate::model::insight::{Detail, Insight};

/// What operators are on their way to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Goal<'a> {
    /// The version; `None` without a ClusterVersion.
    pub(super) version: Option<&'a str>,
    /// The image of the machine-config operator's Deployment, if that is known.
    pub(super) image: Option<&'a str>,
}

/// Cluster operators, and what else their insights depend on.
#[derive(Debug)]
pub(super) struct Operators {
    known: Cache<Operator>,
    /// The version and the image of the goal that they were last assessed with.
    goal: (Option<String>, Option<String>),
    /// Operators to look at again.
    stale: BTreeSet<String>,
    /// Whether that is all of them.
    all_stale: bool,
}

impl Default for Operators {
    fn default() -> Self {
        Self { known: Cache::default(), goal: (None, None), stale: BTreeSet::new(), all_stale: true }
    }
}

impl Operators {
    /// Takes in what the watch of ClusterOperators tells. Whether anything is another now.
    pub(super) fn take(&mut self, event: Event<(String, Operator)>) -> bool {
        match self.known.take(event) {
            Change::Nothing => return false,
            Change::One(name) => drop(self.stale.insert(name)),
            Change::Any => self.all_stale = true,
        }
        true
    }

    /// Whether all are known, so that what is not there is not there.
    pub(super) fn is_synced(&self) -> bool {
        self.known.is_synced()
    }

    /// Whatever ClusterOperators there are.
    pub(super) fn all(&self) -> impl Iterator<Item = &Operator> {
        self.known.objects().values()
    }

    /// Those that came with a release payload.
    pub(super) fn of_payload(&self) -> impl Iterator<Item = &Operator> {
        self.all().filter(|operator| operator.is_of_payload)
    }

    /// Tells `informer` what became of the operators that are out of date.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML.
    pub(super) fn assess(
        &mut self,
        informer: &mut Informer,
        goal: Goal<'_>,
        now: Time,
    ) -> Result<(), YamlError> {
        let stale = std::mem::take(&mut self.stale);
        let before = Goal { version: self.goal.0.as_deref(), image: self.goal.1.as_deref() };
        if std::mem::take(&mut self.all_stale) || before != goal {
            self.goal = (goal.version.map(str::to_owned), goal.image.map(str::to_owned));
            let all = self.all().filter_map(|operator| insight(operator, goal, now));
            let is_its_own = |detail: &Detail| matches!(detail, Detail::ClusterOperator(_));
            return informer.replace_those(is_its_own, all, now);
        }
        let mut outcome = Ok(());
        for name in stale {
            match self.known.get(&name).and_then(|operator| insight(operator, goal, now)) {
                Some(insight) => outcome = outcome.and(informer.put(insight)),
                None => informer.remove(&uid::of_object("co", &name)),
            }
        }
        outcome
    }
}

/// The insight on an operator of the payload. That on the machine-config operator needs to know its image.
fn insight(operator: &Operator, goal: Goal<'_>, now: Time) -> Option<Insight> {
    if !operator.is_of_payload {
        return None;
    }
    let image = if operator.name == MACHINE_CONFIG { goal.image? } else { "" };
    let status = cluster_operator::assess(operator, goal.version?, image, now);
    let uid = uid::of_object("co", &operator.name);
    Some(Insight { uid, acquired_at: now, detail: Detail::ClusterOperator(status) })
}
