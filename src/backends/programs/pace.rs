//! The clock of a cluster with programs: it stands still while they work, or runs at a multiple of the wall clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use tokio::sync::watch;
use windtunnel_core::clock::{ManualClock, Time, after};

use super::Waited;
use super::asleep::{is_asleep, is_read};
use super::host::{ProgramHost, Running};
use crate::backends::{Pace, Stop};

/// How long nothing may happen until programs count as done.
const QUIET: Duration = Duration::from_millis(10);

/// How long a new program may take until its first request.
const STARTING: Duration = Duration::from_millis(300);

/// How long the clock waits for programs at one moment. After that it does so for [`IMPATIENT`] only, until they are
/// quiet once.
const PATIENCE: Duration = Duration::from_secs(10);
const IMPATIENT: Duration = Duration::from_millis(100);

/// How often the programs are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// How much cluster time passes while programs wrote, so that programs that answer each other for ever do not stop the
/// clock.
const WRITING: SignedDuration = SignedDuration::from_millis(1);

/// The pace of a cluster with programs.
#[derive(Debug)]
pub(super) struct ProgramPace {
    host: Arc<ProgramHost>,
    /// The clock that the programs see.
    clock: Arc<ManualClock>,
    writes: watch::Receiver<u64>,
    last_done: LastDone,
    is_impatient: AtomicBool,
    waited: Mutex<Waited>,
    /// Ends each wait.
    stop: Stop,
}

/// The moment at which all programs were done for the last time.
#[derive(Debug)]
struct LastDone {
    /// The number of the cluster's last write at that moment.
    write_number: AtomicU64,
    /// `ProgramHost::turnover` at that moment.
    turnover: AtomicU64,
}

impl LastDone {
    fn never() -> Self {
        Self { write_number: AtomicU64::new(u64::MAX), turnover: AtomicU64::new(u64::MAX) }
    }

    fn store(&self, write_number: u64, turnover: u64) {
        self.write_number.store(write_number, Ordering::Relaxed);
        self.turnover.store(turnover, Ordering::Relaxed);
    }
}

impl ProgramPace {
    pub(super) fn new(host: Arc<ProgramHost>, clock: Arc<ManualClock>, stop: Stop) -> Self {
        let writes = host.server.subscribe();
        Self {
            host,
            clock,
            writes,
            last_done: LastDone::never(),
            is_impatient: false.into(),
            waited: Mutex::default(),
            stop,
        }
    }

    /// How long the run has waited so far.
    pub(super) fn waited(&self) -> Waited {
        self.lock_waited().clone()
    }

    fn lock_waited(&self) -> MutexGuard<'_, Waited> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lowest speed of a program that does not run in lockstep.
    fn speed(&self) -> Option<f64> {
        let running = self.host.lock();
        running.values().filter_map(|running| running.speed).reduce(f64::min)
    }

    fn write_number(&self) -> u64 {
        *self.writes.borrow()
    }

    fn turnover(&self) -> u64 {
        self.host.turnover.load(Ordering::Relaxed)
    }

    /// Whether programs in lockstep have something to do at this moment.
    pub(super) fn have_work(&self) -> bool {
        self.speed().is_none() && self.has_running() && !self.is_done()
    }

    /// Whether nothing has happened since the programs were done.
    fn is_done(&self) -> bool {
        !self.host.gate.has_waiting()
            && !self.has_events()
            && !self.host.is_probing()
            && !self.host.has_ordered_probes()
            && self.last_done.write_number.load(Ordering::Relaxed) == self.write_number()
            && self.last_done.turnover.load(Ordering::Relaxed) == self.turnover()
    }

    /// Whether a program has ended or printed something.
    fn has_events(&self) -> bool {
        self.host.lock().values().any(Running::has_events)
    }

