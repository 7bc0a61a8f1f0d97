//! Handles SIGINT and SIGTERM during a run: no further scenario starts, and the results so far are reported
//! as usual.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
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
    late_report: LateReport,
}

/// A report to print if work that should finish after a signal does not.
#[derive(Default)]
struct LateReport {
    planned: Mutex<Option<(Duration, Report)>>,
    /// Whether the report is being printed; the process exits then.
    is_begun: AtomicBool,
}

type Report = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for LateReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LateReport").field("is_begun", &self.is_begun).finish_non_exhaustive()
    }
}

impl LateReport {
    #[cfg(any(feature = "live", feature = "serve"))]
    fn limit(&self) -> Option<Duration> {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.as_ref().map(|(limit, _)| *limit)
    }

    /// Prints the report, unless the work has finished meanwhile.
    #[cfg(any(feature = "live", feature = "serve"))]
    fn print(&self) {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, report)) = planned.take() {
            self.is_begun.store(true, Ordering::SeqCst);
            drop(planned);
            report();
        }
    }

    /// Gives up the report, because the work has finished. Does not return if it is being printed.
    fn give_up(&self) {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        *planned = None;
        drop(planned);
        while self.is_begun.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }
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

    /// Limits the time in which running work may finish after a signal. Then the process calls `report` and exits.
    pub(in crate::cli) fn finish_within(&self, limit: Duration, report: impl FnOnce() + Send + 'static) {
        let mut planned = self.0.late_report.planned.lock().unwrap_or_else(PoisonError::into_inner);
        *planned = Some((limit, Box::new(report)));
    }

    /// Ends the time limit: the work has finished, and the caller reports. Does not return if the time limit has passed,
    /// because the process is about to exit.
    pub(in crate::cli) fn has_finished(&self) {
        self.0.late_report.give_up();
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

/// Lets running work finish, until its time limit or another signal.
#[cfg(any(feature = "live", feature = "serve"))]
async fn finish(current: &Interrupt, signal: &mut Signal) {
    current.0.stop.request();
    let Some(limit) = current.0.late_report.limit() else {
        print_notice(
            "interrupted: running scenarios finish first, or stop if they have programs; press Ctrl-C again to stop now",
        );
        signal.next().await;
        return;
    };
    let seconds = limit.as_secs();
    print_notice(&format!(
        "interrupted: running cases have {seconds} s to finish; press Ctrl-C again to stop now"
    ));
    if tokio::time::timeout(limit, signal.next()).await.is_err() {
        current.0.late_report.print();
        // Work that has finished is being reported.
        if !current.0.late_report.is_begun.load(Ordering::SeqCst) {
            signal.next().await;
        }
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
            _ => finish(&current, &mut signal).await,
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
