//! The Gherkin steps, by topic: Given, When and Then. A step function translates its text into one call of
//! the engine and has no logic of its own.

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
pub use suite::{Playing, Suite, matches_tags};

/// Names and texts of files.
pub type Files = Vec<(String, String)>;

/// Functions that load files next to a feature. Each gets the feature's path and a name as written in the
/// feature.
#[derive(Debug, Clone, Copy)]
pub struct FeatureFiles {
    /// Returns names and texts of the YAML files in a folder.
    pub folder: fn(&str, &str) -> Result<Files, String>,
    /// Returns the text of a file.
    pub text: fn(&str, &str) -> Result<String, String>,
    /// Returns a file with an expected output.
    pub snapshot: fn(&str, &str) -> Result<Snapshot, String>,
}
