//! Limits cluster time: it waits until controllers know what the engine knows and the cluster's own
//! controllers have done their work, and it does not exceed the requested speed.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::link::Link;
use crate::backends::Pace;

/// The maximum wall time to wait for silent watches and idle controllers.
const BEHIND_MAX: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The wall time of each step of a limited clock.
const STEP: Duration = Duration::from_millis(20);

/// Cluster time at a maximum multiple of the wall clock.
pub(super) struct Scaled {
    link: Arc<Link>,
    speed: Option<f64>,
}

impl Scaled {
    /// `None` is unlimited.
    pub(super) fn new(link: Arc<Link>, speed: Option<f64>) -> Self {
        Self { link, speed }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where runs against real servers wait on the wall")]
impl Pace for Scaled {
    fn advance(&self, now: Time, until: Time) -> Time {
        let mut waited = Duration::ZERO;
        while self.link.is_behind() {
            if waited >= BEHIND_MAX {
                self.link.give_up_waiting();
            }
            std::thread::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
        }
        let next = match self.speed {
            None => until,
            Some(speed) => {
                let step = SignedDuration::try_from_secs_f64(STEP.as_secs_f64() * speed)
                    .unwrap_or(SignedDuration::MAX);
                let next = after(now, step.max(SignedDuration::from_millis(1))).min(until);
                let span = next.duration_since(now).as_secs_f64().max(0.0) / speed;
                std::thread::sleep(Duration::try_from_secs_f64(span).unwrap_or(STEP).min(STEP));
                next
            }
        };
        self.link.set_time(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Wire;
    use super::*;
    use crate::backends::Stop;
    use crate::backends::remote::marks::stamp::Stamp;
    use crate::backends::remote::waits::lag::Topic;

    fn link() -> Arc<Link> {
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let wire = Wire::new(Wire::threads().unwrap(), config, None, Stop::default()).unwrap();
        Link::new(Arc::new(wire), Stamp::default(), None).0
    }

    #[test]
    fn time_advances_in_steps_of_its_speed_up_to_the_requested_moment() {
        let passed = |speed: Option<f64>, seconds: i64| {
            let until = after(Time::UNIX_EPOCH, SignedDuration::from_secs(seconds));
            let next = Scaled::new(link(), speed).advance(Time::UNIX_EPOCH, until);
            next.duration_since(Time::UNIX_EPOCH).as_millis()
        };
        assert_eq!(passed(None, 3600), 3_600_000);
        // 20 ms on the wall clock.
        assert_eq!(passed(Some(60.0), 3600), 1200);
        assert_eq!(passed(Some(60.0), 1), 1000);
        assert_eq!(passed(Some(0.001), 3600), 1);
        assert_eq!(passed(Some(60.0), 0), 0);
    }

    #[test]
    fn a_silent_watch_does_not_stop_time_forever() {
        let link = link();
        let topic = Topic { group: String::new(), plural: "nodes".to_owned(), namespace: String::new() };
        let _watch = link.lag.watch(topic.clone(), 1);
        link.lag.moved(topic, 2);
        let until = after(Time::UNIX_EPOCH, SignedDuration::from_secs(1));
        assert!(link.lag.is_behind());
        assert_eq!(Scaled::new(Arc::clone(&link), None).advance(Time::UNIX_EPOCH, until), until);
        assert!(!link.lag.is_behind());
    }
}
