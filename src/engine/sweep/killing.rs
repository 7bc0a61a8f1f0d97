//! Components that are killed by name.

use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::text::did_you_mean;

use crate::engine::error::SessionError;
use crate::engine::session::Session;

impl Session {
    /// Finds the component of this name.
    pub(super) fn component(&self, name: &str) -> Result<ActorId, SessionError> {
        let known = || self.simulation.schedule.names();
        known().find(|(_, known)| *known == name).map(|(id, _)| id).ok_or_else(|| SessionError::NotThere {
            kind: "component".to_owned(),
            name: name.to_owned(),
            hint: did_you_mean(name, known().map(|(_, name)| name)),
        })
    }

    /// Kills a component, which loses its memory and is started again as a real one is. Without effect if it does not
    /// run at this moment.
    pub(super) fn kill(&mut self, name: &str) -> Result<(), SessionError> {
        let Ok(id) = self.component(name) else { return Ok(()) };
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.crash(id);
            simulation.settle()
        })
    }
}
