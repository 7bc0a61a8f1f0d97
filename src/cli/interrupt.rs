//! Ctrl-C while scenarios are played: no other is begun, and what is known by then is reported as always.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(any(feature = "live", feature = "serve"))]
use super::Exit;

/// Why a scenario was not begun.
pub(super) const INTERRUPTED: &str = "the run was interrupted before";

/// Whether somebody wants the run to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the first Ctrl-C is told here; the second ends the process.
    #[cfg(any(feature = "live", feature = "serve"))]
    pub(super) fn listen() -> Self {
        let told = Self::default();
        let tells = told.clone();
        // Where there is nobody to listen, Ctrl-C ends the process as it does by itself.
        let _ = std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
                return;
            };
            let twice = runtime.block_on(async {
                tokio::signal::ctrl_c().await?;
                tells.0.store(true, Ordering::Relaxed);
                super::hint(
                    "interrupted: what is being played is played to its end; Ctrl-C again ends at once",
                );
                tokio::signal::ctrl_c().await
            });
            if twice.is_ok() {
                std::process::exit(Exit::Interrupted.code().into());
            }
        });
        told
    }

    /// Nothing is told: Ctrl-C ends the process.
    #[cfg(not(any(feature = "live", feature = "serve")))]
    pub(super) fn listen() -> Self {
        Self::default()
    }

    /// Whether it was told.
    pub(super) fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same, for who does not know of this type.
    #[cfg(feature = "gherkin")]
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
