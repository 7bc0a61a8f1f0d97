//! Leader election by the Lease `openshift-cluster-version/version`, with the operator's own times.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::outbox::{Outbox, Purpose};
use crate::base::clock::{Time, after, parse_rfc3339, rfc3339_micro};
use crate::model::resources::{INFRASTRUCTURES, LEASES};
use crate::model::{Object, View, Write};

/// Namespace of the operator and its Lease.
pub(super) const NAMESPACE: &str = "openshift-cluster-version";
const NAME: &str = "version";

/// How long a Lease is good for, and how often its holder renews it and others look.
#[derive(Debug, Clone, Copy)]
struct Timing {
    lease_seconds: i64,
    retry: SignedDuration,
}

/// So that clusters get over a kube-apiserver that is away for a minute.
const SEVERAL_NODES: Timing = Timing { lease_seconds: 137, retry: SignedDuration::from_secs(26) };
/// Where the kube-apiserver has no other node to be on, it is away for longer.
const SINGLE_NODE: Timing = Timing { lease_seconds: 270, retry: SignedDuration::from_secs(60) };

impl Timing {
    /// By the topology of the control plane, which a process asks for when it starts.
    fn of(view: &View) -> Self {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let topology = infrastructure.map_or("", |object| object.text("/status/controlPlaneTopology"));
        if topology == "SingleReplica" { SINGLE_NODE } else { SEVERAL_NODES }
    }
}

/// One candidate's part in the election.
#[derive(Debug)]
pub(super) struct Election {
    holder: String,
    timing: Timing,
    leads: bool,
    next_at: Option<Time>,
}

impl Election {
    /// A candidate with this identity; it looks at once.
    pub(super) fn new(holder: String, view: &View, now: Time) -> Self {
        Self { holder, timing: Timing::of(view), leads: false, next_at: Some(now) }
    }

    /// Whether this candidate leads.
    pub(super) fn leads(&self) -> bool {
        self.leads
    }

    /// When it wants to look again.
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.next_at
    }

    /// Acquires or renews when it is time to.
    pub(super) fn run(&mut self, view: &View, now: Time, out: &mut Outbox) {
        if self.next_at.is_none_or(|at| at > now) || out.awaits(Purpose::Lease) {
            return;
        }
        self.next_at = Some(now + self.timing.retry);
        let current = view.get(&LEASES, NAMESPACE, NAME);
        let own = |lease: &Object| lease.text("/spec/holderIdentity") == self.holder;
        if current.is_none_or(|lease| own(lease) || is_free(lease, now)) {
            out.push(Purpose::Lease, self.claim(current, now));
        } else {
            // Someone else holds it: also who led until now has to wait until it runs out.
            self.leads = false;
        }
    }

    /// Takes the answer to a claim in; true when leadership begins with it.
    pub(super) fn answered(&mut self, granted: bool) -> bool {
        let begins = granted && !self.leads;
        self.leads = granted;
        begins
    }

    /// Gives leadership up, as a clean exit does.
    pub(super) fn release(&mut self, view: &View, now: Time, out: &mut Outbox) {
        if !self.leads {
            return;
        }
        self.leads = false;
        self.next_at = None;
        if let Some(lease) = view.get(&LEASES, NAMESPACE, NAME) {
            let mut value = lease.to_value();
            value["spec"]["holderIdentity"] = json!("");
            value["spec"]["leaseDurationSeconds"] = json!(1);
            value["spec"]["renewTime"] = json!(rfc3339_micro(now));
            out.push(Purpose::Lease, Write::update(&LEASES, value));
        }
    }

    fn claim(&self, current: Option<&Object>, now: Time) -> Write {
        let time = rfc3339_micro(now);
        let Some(lease) = current else {
            return Write::create(&LEASES, self.lease(&time));
        };
        let mut value = lease.to_value();
        if lease.text("/spec/holderIdentity") != self.holder {
            let transitions = lease.number("/spec/leaseTransitions").unwrap_or(0);
            value["spec"]["leaseTransitions"] = json!(transitions.saturating_add(1));
            value["spec"]["acquireTime"] = json!(time);
            value["spec"]["holderIdentity"] = json!(self.holder);
        }
        value["spec"]["leaseDurationSeconds"] = json!(self.timing.lease_seconds);
        value["spec"]["renewTime"] = json!(time);
        Write::update(&LEASES, value)
    }

    fn lease(&self, time: &str) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": NAME, "namespace": NAMESPACE },
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": self.timing.lease_seconds,
                "acquireTime": time,
                "renewTime": time,
                "leaseTransitions": 0,
            },
        })
    }
}

fn is_free(lease: &Object, now: Time) -> bool {
    let expired = || {
        let seconds = lease.number("/spec/leaseDurationSeconds").unwrap_or(0);
        parse_rfc3339(lease.text("/spec/renewTime"))
            .is_none_or(|renewed| after(renewed, SignedDuration::from_secs(seconds)) < now)
    };
    lease.text("/spec/holderIdentity").is_empty() || expired()
}
