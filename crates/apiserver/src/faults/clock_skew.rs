//! Clients with a wrong clock. Only Leases have times that one client writes and another one compares with its own clock.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::clock::{after, parse_rfc3339, rfc3339_micro};
use windtunnel_core::requests::faults::Trouble;

use super::{Active, Faults, Reader};
use crate::reply::lazy_object::LazyObject;
use crate::reply::{Reply, ReplyBody};
use crate::store::Stored;

/// The fields of a Lease's `spec` with times.
const TIMES: [&str; 2] = ["acquireTime", "renewTime"];

/// The difference of a client's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockSkew {
    /// How far the clock is ahead; negative if it is behind.
    ahead: SignedDuration,
}

impl Faults {
    /// The difference of the clock with which a client writes and reads Leases. Of several faults the last one counts.
    pub(crate) fn clock_skew(
        &self,
        resource: &Resource,
        reader: impl FnOnce() -> Reader,
    ) -> Option<ClockSkew> {
        let is_lease = resource.kind == "Lease" && resource.group == "coordination.k8s.io";
        if !is_lease || !self.has_skewed_clocks() {
            return None;
        }
        let reader = reader();
        let matching = |active: &&Active| active.fault.requests.matches(&reader.attributes());
        self.active.iter().rev().filter(matching).find_map(Active::clock_skew)
    }

    /// Whether a client has a wrong clock.
    pub(super) fn has_skewed_clocks(&self) -> bool {
        self.active.iter().any(|active| active.clock_skew().is_some())
    }
}

impl Active {
    fn clock_skew(&self) -> Option<ClockSkew> {
        match self.fault.trouble {
            Trouble::SkewedClock(ahead) => Some(ClockSkew { ahead }),
            _ => None,
        }
    }
}

impl ClockSkew {
    /// Gives a Lease in a body, or a patch of one, the times that the client would have written by its wrong clock.
    pub(crate) fn skew_written(self, body: &mut Value) {
        match body {
            Value::Array(operations) => {
                for operation in operations {
                    self.skew_operation(operation);
                }
            }
            lease => shift_lease(lease, self.ahead),
        }
    }

    /// Shifts the times in an operation of a JSON patch.
    fn skew_operation(self, operation: &mut Value) {
        let path = operation["path"].as_str().unwrap_or_default().to_owned();
        let Some(value) = operation.get_mut("value") else { return };
        match path.strip_prefix("/spec") {
            Some("") => shift_spec(value, self.ahead),
            Some(field) if TIMES.iter().any(|time| field.strip_prefix('/') == Some(time)) => {
                shift_time(value, self.ahead);
            }
            None if path.is_empty() => shift_lease(value, self.ahead),
            _ => {}
        }
    }

    /// A Lease as the client compares it with its wrong clock.
    pub(crate) fn shown(self, lease: &Stored) -> Stored {
        let mut shown = (**lease).clone();
        shift_lease(&mut shown, -self.ahead);
        lease.with(shown)
    }

    /// A reply with the Leases as the client compares them with its wrong clock. A watch does this itself.
    pub(crate) fn show(self, mut reply: Reply) -> Reply {
        match &mut reply.body {
            ReplyBody::Object(lease) => *lease = self.shown(lease),
            ReplyBody::List(list) => {
                for item in &mut list.items {
                    *item = LazyObject::Loaded(self.shown(&item.load()));
                }
            }
            _ => {}
        }
        reply
    }
}

fn shift_lease(lease: &mut Value, by: SignedDuration) {
    if let Some(spec) = lease.get_mut("spec") {
        shift_spec(spec, by);
    }
}

fn shift_spec(spec: &mut Value, by: SignedDuration) {
    for name in TIMES {
        if let Some(time) = spec.get_mut(name) {
            shift_time(time, by);
        }
    }
}

/// Shifts a time. Anything else is left for the validation.
fn shift_time(time: &mut Value, by: SignedDuration) {
    if let Some(at) = time.as_str().and_then(parse_rfc3339) {
        *time = Value::String(rfc3339_micro(after(at, by)));
    }
}
