//! Observers follow a run and change nothing in its cluster.

use windtunnel_core::clock::Time;
use windtunnel_core::{Change, View};

use crate::record::WriteEvent;

/// Follows a run. It changes nothing in the cluster.
pub(in crate::engine) trait Observer {
    /// Looks at a change of the cluster at `now`, which `view` contains already.
    fn on_change(&mut self, _change: &Change, _view: &View, _now: Time) {}

    /// Looks at a write of a component or the administrator, before it is recorded.
    fn on_write(&mut self, _write: &WriteEvent, _at: Time) {}
}
