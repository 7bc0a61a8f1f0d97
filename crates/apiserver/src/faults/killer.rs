//! The end of a program at one of its writes.

use std::fmt;
use std::sync::Arc;

/// Kills a process at a write.
type Kill = dyn Fn(&str, &str) + Send + Sync;

/// Kills the process of a client. Without a function, nothing happens.
#[derive(Clone, Default)]
pub(crate) struct Killer(Option<Arc<Kill>>);

impl Killer {
    /// Calls `kill` with the process and its write.
    pub(crate) fn new(kill: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(kill)))
    }

    /// Kills a process at a write.
    pub(super) fn kill(&self, process: &str, write: &str) {
        if let Some(kill) = &self.0 {
            kill(process, write);
        }
    }
}

impl fmt::Debug for Killer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Killer").field(&self.0.is_some()).finish()
    }
}
