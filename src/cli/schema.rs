//! `windtunnel schema`: JSON Schemas for editors.

use super::args::SchemaOf;
use super::{Exit, print_output};
use crate::{rehearsal, scenario};

pub(super) fn schema(kind: SchemaOf) -> Result<Exit, String> {
    let schema = match kind {
        SchemaOf::Scenario => scenario::schema(),
        SchemaOf::Rehearsal => rehearsal::schema(),
        SchemaOf::Rehearsals => rehearsal::schema_of_several(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())?;
    print_output(&(text + "\n"));
    Ok(Exit::Passed)
}
