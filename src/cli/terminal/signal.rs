//! The signals that end a command.

#[cfg(unix)]
use futures::future::{Either, select};

#[cfg(unix)]
pub(in crate::cli) struct Signal(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    /// Installs the handler: from now on, signals do not kill the process.
    ///
    /// # Errors
    /// The handler cannot be installed.
    pub(in crate::cli) fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| format!("cannot receive signals: {error}");
        Ok(Self(
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::interrupt()).map_err(failed)?,
        ))
    }

    /// Waits for a signal; returns the exit code that shells use for it.
    pub(in crate::cli) async fn received(mut self) -> i32 {
        self.next().await
    }

    /// As `received`, for a caller that then waits for another signal.
    pub(in crate::cli) async fn next(&mut self) -> i32 {
        match select(std::pin::pin!(self.0.recv()), std::pin::pin!(self.1.recv())).await {
            Either::Left(_) => 143,
            Either::Right(_) => 130,
        }
    }
}

#[cfg(not(unix))]
pub(in crate::cli) struct Signal;

#[cfg(not(unix))]
impl Signal {
    /// Does nothing on this platform.
    pub(in crate::cli) fn new() -> Result<Self, String> {
        Ok(Self)
    }

    /// Waits for Ctrl-C; returns the exit code that shells use for it.
    pub(in crate::cli) async fn received(mut self) -> i32 {
        self.next().await
    }

    /// As `received`, for a caller that then waits for another signal.
    pub(in crate::cli) async fn next(&mut self) -> i32 {
        let _ = tokio::signal::ctrl_c().await;
        130
    }
}
