//! The client of a connection.

use windtunnel_core::Identity;

/// The identity in the client certificate, `None` without certificate, or an error if the certificate is not
/// trusted.
pub(super) type Peer = Result<Option<Identity>, ()>;
