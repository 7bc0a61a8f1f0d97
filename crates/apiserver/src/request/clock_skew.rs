//! The times in Leases, as a client with a wrong clock writes and reads them. Only Leases have times that one client writes and
//! another one compares with its own clock.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{after, parse_rfc3339, rfc3339_micro};

/// The fields of a Lease's `spec` with times.
const TIMES: [&str; 2] = ["acquireTime", "renewTime"];

/// The difference of a client's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockSkew {
    /// How far the clock is ahead; negative if it is behind.
    ahead: SignedDuration,
}

impl ClockSkew {
    /// The difference of a clock that is this far ahead; negative if it is behind.
    pub(crate) fn ahead_by(ahead: SignedDuration) -> Self {
        Self { ahead }
    }

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

    /// Gives a Lease the times that the client compares with its wrong clock.
    pub(crate) fn skew_shown(self, lease: &mut Value) {
        shift_lease(lease, -self.ahead);
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
