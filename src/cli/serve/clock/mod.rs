//! The clock of a served cluster. Clients read it, and may pause it, change its speed and advance it.
//!
//! It is never ahead of this machine's clock, so that clients compute no negative ages, and never ahead of the simulated
//! components, so that no write of a client is newer than the moment at which they see it. It never goes back.
//!
//! `steer.rs` lets the session run up to the time of the clock.
//!
//! The clock starts in the past, so that it is behind the clocks of clients. Answers carry it; `src/cli/live/clock.rs`
//! reads it there.

mod endpoint;
mod pace;
mod start;
mod steer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windtunnel_core::clock::{Clock, ScaledClock, Time, WallClock};

pub(super) use endpoint::ClockEndpoint;
pub(super) use pace::ClockPace;
pub(super) use start::{notice, start_time};
pub(super) use steer::run;

/// The clock, shared by the cluster and its clients.
#[derive(Debug)]
pub(super) struct ClusterClock(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The time that the cluster should have.
    wanted: ScaledClock,
    /// Cluster seconds per second of this machine.
    speed: f64,
    paused: bool,
    /// The moment to which a client advanced the clock, until the cluster has reached it.
    target: Option<Time>,
    /// The latest time that a client saw.
    shown: Time,
    /// The latest time that clients may see.
    limit: Time,
    /// Whether the clock has caught up with this machine's since the last call of [`ClusterClock::take_met`].
    has_met: bool,
}

/// A change of the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Change {
    paused: Option<bool>,
    speed: Option<f64>,
    /// The moment to advance to.
    target: Option<Time>,
}

impl ClusterClock {
    /// Creates a clock that shows `start`, to the millisecond, and passes at `speed`.
    pub(super) fn starting_at(start: Time, speed: f64) -> Self {
        let start = floor(start);
        Self(Mutex::new(State {
            wanted: ScaledClock::starting_at(start, speed),
            speed,
            paused: false,
            target: None,
            shown: start,
            limit: start,
            has_met: false,
        }))
    }

    /// Creates a clock that shows `start` until a client resumes it, then at the speed of this machine's clock.
    pub(super) fn paused_at(start: Time) -> Self {
        let clock = Self::starting_at(start, 1.0);
        clock.lock().pace(floor(start), true);
        clock
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the time of clients while the cluster runs up to the returned moment.
    fn hold(&self) -> Time {
        let mut state = self.lock();
        state.limit = state.refresh();
        state.limit
    }

    /// Lets the time of clients pass until the next moment at which something happens in the cluster.
    fn release(&self, until: Time) {
        self.lock().limit = ceil(until);
    }

    /// Returns whether the time stands still.
    fn is_paused(&self) -> bool {
        self.lock().is_stopped()
    }

    /// Returns true once after the clock has caught up with this machine's.
    fn take_met(&self) -> bool {
        std::mem::take(&mut self.lock().has_met)
    }

    /// Changes the clock.
    ///
    /// # Errors
    /// The clock would go back, or get ahead of this machine's.
    fn change(&self, change: Change) -> Result<(), String> {
        self.lock().change(change, WallClock.now())
    }
}

impl State {
    /// Returns the current time.
    fn refresh(&mut self) -> Time {
        let (wanted, machine) = (self.wanted.now(), WallClock.now());
        if wanted >= machine && self.speed > 1.0 && !self.paused {
            self.speed = 1.0;
            self.pace(machine, false);
            self.has_met = true;
        }
        self.shown = self.shown.max(floor(wanted.min(machine)).min(self.limit));
        self.target = self.target.filter(|target| *target > self.shown);
        self.shown
    }

    /// Continues, or stops, at `from`.
    fn pace(&mut self, from: Time, paused: bool) {
        let wanted = ScaledClock::starting_at(from, self.speed);
        self.paused = paused;
        self.wanted = if paused { wanted.ending_at(from) } else { wanted };
    }

    fn is_stopped(&self) -> bool {
        self.paused && self.target.is_none()
    }

