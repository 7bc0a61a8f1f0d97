//! The warnings that `kubectl` and `oc` print for fields that the API server drops.

use serde_json::Value;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Resource, View, Write};

use super::runtime::Simulation;
use crate::plan::path;
use crate::record::Event;

/// The start of the line of a command that only reports the warnings of an action.
const CLIENT: &str = "oc ";

/// The start of a warning.
const WARNING: &str = "Warning: unknown field";

/// Returns the paths of the fields in a patch or an object that no object of the kind has, sorted.
pub(super) fn unknown_fields(view: &View, resource: &Resource, content: &Value) -> Vec<String> {
    let name = format!("{}.{}", resource.plural, resource.group);
    let definition = view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", &name).map(|found| &**found);
    path::unknown_fields(resource, definition, content)
}

/// Records what the client of an action prints for unknown fields.
pub(super) fn print(simulation: &mut Simulation, verb: &str, write: &Write, unknown: &[String]) {
    if unknown.is_empty() {
        return;
    }
    let warnings = unknown.iter().map(|path| format!("{WARNING} {path:?}\n"));
    simulation.record_event(Event::Command {
        line: format!("{CLIENT}{verb} {}/{}", write.resource.kind, write.name),
        code: 0,
        stdout: String::new(),
        stderr: warnings.collect(),
    });
}

/// Whether an event of a command only has the warnings of an action.
pub(super) fn is_warning(line: &str, stdout: &str, stderr: &str) -> bool {
    stdout.is_empty()
        && stderr.starts_with(WARNING)
        && ["apply ", "patch "]
            .iter()
            .any(|verb| line.strip_prefix(CLIENT).is_some_and(|rest| rest.starts_with(verb)))
}
