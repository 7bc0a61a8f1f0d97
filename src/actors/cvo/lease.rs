//! Leader election by the Lease `openshift-cluster-version/version`, with the operator's own times.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::outbox::{Outbox, Purpose};
use crate::base::clock::{Time, after, parse_rfc3339, rfc3339_micro};
use crate::model::resources::LEASES;
use crate::model::{Object, View, Write};

/// Namespace of the operator and its Lease.
pub(super) const NAMESPACE: &str = "openshift-cluster-version";
const NAME: &str = "version";
const LEASE_DURATION_SECONDS: i64 = 137;
/// How often the holder renews and others look.
const RETRY_PERIOD: SignedDuration = SignedDuration::from_secs(26);

/// One candidate's part in the election.
#[derive(Debug)]
pub(super) struct Election {
    holder: String,
    leads: bool,
    next_at: Option<Time>,
}

impl Election {
    /// A candidate with this identity; it looks at once.
    pub(super) fn new(holder: String, now: Time) -> Self {
        Self { holder, leads: false, next_at: Some(now) }
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
        self.next_at = Some(now + RETRY_PERIOD);
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
        value["spec"]["leaseDurationSeconds"] = json!(LEASE_DURATION_SECONDS);
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
                "leaseDurationSeconds": LEASE_DURATION_SECONDS,
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
