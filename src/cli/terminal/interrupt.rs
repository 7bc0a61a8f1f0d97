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
const SOON: Duration = Duration::from_secs(60);

/// Running scenarios run to completion.
const PATIENT: u8 = 0;
/// Running scenarios stop and clean up.
const SOONER: u8 = 1;
/// All cleanup work is done, and the process exits.
const AT_ONCE: u8 = 2;

/// The state of an interrupt.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    told: Arc<AtomicBool>,
    code: AtomicU8,
    /// The reaction to the signal.
    manner: AtomicU8,
    fixed: bool,
    stop: Stop,
    cleanups: Cleanups,
}

/// The receiver of signals: there is one listener thread, and one run at a time.
#[cfg(any(feature = "live", feature = "serve"))]
static CURRENT: Mutex<Option<Interrupt>> = Mutex::new(None);

impl Interrupt {
    /// Handles the first signal from now on; the second one ends the process.
    pub(in crate::cli) fn listen() -> Self {
        Self::default().heard()
    }

    /// Makes a signal clean up and end the process from now on.
    pub(in crate::cli) fn listen_to_end() -> Self {
        let state = State { manner: AtomicU8::new(AT_ONCE), fixed: true, ..State::default() };
        Self(Arc::new(state)).heard()
    }

    #[cfg(not(any(feature = "live", feature = "serve")))]
    fn heard(self) -> Self {
        self
    }

    #[cfg(any(feature = "live", feature = "serve"))]
    fn heard(self) -> Self {
        let before = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).replace(self.clone());
        if before.is_none() {
            let (tell, told) = std::sync::mpsc::channel();
            let listener = std::thread::Builder::new().name("interrupt".to_owned());
            // Without a listener, signals kill the process as usual.
            if listener.spawn(move || listen(&tell)).is_ok() {
                // Waits until the handler is installed.
                let _ = told.recv();
            }
        }
        self
    }

    pub(in crate::cli) fn is_interrupted(&self) -> bool {
        self.0.told.load(Ordering::SeqCst)
    }

    /// Returns the same as a shared flag, for code that does not use this type.
    #[cfg(feature = "gherkin")]
    pub(in crate::cli) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.told)
    }

    /// Returns the exit status of an interrupted run.
    pub(in crate::cli) fn exit(&self) -> Option<Exit> {
        self.is_interrupted().then(|| Exit::Interrupted(self.0.code.load(Ordering::SeqCst)))
    }

    pub(in crate::cli) fn cleanups(&self) -> &Cleanups {
        &self.0.cleanups
    }

    /// Returns the flag that stops running scenarios.
    #[cfg(feature = "live")]
    pub(in crate::cli) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Makes a signal clean up and end the process from now on: nothing is running yet.
    pub(in crate::cli) fn end_at_once(&self) {
        self.set(AT_ONCE);
    }

    /// Makes a signal stop running scenarios from now on (`soon`), or else let them run to completion.
    pub(in crate::cli) fn end_soon(&self, soon: bool) {
        self.set(if soon { SOONER } else { PATIENT });
    }

    fn set(&self, manner: u8) {
        if !self.0.fixed {
            self.0.manner.store(manner, Ordering::SeqCst);
        }
    }

    #[cfg(any(feature = "live", feature = "serve"))]
    fn manner(&self) -> u8 {
        self.0.manner.load(Ordering::SeqCst)
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
        current.0.told.store(true, Ordering::SeqCst);
        match current.manner() {
            AT_ONCE => print_notice("interrupted: cleaning up"),
            SOONER => {
                print_notice("interrupted: cleaning up");
                current.0.stop.request();
                // Do not exit while reports are written or cleanup work is being done.
                let is_at_it = || current.manner() != SOONER || current.cleanups().is_at_work();
                while tokio::time::timeout(SOON, signal.next()).await.is_err() && is_at_it() {}
            }
            _ => {
                print_notice("interrupted: running scenarios finish first; press Ctrl-C again to stop now");
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
