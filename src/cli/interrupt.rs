//! SIGINT and SIGTERM while scenarios are played: no other is begun, and what is known by then is reported as always.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
#[cfg(any(feature = "live", feature = "serve"))]
use std::sync::{Mutex, PoisonError};
#[cfg(any(feature = "live", feature = "serve"))]
use std::time::Duration;

use super::Exit;
#[cfg(any(feature = "live", feature = "serve"))]
use super::{hint, signal::Signal};
use crate::backends::{Cleanups, Stop};

/// Why a scenario was not begun.
pub(super) const INTERRUPTED: &str = "the run was interrupted before";

/// How long a run that is to end soon may do nothing for it before the process ends without its reports.
#[cfg(any(feature = "live", feature = "serve"))]
const SOON: Duration = Duration::from_secs(60);

/// What is played is played to its end.
const PATIENT: u8 = 0;
/// It is ended, and what it made is removed.
const SOONER: u8 = 1;
/// What there is is undone, and the process ends.
const AT_ONCE: u8 = 2;

/// Whether somebody wants the run to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    told: Arc<AtomicBool>,
    /// The exit code of that.
    code: AtomicU8,
    /// What is done about it.
    manner: AtomicU8,
    /// Whether the manner stays as it is.
    fixed: bool,
    stop: Stop,
    cleanups: Cleanups,
}

/// Who is told of signals: there is one listener, and one run at a time.
#[cfg(any(feature = "live", feature = "serve"))]
static CURRENT: Mutex<Option<Interrupt>> = Mutex::new(None);

impl Interrupt {
    /// From now on the first signal is told here; the second ends the process.
    pub(super) fn listen() -> Self {
        Self::default().heard()
    }

    /// From now on a signal cleans up and ends the process.
    pub(super) fn listen_to_end() -> Self {
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
            // Where there is nobody to listen, signals end the process as they do by themselves.
            if listener.spawn(move || listen(&tell)).is_ok() {
                // From here on none ends the process.
                let _ = told.recv();
            }
        }
        self
    }

    /// Whether it was told.
    pub(super) fn is_told(&self) -> bool {
        self.0.told.load(Ordering::SeqCst)
    }

    /// The same, for who does not know of this type.
    #[cfg(feature = "gherkin")]
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.told)
    }

    /// How a run ends that was interrupted.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.is_told().then(|| Exit::Interrupted(self.0.code.load(Ordering::SeqCst)))
    }

    /// What has to be undone whatever happens.
    pub(super) fn cleanups(&self) -> &Cleanups {
        &self.0.cleanups
    }

    /// What ends runs that are to end soon.
    #[cfg(feature = "live")]
    pub(super) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// From now on whoever interrupts has the process clean up and end: nothing was played yet.
    pub(super) fn end_at_once(&self) {
        self.set(AT_ONCE);
    }

    /// From now on, what is being played is ended where it is, or else played to its end.
    pub(super) fn end_soon(&self, soon: bool) {
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

/// Waits for signals on a thread of its own, until the process ends; `ready` is told once none ends it by itself.
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
            AT_ONCE => hint("interrupted: cleaning up"),
            SOONER => {
                hint("interrupted: cleaning up");
                current.0.stop.tell();
                // Who is at its reports by then, or removes what it made, is not cut short.
                let is_at_it = || current.manner() != SOONER || current.cleanups().is_at_work();
                while tokio::time::timeout(SOON, signal.next()).await.is_err() && is_at_it() {}
            }
            _ => {
                hint("interrupted: what is being played is played to its end; Ctrl-C again ends at once");
                signal.next().await;
            }
        }
        (code, current)
    });
    std::thread::spawn(move || {
        current.0.cleanups.run_last();
        std::process::exit(code);
    });
    // Who cannot wait for that either leaves it to the next run.
    std::process::exit(runtime.block_on(signal.next()));
}
