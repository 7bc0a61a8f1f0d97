//! Clients with a wrong clock.

use windtunnel_core::Resource;
use windtunnel_core::requests::faults::FaultEffect;

use super::{Active, Faults, Reader};
use crate::request::clock_skew::ClockSkew;

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
        match self.fault.effect {
            FaultEffect::SkewedClock(ahead) => Some(ClockSkew::ahead_by(ahead)),
            _ => None,
        }
    }
}
