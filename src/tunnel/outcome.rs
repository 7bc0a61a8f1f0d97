//! The outcome of a run with programs.

use jiff::SignedDuration;
use kube::Resource;
use serde::de::DeserializeOwned;
use windtunnel_core::{Key, View};

use crate::engine::{Failure, Outcome};
use crate::plan::Plan;
use crate::record::Record;
use crate::report::timeline;

/// The outcome of a run: whether it passed, its record, and the objects of the cluster at its end.
#[derive(Debug, Clone)]
pub struct TunnelOutcome {
    failure: Option<String>,
    record: Record,
    objects: View,
    virtual_time: SignedDuration,
}

impl TunnelOutcome {
    pub(super) fn new(plan: &Plan, seed: u64, outcome: Outcome, objects: View) -> Self {
        let Outcome { record, failure, virtual_time, .. } = outcome;
        let failure = failure.map(|failure| failure_text(plan, seed, &failure));
        Self { failure, record, objects, virtual_time }
    }

    /// Whether all steps passed and all programs ran to the end.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// The failed step with its place, the reason and the seed; `None` if the run passed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Panics with the failure and the timeline if the run failed.
    #[track_caller]
    pub fn assert_passed(&self) {
        if let Some(failure) = &self.failure {
            panic!("{failure}\n\n{}", self.timeline());
        }
    }

    /// The record of the run: every write with its answer, in order.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The timeline of the run, as `windtunnel run --timeline` prints it.
    pub fn timeline(&self) -> String {
        timeline::render(&self.record, 0)
    }

    /// The cluster time that the run covered.
    pub fn virtual_time(&self) -> SignedDuration {
        self.virtual_time
    }

    /// An object at the end of the run; `namespace` is empty for cluster-scoped kinds. `None` if there is no such object, or
    /// if it is not of the type `K`.
    pub fn get<K: Resource<DynamicType = ()> + DeserializeOwned>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<K> {
        self.get_with(&(), namespace, name)
    }

    /// As [`TunnelOutcome::get`], for kinds that are known at run time, such as that of a `DynamicObject`.
    pub fn get_with<K: Resource + DeserializeOwned>(
        &self,
        kind: &K::DynamicType,
        namespace: &str,
        name: &str,
    ) -> Option<K> {
        let key = Key {
            group: K::group(kind).into_owned().into(),
            plural: K::plural(kind).into_owned().into(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        serde_json::from_value(self.objects.get_key(&key)?.to_value()).ok()
    }

    /// All objects of a kind at the end of the run, in order of namespace and name.
    pub fn list<K: Resource<DynamicType = ()> + DeserializeOwned>(&self) -> Vec<K> {
        let (group, plural) = (K::group(&()), K::plural(&()));
        let of_kind = self.objects.objects().filter(|(key, _)| key.group == group && key.plural == plural);
        of_kind.filter_map(|(_, object)| serde_json::from_value(object.to_value()).ok()).collect()
    }
}

fn failure_text(plan: &Plan, seed: u64, failure: &Failure) -> String {
    let Failure { line, column, step, error } = failure;
    format!("{}:{line}:{column}: {step}: {error}\n(scenario `{}`, seed {seed})", plan.file, plan.name)
}
