//! The Gherkin steps, by topic: Given, When and Then. A step function translates its text into one call of
//! the engine and has no logic of its own.

pub mod catalogue;
mod definitions;
mod driver;
mod dry_run;
mod gherkin;
mod layout;
mod phrase;
mod results;
mod rewrite;
pub mod split_upgrade;
mod suite;
mod warnings;
mod world;

use crate::plan::Snapshot;

pub use cucumber::gherkin::tagexpr::TagOperation;
pub use results::{FeatureStep, Place, ScenarioResult};
pub use rewrite::with_text;
pub use suite::{RunOptions, Suite, matches_tags};

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
