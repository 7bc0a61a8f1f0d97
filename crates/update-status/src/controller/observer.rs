//! Notifications about the controller, for metrics and logs.

/// An action or an error of the controller.
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
    /// A watch failed; it resumes after a pause.
    WatchFailed {
        /// The plural of the resource.
        resource: &'a str,
        /// The error.
        why: &'a str,
    },
    /// The number of insights of one type from one informer.
    Known {
        /// The informer.
        informer: &'a str,
        /// The type.
        kind: &'a str,
        /// The number; may be zero.
        count: usize,
    },
    /// The ConfigMap of insights does not exist, so nothing is published there.
    NoConfigMap,
    /// An insight in the ConfigMap is about to change.
    Changed {
        /// Its key in the ConfigMap.
        insight: &'a str,
        /// Whether it is dropped.
        is_dropped: bool,
    },
    /// An insight of a producer is not published.
    Rejected {
        /// The informer that the insight claims; may be empty.
        informer: &'a str,
        /// The UpdateInsight, as `namespace/name`.
        insight: &'a str,
        /// Why.
        why: &'a str,
    },
    /// The insights of a producer expired, and it has no others.
    Silent {
        /// Its informer.
        informer: &'a str,
    },
    /// Insights were written.
    Published {
        /// The kind they were written to.
        to: &'a str,
    },
    /// All insights are up to date and published.
    Settled,
    /// Assessing or publishing failed; the controller retries after a pause.
    Failed {
        /// The error.
        why: &'a str,
    },
    /// This process became, or is no longer, the leader.
    Leads(bool),
    /// This process holds the Lease, or has seen that another one holds it.
    LeaseSeen,
    /// The Lease could not be read or written.
    LeaseFailed {
        /// The error.
        why: &'a str,
    },
}

/// Returns the message of the API server, or the error's own if there is none.
pub(in crate::controller) fn error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

/// Receives notifications from the controller.
pub trait Observer: Send + Sync {
    /// Receives a notification. Must not block, since the controller waits for it.
    fn note(&self, note: Note<'_>);
}

/// Ignores all notifications.
impl Observer for () {
    fn note(&self, _: Note<'_>) {}
}
