//! The metrics of one operator process: manifests of the current pass, and failed attempts, by version.

use std::collections::BTreeMap;

use semver::Version;
use windtunnel_controllers::counter::Counter;

use crate::cvo::NAME;
use crate::cvo::sync::apply::ApplyLoop;
use crate::monitoring::{PAYLOAD, PAYLOAD_ERRORS};

/// The counters of one process.
#[derive(Debug, Clone, Default)]
pub(in crate::cvo) struct OperatorCounters {
    /// Failed attempts to apply a manifest, by version.
    failed: BTreeMap<Version, u64>,
    /// The last reported version, number of done manifests, and number of all manifests.
    last_reported: Option<(Version, u32, u32)>,
}

impl OperatorCounters {
    /// The counters that changed since the last call. Counters of earlier versions keep their values.
    pub(in crate::cvo) fn take(&mut self, apply: &mut ApplyLoop) -> Vec<Counter> {
        let (version, done, total) = (&apply.work.release.version, apply.pass_done, apply.progress.total);
        let mut counters = Vec::new();
        if self.last_reported.as_ref().is_none_or(|(v, d, t)| (v, *d, *t) != (version, done, total)) {
            self.last_reported = Some((version.clone(), done, total));
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
