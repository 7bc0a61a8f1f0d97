//! The Gherkin vocabulary, by kind of step: what is given, what is done, what must hold. A step turns its words into
//! one call of the engine and holds no logic of its own.

mod aliases;
pub mod catalogue;
mod commands;
mod driver;
mod faults;
mod gherkin;
mod given;
mod insights;
mod layout;
mod odd;
mod outside;
mod phrase;
mod rehearsal;
mod results;
mod since;
mod suite;
mod test_data;
mod then;
pub mod twins;
mod update_service;
mod when;
mod world;

use crate::plan::Snapshot;

pub use cucumber::gherkin::tagexpr::TagOperation;
pub use results::{Place, SaidStep, ScenarioResult};
pub use suite::{Playing, Suite, tagged};

/// Names and texts of files.
pub type Files = Vec<(String, String)>;

/// Reads what lies beside features: each function is given the feature's file and a name as they are written.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// Names and texts of the YAML files in a folder.
    pub folder: fn(&str, &str) -> Result<Files, String>,
    /// The text of a file.
    pub text: fn(&str, &str) -> Result<String, String>,
    /// A file to compare with.
    pub snapshot: fn(&str, &str) -> Result<Snapshot, String>,
}
