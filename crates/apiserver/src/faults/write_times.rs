//! The times of writes, so that their events can arrive later.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

/// The most times that are kept. The events of earlier writes arrive at once.
const LIMIT: usize = 10_000;

/// When revisions were written. Revisions before the first noted one arrive at once.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteTimes(VecDeque<(u64, Time)>);

impl WriteTimes {
    /// Notes that all revisions up to this one exist now.
    pub(super) fn note(&mut self, revision: u64, now: Time) {
        if self.0.back().is_some_and(|(last, _)| *last >= revision) {
            return;
        }
        if self.0.len() >= LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((revision, now));
    }

    /// The last revision that arrives by now with a delay, and the time at which the next one arrives.
    pub(super) fn arrived(&self, current: u64, delay: SignedDuration, now: Time) -> (u64, Time) {
        let late = self.0.iter().position(|(_, written)| after(*written, delay) > now);
        let Some(late) = late else { return (current, Time::MAX) };
        let (_, written) = self.0[late];
        let before = late.checked_sub(1).map(|index| self.0[index].0);
        (before.unwrap_or_default(), after(written, delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_arrive_after_the_delay() {
        let at = |second| after(Time::UNIX_EPOCH, SignedDuration::from_secs(second));
        let mut times = WriteTimes::default();
        let delay = SignedDuration::from_secs(5);
        assert_eq!(times.arrived(7, delay, at(0)), (7, Time::MAX));
        times.note(7, at(1));
        times.note(9, at(3));
        times.note(9, at(4));
        assert_eq!(times.arrived(9, delay, at(4)), (0, at(6)));
        assert_eq!(times.arrived(9, delay, at(6)), (7, at(8)));
        assert_eq!(times.arrived(9, delay, at(8)), (9, Time::MAX));
    }
}