    /// Lets the programs work until they are done. Returns whether they did something that the cluster can see.
    #[expect(clippy::disallowed_methods, reason = "programs live in wall time")]
    fn let_programs_work(&self) -> bool {
        let began = Instant::now();
        let (writes, turnover) = (self.write_number(), self.turnover());
        let before = self.host.gate.traffic().activities;
        let is_fresh = self.last_done.turnover.load(Ordering::Relaxed) != turnover;
        let has_ordered_probes = self.host.has_ordered_probes();
        self.host.gate.open();
        let patience = if self.is_impatient.load(Ordering::Relaxed) { IMPATIENT } else { PATIENCE };
        let is_finished = loop {
            let traffic = self.host.gate.traffic();
            let is_affected = is_fresh || traffic.activities != before;
            let starts = is_fresh && traffic.activities == before && began.elapsed() < STARTING;
            let is_quiet = traffic.is_served
                && !(starts && self.has_running())
                && !self.host.is_probing()
                && (!has_ordered_probes || self.are_asleep())
                && (!is_affected || self.are_quiet(traffic.since_activity.min(began.elapsed())));
            if is_quiet && !self.host.begin_probes() && self.host.gate.close_after(traffic.activities) {
                break true;
            }
            if began.elapsed() > patience || self.stop.is_requested() {
                self.host.gate.close();
                break false;
            }
            self.host.gate.wait(LOOK);
        };
        let has_worked = self.host.gate.traffic().activities != before || is_fresh;
        self.count(began.elapsed(), has_worked, is_finished);
        let has_written = self.write_number() != writes || self.has_events();
        if is_finished {
            self.last_done.store(self.write_number(), turnover);
        }
        has_written
    }

    fn has_running(&self) -> bool {
        !self.host.lock().is_empty()
    }

    /// Whether the programs have read everything and sleep, after nothing has happened for a while.
    fn are_quiet(&self, since_activity: Duration) -> bool {
        // A stopped process reads nothing.
        let has_paused = self.host.lock().values().any(|running| running.is_paused);
        since_activity >= QUIET
            && self.are_asleep()
            && (has_paused || is_read(self.host.serving.address().port()))
            && self.host.threads.are_asleep()
    }

    /// Whether all threads of all programs are asleep.
    fn are_asleep(&self) -> bool {
        self.host.lock().values().all(|running| is_asleep(running.process.pid))
    }

    fn count(&self, time: Duration, has_worked: bool, is_finished: bool) {
        self.is_impatient.store(!is_finished, Ordering::Relaxed);
        let mut waited = self.lock_waited();
        waited.time += time;
        waited.moments += u64::from(has_worked);
        if !is_finished {
            waited.unfinished += 1;
            let running = self.host.lock();
            let awake = running.values().filter(|running| !is_asleep(running.process.pid));
            waited.unfinished_programs.extend(awake.map(|running| running.name.clone()));
        }
    }

    /// Lets the clock run at `speed` times the wall clock until something happens.
    #[expect(clippy::disallowed_methods, reason = "programs live in wall time")]
    fn run_scaled(&self, now: Time, until: Time, speed: f64) -> Time {
        let (began, writes, turnover) = (Instant::now(), self.write_number(), self.turnover());
        self.host.gate.open();
        let reached = loop {
            let passed = SignedDuration::try_from_secs_f64(began.elapsed().as_secs_f64() * speed);
            let at = after(now, passed.unwrap_or(SignedDuration::MAX)).min(until);
            self.clock.set(at);
            if at == until
                || self.write_number() != writes
                || self.turnover() != turnover
                || self.has_events()
                || self.stop.is_requested()
            {
                break at;
            }
            let rest = until.duration_since(at).as_secs_f64() / speed;
            self.host.gate.wait(LOOK.min(Duration::from_secs_f64(rest.clamp(0.000_1, 1.0))));
        };
        self.host.gate.close();
        reached
    }
}

impl Pace for ProgramPace {
    fn advance(&self, now: Time, until: Time) -> Time {
        self.clock.set(now);
        if let Some(speed) = self.speed() {
            return self.run_scaled(now, until, speed);
        }
        if !self.has_running() || self.is_done() || !self.let_programs_work() {
            return until;
        }
        after(now, WRITING).min(until).max(now)
    }
}
