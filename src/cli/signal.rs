//! The signals that end a command which runs until it is told to end.

#[cfg(unix)]
use futures::future::{Either, select};

/// SIGTERM or SIGINT.
#[cfg(unix)]
pub(super) struct Signal(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    /// From now on, signals do not end the process by themselves.
    ///
    /// # Errors
    /// They cannot be received.
    pub(super) fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| format!("signals cannot be received: {error}");
        Ok(Self(
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::interrupt()).map_err(failed)?,
        ))
    }

    /// Waits for one; the exit code of a process that it ends, as shells tell it.
    pub(super) async fn received(mut self) -> i32 {
        self.next().await
    }

    /// The same, for who waits for another afterwards.
    pub(super) async fn next(&mut self) -> i32 {
        match select(std::pin::pin!(self.0.recv()), std::pin::pin!(self.1.recv())).await {
            Either::Left(_) => 143,
            Either::Right(_) => 130,
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signal;

#[cfg(not(unix))]
impl Signal {
    /// There is nothing to prepare.
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self)
    }

    /// Waits for it; the exit code of a process that it ends.
    pub(super) async fn received(mut self) -> i32 {
        self.next().await
    }

    /// The same, for who waits for another afterwards.
    pub(super) async fn next(&mut self) -> i32 {
        let _ = tokio::signal::ctrl_c().await;
        130
    }
}
