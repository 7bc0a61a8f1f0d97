//! The log of the update status controller, which runs as a task beside the engine.

use std::sync::Arc;

use windtunnel_core::Key;
use windtunnel_core::clock::{Clock as _, VirtualClock};
use windtunnel_core::log::{Severity, klog};
use windtunnel_update_status::controller::{Note, Observer};

use super::logs::IsRecorded;
use super::metrics::Exports;

/// The source that its lines name.
const SOURCE: &str = "updatestatuscontroller.go:281";

/// Prints what the controller does as lines of its container.
pub(super) struct InsightLog {
    pub(super) pod: Key,
    pub(super) container: String,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) exports: Arc<Exports>,
}

impl Observer for InsightLog {
    fn note(&self, note: Note<'_>) {
        let (severity, text) = match note {
            Note::NoConfigMap => {
                (Severity::Info, "USC :: Status API CM does not exist -> nothing to update".to_owned())
            }
            Note::Changed { insight, is_dropped: true } => {
                (Severity::Info, format!("USC :: Collector :: Dropped insight {insight:?}"))
            }
            Note::Changed { insight, .. } => {
                (Severity::Info, format!("USC :: Collector :: Updated insight in status API (uid={insight})"))
            }
            Note::Rejected { informer, insight, why } => (
                Severity::Warning,
                format!("USC :: Rejected insight {insight} of informer {informer:?}: {why}"),
            ),
            Note::Silent { informer } => {
                (Severity::Warning, format!("USC :: Informer {informer:?} is silent: its insights expired"))
            }
            Note::Published { to } => (Severity::Info, format!("USC :: Updated status API ({to})")),
            Note::Failed { why } => (Severity::Error, format!("USC :: Failed to publish insights: {why}")),
            Note::WatchFailed { resource, why } => {
                (Severity::Error, format!("Failed to watch {resource}: {why}"))
            }
            _ => return,
        };
        let now = self.clock.now();
        let line = klog(severity, now, SOURCE, text);
        self.exports.with_logs(|logs| logs.print(&self.pod, &self.container, &line, now, IsRecorded::Yes));
    }
}
