//! Faults end when a user removes their annotation, as `kubectl annotate co dns windtunnel.dev/fault-` does.

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::FaultTarget;

impl Simulation {
    /// Ends the faults whose annotations were removed. Operators and nodes keep their reports without one, so they
    /// get the annotation that heals them.
    pub(in crate::engine) fn end_unannotated_faults(&mut self) -> Result<(), SessionError> {
        for target in self.observers.unannotated.take() {
            self.faults_in_effect.end_all(&target);
            if matches!(target, FaultTarget::Operator(_) | FaultTarget::Node(_))
                && self.check_faulty(&target).is_ok()
            {
                self.heal(&target)?;
            }
        }
        Ok(())
    }
}
