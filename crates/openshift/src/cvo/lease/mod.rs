//! Leader election by the Lease `openshift-cluster-version/version`, or up to 4.14 by a ConfigMap of that name,
//! with the operator's own durations.

mod locks;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after, rfc3339_micro};
use windtunnel_core::resources::INFRASTRUCTURES;
use windtunnel_core::rng::Stream;

pub(super) use self::locks::Locks;
use self::locks::Record;
use super::outbox::{Outbox, Purpose};

pub(super) const NAMESPACE: &str = "openshift-cluster-version";

/// Validity of the Lease, how long the leader tries to renew it before it gives up, and the interval between
/// attempts.
#[derive(Debug, Clone, Copy)]
struct Timing {
    lease_seconds: i64,
    renew_deadline: SignedDuration,
    retry: SignedDuration,
}

/// These values let a cluster survive a kube-apiserver outage of one minute.
const SEVERAL_NODES: Timing = Timing {
    lease_seconds: 137,
    renew_deadline: SignedDuration::from_secs(107),
    retry: SignedDuration::from_secs(26),
};
/// With a single control-plane node the kube-apiserver is unavailable for longer.
const SINGLE_NODE: Timing = Timing {
    lease_seconds: 270,
    renew_deadline: SignedDuration::from_secs(240),
    retry: SignedDuration::from_secs(60),
};
/// Candidates wait up to this share longer than the leader, so that they do not all try at once.
const JITTER: f64 = 1.2;

impl Timing {
    /// Chooses the durations by the control plane's topology, which a process reads at its start.
    fn for_cluster(view: &View) -> Self {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let topology = infrastructure.map_or("", |object| object.text("/status/controlPlaneTopology"));
        if topology == "SingleReplica" { SINGLE_NODE } else { SEVERAL_NODES }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its identity, unique per process.
    pub(super) holder: String,
    /// The objects that it locks.
    pub(super) locks: Locks,
    /// Random numbers for its pauses.
    pub(super) pauses: Stream,
}

/// The state of one candidate.
#[derive(Debug, Clone)]
pub(super) struct Election {
    candidate: Candidate,
    timing: Timing,
    /// The last seen record, and the local time since when it is unchanged. The times in the record are not
    /// used, because clocks of other machines are not trusted.
    seen: Option<(Value, Time)>,
    /// Whether all answers to the current claim were successful so far.
    granted: bool,
    /// For a leader, when it gives up unless it renews its Lease.
    renew_by: Option<Time>,
    next_at: Option<Time>,
}

impl Election {
    /// A candidate with its first attempt at this time.
    pub(super) fn new(candidate: Candidate, view: &View, at: Time) -> Self {
        let timing = Timing::for_cluster(view);
        Self { candidate, timing, seen: None, granted: true, renew_by: None, next_at: Some(at) }
    }

    pub(super) fn holder(&self) -> &str {
        &self.candidate.holder
    }

    pub(super) fn leads(&self) -> bool {
        self.renew_by.is_some()
    }

    /// Returns whether a leader failed to renew for so long that it must exit before another process takes
    /// over.
    pub(super) fn is_lost(&self, now: Time) -> bool {
        self.renew_by.is_some_and(|at| at <= now)
    }

    /// The time of the next attempt, or when leadership is lost.
    pub(super) fn wake_at(&self) -> Option<Time> {
        [self.next_at, self.renew_by].into_iter().flatten().min()
    }

    /// Acquires or renews the Lease when it is due.
    pub(super) fn run(&mut self, view: &View, now: Time, out: &mut Outbox) {
        if self.next_at.is_none_or(|at| at > now) || out.awaits(Purpose::Lease) {
            return;
        }
        self.next_at = Some(now + self.pause());
        let current = locks::current(view, self.candidate.locks);
        let free = match &current {
            None => true,
            Some(current) if current.holder == self.candidate.holder => true,
            Some(current) => self.is_free(current, now),
        };
        if free {
            for write in locks::writes(view, &self.claim(current.as_ref(), now), self.candidate.locks) {
                out.push(Purpose::Lease, write);
            }
        }
    }

    fn pause(&mut self) -> SignedDuration {
        let longer = if self.leads() { 0.0 } else { JITTER * self.candidate.pauses.fraction() };
        self.timing.retry.mul_f64(1.0 + longer)
    }

    /// Returns whether the Lease has no holder, or was not renewed during its validity.
    fn is_free(&mut self, current: &Record, now: Time) -> bool {
        let same = self.seen.as_ref().filter(|(raw, _)| *raw == current.raw);
        let unchanged_since = same.map_or(now, |(_, since)| *since);
        self.seen = Some((current.raw.clone(), unchanged_since));
        current.holder.is_empty() || after(unchanged_since, SignedDuration::from_secs(current.seconds)) <= now
    }

    fn claim(&self, current: Option<&Record>, now: Time) -> Record {
        let time = rfc3339_micro(now);
        let own = current.filter(|current| current.holder == self.candidate.holder);
        let acquired = own.map_or_else(|| time.clone(), |own| own.acquired.clone());
        let transitions = match (own, current) {
            (Some(own), _) => own.transitions,
            (None, Some(other)) => other.transitions.saturating_add(1),
            (None, None) => 0,
        };
        Record {
            holder: self.candidate.holder.clone(),
            seconds: self.timing.lease_seconds,
            acquired,
            renewed: time,
            transitions,
            raw: Value::Null,
        }
    }

    /// Handles an answer to a claim. A claim succeeds if all its writes do, which is known with the `last`
    /// answer. Returns true if leadership starts.
    pub(super) fn answered(&mut self, granted: bool, last: bool, now: Time) -> bool {
        self.granted &= granted;
        if !last || !std::mem::replace(&mut self.granted, true) {
            return false;
        }
        let begins = !self.leads();
        let next = now + self.timing.retry;
        (self.next_at, self.renew_by) = (Some(next), Some(next + self.timing.renew_deadline));
        begins
    }

    /// Releases the Lease on a clean exit, unless another process holds it.
    pub(super) fn release(&mut self, view: &View, now: Time, out: &mut Outbox) {
        let was_leader = self.renew_by.take().is_some();
        self.next_at = None;
        let current = locks::current(view, self.candidate.locks);
        let Some(own) = current.filter(|current| was_leader && current.holder == self.candidate.holder)
        else {
            return;
        };
        let time = rfc3339_micro(now);
        let released =
            Record { holder: String::new(), seconds: 1, acquired: time.clone(), renewed: time, ..own };
        for write in locks::writes(view, &released, self.candidate.locks) {
            out.push(Purpose::Lease, write);
        }
    }
}
