//! When cluster time may pass: not before controllers know what is known here, and not faster than it was told to.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::link::Link;
use crate::backends::Pace;
use crate::base::clock::{Time, after};

/// How long on the wall time stands still for watches that bring nothing.
const BEHIND_MAX: Duration = Duration::from_secs(2);
/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(2);
/// The steps in which time passes that is not as fast as it can be, on the wall.
const STEP: Duration = Duration::from_millis(20);

/// Cluster time that is so many times as fast as the wall's.
pub(super) struct Scaled {
    link: Arc<Link>,
    speed: Option<f64>,
}

impl Scaled {
    /// `None`: as fast as it can be.
    pub(super) fn new(link: Arc<Link>, speed: Option<f64>) -> Self {
        Self { link, speed }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where runs against real servers wait on the wall")]
impl Pace for Scaled {
    fn hold(&self, now: Time, until: Time) -> Time {
        let mut waited = Duration::ZERO;
        while self.link.lag.is_behind() {
            if waited >= BEHIND_MAX {
                self.link.lag.give_up();
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
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
