//! Leader election by the Lease `openshift-cluster-version/version`, with the operator's own times.

mod locks;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after, rfc3339_micro};
use windtunnel_core::resources::INFRASTRUCTURES;
use windtunnel_core::rng::Stream;

use self::locks::Record;
use super::outbox::{Outbox, Purpose};

/// Namespace of the operator and its Lease.
pub(super) const NAMESPACE: &str = "openshift-cluster-version";

/// How long a Lease is good for, how long its holder tries to renew it before it gives up, and how often it and others
/// look.
#[derive(Debug, Clone, Copy)]
struct Timing {
    lease_seconds: i64,
    renew_deadline: SignedDuration,
    retry: SignedDuration,
}

/// So that clusters get over a kube-apiserver that is away for a minute.
const SEVERAL_NODES: Timing = Timing {
    lease_seconds: 137,
    renew_deadline: SignedDuration::from_secs(107),
    retry: SignedDuration::from_secs(26),
};
/// Where the kube-apiserver has no other node to be on, it is away for longer.
const SINGLE_NODE: Timing = Timing {
    lease_seconds: 270,
    renew_deadline: SignedDuration::from_secs(240),
    retry: SignedDuration::from_secs(60),
};
/// Who does not lead looks a little less often, lest all look at once: up to this share longer.
const JITTER: f64 = 1.2;

impl Timing {
    /// By the topology of the control plane, which a process asks for when it starts.
    fn of(view: &View) -> Self {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let topology = infrastructure.map_or("", |object| object.text("/status/controlPlaneTopology"));
        if topology == "SingleReplica" { SINGLE_NODE } else { SEVERAL_NODES }
    }
}

/// One candidate.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its identity, which no other process ever has.
    pub(super) holder: String,
    /// Whether it locks a ConfigMap as well (up to 4.14).
    pub(super) locks_config_map: bool,
    /// What its pauses are drawn from.
    pub(super) pauses: Stream,
}

/// One candidate's part in the election.
#[derive(Debug, Clone)]
pub(super) struct Election {
    candidate: Candidate,
    timing: Timing,
    /// What was seen last, and since when it is so: clocks of other machines are not trusted.
    seen: Option<(Value, Time)>,
    /// Whether no part of the claim that is under way was refused.
    granted: bool,
    /// While it leads: when it gives up for want of a renewal.
    renew_by: Option<Time>,
    next_at: Option<Time>,
}

impl Election {
    /// A candidate's, who looks for the first time at this moment.
    pub(super) fn new(candidate: Candidate, view: &View, at: Time) -> Self {
        let timing = Timing::of(view);
        Self { candidate, timing, seen: None, granted: true, renew_by: None, next_at: Some(at) }
    }

    /// The candidate's identity.
    pub(super) fn holder(&self) -> &str {
        &self.candidate.holder
    }

    /// Whether this candidate leads.
    pub(super) fn leads(&self) -> bool {
        self.renew_by.is_some()
    }

    /// Whether it led and could not renew for so long that it must end before somebody else begins.
    pub(super) fn is_lost(&self, now: Time) -> bool {
        self.renew_by.is_some_and(|at| at <= now)
    }

    /// When it wants to look again.
    pub(super) fn wake_at(&self) -> Option<Time> {
        [self.next_at, self.renew_by].into_iter().flatten().min()
    }

    /// Acquires or renews when it is time to.
    pub(super) fn run(&mut self, view: &View, now: Time, out: &mut Outbox) {
        if self.next_at.is_none_or(|at| at > now) || out.awaits(Purpose::Lease) {
            return;
        }
        self.next_at = Some(now + self.pause());
        let current = locks::current(view, self.candidate.locks_config_map);
        let free = match &current {
            None => true,
            Some(current) if current.holder == self.candidate.holder => true,
            Some(current) => self.is_free(current, now),
        };
        if free {
            for write in
                locks::writes(view, &self.claim(current.as_ref(), now), self.candidate.locks_config_map)
            {
                out.push(Purpose::Lease, write);
            }
        }
    }

    fn pause(&mut self) -> SignedDuration {
        let longer = if self.leads() { 0.0 } else { JITTER * self.candidate.pauses.fraction() };
        self.timing.retry.mul_f64(1.0 + longer)
    }

    /// Whether nobody holds it, or its holder has not renewed it for as long as it was seen to be good.
    fn is_free(&mut self, current: &Record, now: Time) -> bool {
        let same = self.seen.as_ref().filter(|(raw, _)| *raw == current.raw);
        let since = same.map_or(now, |(_, since)| *since);
        self.seen = Some((current.raw.clone(), since));
        current.holder.is_empty() || after(since, SignedDuration::from_secs(current.seconds)) <= now
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

    /// Takes the answer to a claim in, of which the `last` part decides; true when leadership begins with it.
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

    /// Gives leadership up, as a clean exit does. One that was lost to somebody else is not given up.
    pub(super) fn release(&mut self, view: &View, now: Time, out: &mut Outbox) {
        let led = self.renew_by.take().is_some();
        self.next_at = None;
        let current = locks::current(view, self.candidate.locks_config_map);
        let Some(own) = current.filter(|current| led && current.holder == self.candidate.holder) else {
            return;
        };
        let time = rfc3339_micro(now);
        let released =
            Record { holder: String::new(), seconds: 1, acquired: time.clone(), renewed: time, ..own };
        for write in locks::writes(view, &released, self.candidate.locks_config_map) {
            out.push(Purpose::Lease, write);
        }
    }
}
