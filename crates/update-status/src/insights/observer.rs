//! What the controller tells of itself, for those who measure and log it.

/// One thing that the controller did or met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// A watch that failed works again.
    WatchRecovered {
        /// The plural of the resource.
        resource: &'a str,
    },
    /// A watch lists all its objects again.
    WatchRestarted {
        /// The plural of the resource.
        resource: &'a str,
    },
    /// A watch failed; it goes on after a pause.
    WatchFailed {
        /// The plural of the resource.
        resource: &'a str,
        /// Why.
        why: &'a str,
    },
    /// How many insights of a type an informer knows.
    Known {
        /// The informer.
        informer: &'a str,
        /// The type.
        kind: &'a str,
        /// How many; may be none.
        count: usize,
    },
    /// Insights were written.
    Published {
        /// The kind that they were written to.
        to: &'a str,
    },
    /// Everything that is known has been assessed and published.
    Settled,
    /// Something could not be assessed or published; it is tried again after a pause.
    Failed {
        /// Why.
        why: &'a str,
    },
    /// This process leads, or does so no longer.
    Leads(bool),
    /// The Lease is held by this process, or was seen to be held by another one.
    LeaseSeen,
    /// The Lease could not be read or written.
    LeaseFailed {
        /// Why.
        why: &'a str,
    },
}

/// What went wrong with a request, in the words of the API server if these are any.
pub(super) fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

/// Who wants to know how the controller is.
pub trait Observer: Send + Sync {
    /// Takes a note. Must not block: the controller waits for it.
    fn note(&self, note: Note<'_>);
}

/// Nobody.
impl Observer for () {
    fn note(&self, _: Note<'_>) {}
}
