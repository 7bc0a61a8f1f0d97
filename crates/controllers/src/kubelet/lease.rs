//! The Lease that a kubelet renews as a heartbeat, independently of changes of its node's status.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, rfc3339_micro};
use windtunnel_core::resources::{LEASES, NODES};
use windtunnel_core::{Key, View, Write};

/// The namespace of node Leases.
pub const NAMESPACE: &str = "kube-node-lease";
/// How long a renewal is valid (`nodeLeaseDurationSeconds`).
const DURATION_SECONDS: i64 = 40;
/// Renewals take place four times per duration.
const RENEWED_EVERY: SignedDuration = SignedDuration::from_secs(DURATION_SECONDS / 4);

/// The Lease of one node.
#[derive(Debug, Clone)]
pub(super) struct NodeLease {
    node: String,
    renewed_at: Option<Time>,
    every: SignedDuration,
}

impl NodeLease {
    /// Creates a Lease that is due for renewal. `stretch` multiplies the renewal interval.
    pub(super) fn of(node: &str, stretch: i32) -> Self {
        let every = RENEWED_EVERY.saturating_mul(stretch.max(1));
        Self { node: node.to_owned(), renewed_at: None, every }
    }

    /// The key of the Lease.
    pub(super) fn key(&self) -> Key {
        LEASES.key(NAMESPACE, &self.node)
    }

    /// Returns the write that is due, and the time of the next renewal.
    pub(super) fn renew_if_due(&mut self, view: &View, now: Time) -> (Option<Write>, Time) {
        if let Some(next) = self.renewed_at.map(|at| after(at, self.every)).filter(|next| *next > now) {
            return (None, next);
        }
        self.renewed_at = Some(now);
        let spec = json!({
            "holderIdentity": self.node,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": rfc3339_micro(now),
        });
        let write = match view.get_key(&self.key()) {
            Some(there) => {
                let mut lease = there.to_value();
                lease["spec"] = spec;
                if lease["metadata"]["ownerReferences"].is_null() {
                    lease["metadata"]["ownerReferences"] = self.owners(view);
                }
                Write::update(&LEASES, lease)
            }
            None => Write::create(
                &LEASES,
                json!({
                    "apiVersion": LEASES.api_version(),
                    "kind": LEASES.kind,
                    "metadata": {
                        "name": self.node,
                        "namespace": NAMESPACE,
                        "ownerReferences": self.owners(view),
                    },
                    "spec": spec,
                }),
            ),
        };
        (Some(write), after(now, self.every))
    }

    /// Shifts the renewal time when the clock is set.
    pub(super) fn leap(&mut self, by: SignedDuration) {
        self.renewed_at = self.renewed_at.map(|at| after(at, by));
    }

    /// Makes the next call retry a rejected renewal.
    pub(super) fn refused(&mut self) {
        self.renewed_at = None;
    }

    /// An owner reference to the node, so that the Lease is deleted with it.
    fn owners(&self, view: &View) -> Value {
        let Some(node) = view.get(&NODES, "", &self.node) else { return Value::Null };
        json!([{ "apiVersion": "v1", "kind": NODES.kind, "name": self.node, "uid": node.uid() }])
    }
}
