//! The reads of clients during a run: counts by kind of read and moment, so that a long run does not fill the memory.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use crate::backends::ClientRead;

/// The greatest number of moments of one kind of read. With more of them, neighbours are counted together.
const MOMENTS: usize = 10_000;

/// The code of a request that no role allows.
const FORBIDDEN: u16 = 403;

/// Reads that differ only in their times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct ReadKind {
    /// The name of the user.
    pub(in crate::engine) user: String,
    /// The program of the user's machine; empty for other clients.
    pub(in crate::engine) program: String,
    /// The `User-Agent`.
    pub(in crate::engine) agent: String,
    /// `get`, `list` or `watch`.
    pub(in crate::engine) verb: &'static str,
    /// The kind of the objects.
    pub(in crate::engine) kind: String,
    /// The name of the object; empty for a collection.
    pub(in crate::engine) name: String,
    /// The subresource; empty for the object itself.
    pub(in crate::engine) subresource: String,
    /// Whether no role allows it.
    pub(in crate::engine) is_refused: bool,
}

/// The reads of clients, by the times since the start of the run's clock. Those of the installation are negative.
#[derive(Debug, Default)]
pub(in crate::engine) struct Reads(BTreeMap<ReadKind, Moments>);

impl Reads {
    /// Adds a read. `epoch` is the start of the run's clock.
    pub(in crate::engine) fn add(&mut self, read: ClientRead, epoch: Time) {
        let since = read.at.duration_since(epoch);
        let kind = ReadKind {
            user: read.user,
            program: read.program,
            agent: read.agent,
            verb: read.verb,
            kind: read.kind,
            name: read.name,
            subresource: read.subresource,
            is_refused: read.code == FORBIDDEN,
        };
        self.0.entry(kind).or_default().add(since);
    }

    /// Forgets all reads.
    pub(in crate::engine) fn clear(&mut self) {
        self.0.clear();
    }

    /// The kinds of reads.
    pub(in crate::engine) fn kinds(&self) -> impl Iterator<Item = &ReadKind> {
        self.0.keys()
    }

    /// The reads since `epoch` of all kinds that `is_meant` selects, with their times; those of one kind are in order.
    pub(in crate::engine) fn times(
        &self,
        epoch: Time,
        is_meant: impl Fn(&ReadKind) -> bool,
    ) -> impl Iterator<Item = (Time, &ReadKind)> {
        let meant = self.0.iter().filter(move |(kind, _)| is_meant(kind));
        meant.flat_map(move |(kind, moments)| {
            let times = moments.times().filter(|since| !since.is_negative());
            times.map(move |since| (after(epoch, since), kind))
        })
    }
}

/// The number of reads at each moment, as the time since the start.
#[derive(Debug, Default)]
struct Moments {
    counts: BTreeMap<SignedDuration, u32>,
    /// The length of a moment in milliseconds; 0 as long as each has its exact time.
    length: i64,
}

impl Moments {
    fn add(&mut self, since: SignedDuration) {
        *self.counts.entry(self.moment(since)).or_default() += 1;
        while self.counts.len() > MOMENTS {
            self.length = (self.length * 2).max(1);
            for (since, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(self.moment(since)).or_default() += count;
            }
        }
    }

    /// The start of the moment that a time belongs to.
    fn moment(&self, since: SignedDuration) -> SignedDuration {
        if self.length == 0 {
            return since;
        }
        let whole = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        SignedDuration::from_millis(whole - whole.rem_euclid(self.length))
    }

    /// The times of the reads. Those of a long moment are spread evenly over it.
    fn times(&self) -> impl Iterator<Item = SignedDuration> {
        let length = SignedDuration::from_millis(self.length);
        self.counts.iter().flat_map(move |(since, count)| {
            let share = length / i32::try_from(*count).unwrap_or(i32::MAX);
            (0..*count).map(move |number| *since + share * i32::try_from(number).unwrap_or(i32::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_moments_become_fewer_and_no_read_is_lost() {
        let mut moments = Moments::default();
        let reads = 5 * MOMENTS;
        for number in 0..reads {
            moments.add(SignedDuration::from_millis(i64::try_from(number).unwrap() * 100));
        }
        assert!(moments.counts.len() <= MOMENTS);
        let times: Vec<SignedDuration> = moments.times().collect();
        assert_eq!(times.len(), reads);
        assert!(times.is_sorted());
        let error = SignedDuration::from_millis(moments.length);
        for (number, time) in times.iter().enumerate() {
            let exact = SignedDuration::from_millis(i64::try_from(number).unwrap() * 100);
            assert!((*time - exact).abs() <= error, "{number}: {time} {exact}");
        }
    }

    #[test]
    fn few_moments_are_exact() {
        let mut moments = Moments::default();
        let exact =
            [SignedDuration::from_nanos(1), SignedDuration::from_nanos(1), SignedDuration::from_secs(3)];
        for since in exact {
            moments.add(since);
        }
        assert!(moments.times().eq(exact));
    }
}
