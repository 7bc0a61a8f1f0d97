//! Processes that crash at one of their writes.

use windtunnel_core::Write;
use windtunnel_core::requests::faults::{Hits, RequestAttributes, RequestFilter};

/// A planned crash: the process, and the writes at which it crashes.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Crash {
    pub(in crate::engine) process: String,
    pub(in crate::engine) writes: RequestFilter,
    pub(in crate::engine) moment: CrashMoment,
    pub(in crate::engine) hits: Hits,
}

/// When a process crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum CrashMoment {
    /// Before it sends the write.
    Before,
    /// After the write, before it sees the answer.
    After,
}

/// The planned crashes.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Crashes(Vec<Crash>);

impl Crashes {
    /// Plans a crash.
    pub(in crate::engine) fn add(&mut self, crash: Crash) {
        self.0.push(crash);
    }

    /// Drops all planned crashes of a process.
    pub(in crate::engine) fn forget(&mut self, process: &str) {
        self.0.retain(|crash| crash.process != process);
    }

    /// Drops the planned crashes of a process at these writes.
    pub(in crate::engine) fn forget_at(&mut self, process: &str, writes: &RequestFilter) {
        self.0.retain(|crash| crash.process != process || crash.writes != *writes);
    }

    /// Decides whether the process `by` crashes at this write.
    pub(in crate::engine) fn at_write(&mut self, by: &str, write: &Write) -> Option<CrashMoment> {
        if self.0.is_empty() {
            return None;
        }
        let request = RequestAttributes {
            verb: write.verb(),
            kind: &write.resource.kind,
            name: &write.name,
            subresource: write.subresource.unwrap_or_default(),
            agent: by,
            user: "",
            program: "",
        };
        let is_meant = |crash: &&mut Crash| crash.process == by && crash.writes.matches(&request);
        let crash = self.0.iter_mut().find(is_meant)?;
        let moment = crash.hits.count_match().then_some(crash.moment);
        self.0.retain(|crash| !crash.hits.is_over());
        moment
    }
}