    fn change(&mut self, change: Change, machine: Time) -> Result<(), String> {
        let now = self.refresh();
        if let Some(target) = change.target {
            if target < now {
                return Err(format!("the clock cannot go back: it shows {now}, and {target} is earlier"));
            }
            if target > machine {
                return Err(format!(
                    "{target} is later than {machine} by this machine's clock, and clients would print negative ages; \
                     start the cluster earlier, such as with `serve --clock 90d-ago`"
                ));
            }
        }
        // A late cluster does not have to catch up after a change, but a client that advanced the clock waits for that.
        self.target = match (change.target, change.paused) {
            (Some(target), _) => Some(ceil(target)).filter(|target| *target > now),
            (None, Some(true)) => None,
            (None, _) => self.target,
        };
        self.speed = change.speed.unwrap_or(self.speed);
        self.pace(self.target.unwrap_or(now), change.paused.unwrap_or(self.paused));
        Ok(())
    }
}

impl Clock for ClusterClock {
    fn now(&self) -> Time {
        self.lock().refresh()
    }

    fn speed(&self) -> f64 {
        let state = self.lock();
        if state.is_stopped() { 0.0 } else { state.speed }
    }

    fn until(&self, at: Time) -> Duration {
        let mut state = self.lock();
        let span = at.duration_since(state.refresh()).as_secs_f64();
        if span <= 0.0 {
            return Duration::ZERO;
        }
        if state.is_stopped() {
            return Duration::MAX;
        }
        Duration::try_from_secs_f64(span / state.speed).unwrap_or(Duration::MAX)
    }
}

/// The last whole millisecond, which is the resolution of virtual time.
fn floor(at: Time) -> Time {
    Time::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// The next whole millisecond.
fn ceil(at: Time) -> Time {
    let whole = floor(at);
    if whole == at { at } else { Time::from_millisecond(at.as_millisecond() + 1).unwrap_or(at) }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn days_ago(days: i32) -> Time {
        floor(WallClock.now() - DAY * days)
    }

    #[test]
    fn clients_see_no_time_that_the_cluster_has_not_reached() {
        let start = days_ago(30);
        let clock = ClusterClock::starting_at(start, 1e5);
        assert_eq!((clock.now(), clock.hold()), (start, start));
        let next = start + SignedDuration::from_nanos(1_500_000);
        clock.release(next);
        while clock.now() == start {}
        assert_eq!(clock.hold(), start + SignedDuration::from_millis(2), "the whole millisecond after it");
    }

    #[test]
    fn a_fast_clock_slows_down_at_the_time_of_this_machine() {
        let clock = ClusterClock::starting_at(days_ago(1), 1e5);
        clock.release(Time::MAX);
        assert!(!clock.take_met());
        while clock.speed() > 1.0 {
            assert!(clock.now() <= WallClock.now());
        }
        assert!(clock.take_met() && !clock.take_met());
        let before = days_ago(0);
        let now = clock.now();
        assert!(now <= WallClock.now() && now > before - SignedDuration::from_secs(1), "{before} {now}");
    }

    #[test]
    fn a_paused_clock_stands_still_until_it_is_resumed_or_advanced() {
        let start = days_ago(2);
        let clock = ClusterClock::paused_at(start);
        clock.release(Time::MAX);
        assert_eq!((clock.now(), clock.speed(), clock.until(days_ago(1))), (start, 0.0, Duration::MAX));
        clock.change(Change { target: Some(start + DAY), ..Change::default() }).unwrap();
        assert_eq!((clock.now(), clock.is_paused()), (start + DAY, true));
        clock.change(Change { paused: Some(false), speed: Some(1e5), target: None }).unwrap();
        assert!(!clock.is_paused());
        while clock.now() == start + DAY {}
    }

    #[test]
    fn a_pause_ends_an_advance_and_a_new_speed_does_not() {
        let start = days_ago(2);
        let clock = ClusterClock::starting_at(start, 60.0);
        let target = Some(start + DAY);
        clock.change(Change { target, ..Change::default() }).unwrap();
        clock.change(Change { speed: Some(2.0), ..Change::default() }).unwrap();
        assert_eq!(clock.lock().target, target);
        clock.change(Change { paused: Some(true), ..Change::default() }).unwrap();
        clock.release(Time::MAX);
        assert_eq!((clock.now(), clock.is_paused()), (start, true));
    }

    #[test]
    fn the_clock_neither_goes_back_nor_ahead_of_this_machine() {
        let clock = ClusterClock::paused_at(days_ago(2));
        let advance = |to| clock.change(Change { target: Some(to), ..Change::default() }).unwrap_err();
        assert!(advance(days_ago(3)).starts_with("the clock cannot go back: it shows "));
        assert!(advance(days_ago(-1)).contains(" is later than "));
        assert_eq!(clock.lock().target, None);
    }
}
