//! Clocks: the source of the current time.
//!
//! Simulated code takes `now` as an argument. Only code that also runs outside a simulation holds a
//! [`Clock`], such as the update status controller.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// A point in time, on whichever clock the run uses.
pub type Time = Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time of this clock.
    fn now(&self) -> Time;

    /// The seconds that pass on this clock per second of wall time; 0 while it is stopped.
    fn speed(&self) -> f64 {
        1.0
    }

    /// The wall time until this clock shows `at`; the maximum duration if it never does.
    fn until(&self, at: Time) -> std::time::Duration {
        std::time::Duration::try_from(at.duration_since(self.now())).unwrap_or_default()
    }
}

/// The machine's own clock, for runs against real clusters.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallClock;

impl Clock for WallClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where wall time enters")]
    fn now(&self) -> Time {
        Timestamp::now()
    }
}

/// A clock that runs faster or slower than wall time.
#[derive(Debug, Clone, Copy)]
pub struct ScaledClock {
    epoch: Time,
    origin: std::time::Instant,
    speed: f64,
    end: Time,
}

impl ScaledClock {
    /// Creates a clock that shows `epoch` now and runs `speed` times as fast as wall time, at least 0.001
    /// times.
    #[expect(clippy::disallowed_methods, reason = "a place where wall time enters, as it must")]
    pub fn starting_at(epoch: Time, speed: f64) -> Self {
        Self { epoch, origin: std::time::Instant::now(), speed: speed.max(0.001), end: Time::MAX }
    }

    /// Makes the clock stop at `end`.
    #[must_use]
    pub fn ending_at(self, end: Time) -> Self {
        Self { end, ..self }
    }
}

impl Clock for ScaledClock {
    fn now(&self) -> Time {
        let elapsed = self.origin.elapsed().as_secs_f64() * self.speed;
        let elapsed = SignedDuration::try_from_secs_f64(elapsed).unwrap_or(SignedDuration::MAX);
        after(self.epoch, elapsed).min(self.end)
    }

    fn speed(&self) -> f64 {
        if self.now() < self.end { self.speed } else { 0.0 }
    }

    fn until(&self, at: Time) -> std::time::Duration {
        let span = at.duration_since(self.now()).as_secs_f64().max(0.0);
        if span > 0.0 && at > self.end {
            return std::time::Duration::MAX;
        }
        std::time::Duration::try_from_secs_f64(span / self.speed).unwrap_or(std::time::Duration::MAX)
    }
}

/// A clock that shows the time last set. It is for a server that follows the time of a run on another thread.
#[derive(Debug)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// Creates a clock that shows `at`, to the millisecond.
    pub fn at(at: Time) -> Arc<Self> {
        Arc::new(Self(at.as_millisecond().into()))
    }

    /// Advances the clock to `at`. It never goes back.
    pub fn set(&self, at: Time) {
        self.0.fetch_max(at.as_millisecond(), std::sync::atomic::Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Timestamp::from_millisecond(self.0.load(std::sync::atomic::Ordering::Relaxed)).unwrap_or_default()
    }

    fn speed(&self) -> f64 {
        0.0
    }
}

/// Virtual time: the paused clock of the tokio runtime that runs the simulation.
///
/// Must be read on that runtime. Its resolution is one millisecond, as that of tokio's timers.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    epoch: Time,
    origin: tokio::time::Instant,
}

impl VirtualClock {
    /// Creates a clock that shows `epoch` now, cut to the millisecond, and moves with the caller's paused
    /// runtime. With a fraction of a millisecond it would never show a whole second.
    pub fn starting_at(epoch: Time) -> Arc<Self> {
        let epoch = Timestamp::from_millisecond(epoch.as_millisecond()).unwrap_or(epoch);
        Arc::new(Self { epoch, origin: tokio::time::Instant::now() })
    }

    /// The runtime instant at which this clock shows `at`; the start for times before it.
    pub fn instant_of(&self, at: Time) -> tokio::time::Instant {
        let since = at.duration_since(self.epoch);
        self.origin + std::time::Duration::try_from(since).unwrap_or_default()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Time {
        let elapsed = tokio::time::Instant::now() - self.origin;
        let millis = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        self.epoch + SignedDuration::from_millis(millis)
    }
}

/// Adds a span to a time, limited to the range of [`Time`]. For spans from objects or scenarios, which may be
/// of any size; constant spans can be added with `+`.
pub fn after(at: Time, span: SignedDuration) -> Time {
    at.checked_add(span).unwrap_or(if span.is_negative() { Time::MIN } else { Time::MAX })
}

/// Formats a time as Kubernetes' `metav1.Time`: RFC 3339 in UTC, whole seconds.
pub fn rfc3339(at: Time) -> String {
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    whole.to_string()
}

/// Formats a time as Kubernetes' `metav1.MicroTime`: RFC 3339 in UTC with six decimals.
pub fn rfc3339_micro(at: Time) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Parses an RFC 3339 time; `None` if the text is not one.
pub fn parse_rfc3339(text: &str) -> Option<Time> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_times_have_whole_seconds_and_micro_times_six_decimals() {
        let at: Time = "2024-01-02T03:04:05.678901Z".parse().unwrap();
        assert_eq!(rfc3339(at), "2024-01-02T03:04:05Z");
        assert_eq!(rfc3339_micro(at), "2024-01-02T03:04:05.678901Z");
    }

    #[test]
    fn adding_a_span_saturates_at_the_ends_of_the_clock() {
        assert_eq!(after(Time::UNIX_EPOCH, SignedDuration::from_secs(5)).as_second(), 5);
        assert_eq!(after(Time::UNIX_EPOCH, SignedDuration::MAX), Time::MAX);
        assert_eq!(after(Time::UNIX_EPOCH, SignedDuration::MIN), Time::MIN);
    }

    #[test]
    fn a_scaled_clock_runs_at_its_speed() {
        let clock = ScaledClock::starting_at(Time::UNIX_EPOCH, 1e6);
        let (one, other) = (clock.now(), clock.now());
        assert!(Time::UNIX_EPOCH <= one && one <= other);
        let hour = after(clock.now(), SignedDuration::from_hours(1));
        assert!(clock.until(hour).as_micros() <= 3_600);
        assert!(clock.until(Time::UNIX_EPOCH).is_zero());
    }

    #[test]
    fn a_scaled_clock_stops_at_its_end() {
        let end = after(Time::UNIX_EPOCH, SignedDuration::from_secs(1));
        let running = ScaledClock::starting_at(Time::UNIX_EPOCH, 0.001).ending_at(end);
        assert!((running.speed() - 0.001).abs() < f64::EPSILON && running.now() < end);
        let ended = ScaledClock::starting_at(end, 60.0).ending_at(end);
        assert!(ended.speed() == 0.0 && ended.now() == end);
        assert!(ended.until(end).is_zero());
        assert_eq!(ended.until(after(end, SignedDuration::from_nanos(1))), std::time::Duration::MAX);
    }

    #[test]
    fn the_virtual_clock_moves_only_with_the_paused_runtime() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            // The wall clock has fractions of a millisecond.
            let clock = VirtualClock::starting_at("2024-01-01T00:00:00.000655Z".parse().unwrap());
            let epoch: Time = "2024-01-01T00:00:00Z".parse().unwrap();
            assert_eq!(clock.now(), epoch);
            tokio::time::sleep(std::time::Duration::from_secs(7200)).await;
            assert_eq!(clock.now(), after(epoch, SignedDuration::from_hours(2)));
        });
    }
}
