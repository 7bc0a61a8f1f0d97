//! `windtunnel schema`: shapes for editors.

use super::args::SchemaOf;
use super::{Exit, say};
use crate::scenario;

/// Prints a JSON Schema.
pub(super) fn schema(of: SchemaOf) -> Result<Exit, String> {
    let schema = match of {
        SchemaOf::Scenario => scenario::schema(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())?;
    say(&(text + "\n"));
    Ok(Exit::Passed)
}
