//! The version of the API server of a run.

/// The version of the API server, where it differs from that of the release.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct ApiServerVersion {
    /// Whether the kube-apiserver keeps its version, whatever its operator rolls out.
    pub(in crate::engine) is_pinned: bool,
    /// The Kubernetes minor of an API server that stays at it.
    pub(in crate::engine) minor: Option<u32>,
    /// Why the API server does not behave like the release's own, if that makes a difference.
    pub(in crate::engine) mismatch: Option<String>,
}
