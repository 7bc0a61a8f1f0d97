//! What a process counts for who scrapes it: manifests of its pass, and attempts that failed, by version.

use std::collections::BTreeMap;

use semver::Version;
use windtunnel_controllers::counter::Counter;

use super::NAME;
use super::apply::ApplyLoop;
use crate::monitoring::{PAYLOAD, PAYLOAD_ERRORS};

/// The counts of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// Attempts to apply a manifest that failed, by version.
    failed: BTreeMap<Version, u64>,
    /// What is applied, with its manifests that are done and all of them, as it was told of last.
    told: Option<(Version, u32, u32)>,
}

impl Counts {
    /// What is something else since this was asked last. What was told of another version stays as it was.
    pub(super) fn take(&mut self, apply: &mut ApplyLoop) -> Vec<Counter> {
        let (version, done, total) = (&apply.work.release.version, apply.pass_done, apply.progress.total);
        let mut counters = Vec::new();
        if self.told.as_ref().is_none_or(|(of, was, all)| (of, *was, *all) != (version, done, total)) {
            self.told = Some((version.clone(), done, total));
            counters.push(counter(PAYLOAD, version, Some("applied"), done.into()));
            counters.push(counter(PAYLOAD, version, Some("pending"), total.saturating_sub(done).into()));
        }
        if apply.failed_attempts > 0 {
            let failed = self.failed.entry(version.clone()).or_default();
            *failed += std::mem::take(&mut apply.failed_attempts);
            counters.push(counter(PAYLOAD_ERRORS, version, None, *failed));
        }
        counters
    }
}

fn counter(metric: &'static str, version: &Version, kind: Option<&str>, count: u64) -> Counter {
    let mut labels = BTreeMap::from([("version".to_owned(), version.to_string())]);
    labels.extend(kind.map(|kind| ("type".to_owned(), kind.to_owned())));
    Counter { by: NAME.to_owned(), metric, labels, count }
}
