//! Who is at the other end of a connection.

use windtunnel_core::Identity;

/// What a connection knows of its client: the identity of its certificate if it showed one; the error is one that
/// cannot be trusted.
pub(super) type Peer = Result<Option<Identity>, ()>;
