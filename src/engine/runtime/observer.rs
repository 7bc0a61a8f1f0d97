//! An observer of a run, which gets the cluster whenever it has settled.

use windtunnel_core::clock::Time;

/// Looks at a settled cluster. Returns the moment at which it wants to look again even if nothing happens.
type Look<Cluster> = dyn FnMut(&Cluster) -> Option<Time> + Send;

/// An observer of a run. It changes nothing in the cluster.
pub(in crate::engine) struct Observer<Cluster> {
    look: Box<Look<Cluster>>,
    next: Option<Time>,
}

impl<Cluster> Observer<Cluster> {
    /// Creates an observer that looks at the settled cluster after each event.
    pub(in crate::engine) fn new(look: Box<Look<Cluster>>) -> Self {
        Self { look, next: None }
    }

    /// Looks at the settled cluster.
    pub(super) fn look_at(&mut self, cluster: &Cluster) {
        self.next = (self.look)(cluster);
    }

    /// When to look even if nothing happens.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }
}
