//! Handles SIGINT and SIGTERM during a run: no further scenario starts, and the results so far are reported
//! as usual.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
#[cfg(any(feature = "live", feature = "serve"))]
use std::sync::{Mutex, PoisonError};
#[cfg(any(feature = "live", feature = "serve"))]
use std::time::Duration;

#[cfg(any(feature = "live", feature = "serve"))]
use super::signal::Signal;
use crate::backends::{Cleanups, Stop};
use crate::cli::Exit;
#[cfg(any(feature = "live", feature = "serve"))]
use crate::cli::print_notice;

/// The reason of a scenario that did not start.
pub(in crate::cli) const INTERRUPTED: &str = "the run was interrupted before this scenario";

/// The time limit for a stopped run to make progress; after it, the process exits without reports.
#[cfg(any(feature = "live", feature = "serve"))]
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Running scenarios run to completion, or stop if they follow the clock of this machine.
const FINISH: u8 = 0;
/// Running scenarios stop and clean up.
const STOP_AND_CLEAN_UP: u8 = 1;
/// All cleanup work is done, and the process exits.
const EXIT: u8 = 2;

/// The state of an interrupt.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_interrupted: Arc<AtomicBool>,
    code: AtomicU8,
    /// The reaction to the signal.
    reaction: AtomicU8,
    /// Whether the reaction never changes.
    is_fixed: bool,
    stop: Stop,
    cleanups: Cleanups,
}

/// The receiver of signals: there is one listener thread, and one run at a time.
#[cfg(any(feature = "live", feature = "serve"))]
static CURRENT: Mutex<Option<Interrupt>> = Mutex::new(None);

impl Interrupt {
    /// Handles the first signal from now on; the second one ends the process.
    pub(in crate::cli) fn listen() -> Self {
        Self::default().registered()
    }

    /// Makes a signal clean up and end the process from now on.
    pub(in crate::cli) fn listen_to_end() -> Self {
        let state = State { reaction: AtomicU8::new(EXIT), is_fixed: true, ..State::default() };
        Self(Arc::new(state)).registered()
    }

    #[cfg(not(any(feature = "live", feature = "serve")))]
    fn registered(self) -> Self {
        self
    }

    #[cfg(any(feature = "live", feature = "serve"))]
    fn registered(self) -> Self {
        let before = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).replace(self.clone());
        if before.is_none() {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let listener = std::thread::Builder::new().name("interrupt".to_owned());
            // Without a listener, signals kill the process as usual.
            if listener.spawn(move || listen(&ready)).is_ok() {
                // Waits until the handler is installed.
                let _ = is_ready.recv();
            }
        }
        self
    }

    pub(in crate::cli) fn is_interrupted(&self) -> bool {
        self.0.is_interrupted.load(Ordering::SeqCst)
    }

    /// Returns the same as a shared flag, for code that does not use this type.
    #[cfg(feature = "gherkin")]
    pub(in crate::cli) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.is_interrupted)
    }

    /// Returns the exit status of an interrupted run.
    pub(in crate::cli) fn exit(&self) -> Option<Exit> {
        self.is_interrupted().then(|| Exit::Interrupted(self.0.code.load(Ordering::SeqCst)))
    }

    pub(in crate::cli) fn cleanups(&self) -> &Cleanups {
        &self.0.cleanups
    }

    /// Returns the flag that stops running scenarios.
    pub(in crate::cli) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Makes a signal clean up and end the process from now on: nothing is running yet.
    pub(in crate::cli) fn end_at_once(&self) {
        self.set(EXIT);
    }

    /// Makes a signal stop running scenarios from now on (`soon`), or else let them run to completion.
    pub(in crate::cli) fn end_soon(&self, soon: bool) {
        self.set(if soon { STOP_AND_CLEAN_UP } else { FINISH });
    }

    fn set(&self, reaction: u8) {
        if !self.0.is_fixed {
            self.0.reaction.store(reaction, Ordering::SeqCst);
        }
    }

    #[cfg(any(feature = "live", feature = "serve"))]
    fn reaction(&self) -> u8 {
        self.0.reaction.load(Ordering::SeqCst)
    }
}

/// Waits for signals on a thread of its own until the process ends; sends to `ready` once the handler is
/// installed.
#[cfg(any(feature = "live", feature = "serve"))]
fn listen(ready: &std::sync::mpsc::Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let guard = runtime.enter();
    let Ok(mut signal) = Signal::new() else { return };
    drop(guard);
    let _ = ready.send(());
    let (code, current) = runtime.block_on(async {
        let code = signal.next().await;
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        current.0.code.store(u8::try_from(code).unwrap_or(u8::MAX), Ordering::SeqCst);
        current.0.is_interrupted.store(true, Ordering::SeqCst);
        match current.reaction() {
            EXIT => print_notice("interrupted: cleaning up"),
            STOP_AND_CLEAN_UP => {
                print_notice("interrupted: cleaning up");
                current.0.stop.request();
                // Do not exit while reports are written or cleanup work is being done.
                let is_busy = || current.reaction() != STOP_AND_CLEAN_UP || current.cleanups().is_at_work();
                while tokio::time::timeout(STOP_TIMEOUT, signal.next()).await.is_err() && is_busy() {}
            }
            _ => {
                print_notice(
                    "interrupted: running scenarios finish first, or stop if they have programs; press Ctrl-C again to \
                     stop now",
                );
                current.0.stop.request();
                signal.next().await;
            }
        }
        (code, current)
    });
    std::thread::spawn(move || {
        current.0.cleanups.run_last();
        std::process::exit(code);
    });
    // After another signal, cleanup is left to the next run.
    std::process::exit(runtime.block_on(signal.next()));
}
