//! The Gherkin vocabulary, by kind of step: what is given, what is done, what must hold. A step turns its words into
//! one call of the engine and holds no logic of its own.

pub mod catalogue;
mod driver;
mod faults;
mod gherkin;
mod given;
mod layout;
mod odd;
mod panics;
mod phrase;
mod rehearsal;
mod suite;
mod then;
mod update_service;
mod when;
mod world;

pub use cucumber::gherkin::tagexpr::TagOperation;
pub use suite::{Playing, ScenarioResult, Suite};

/// Reads a folder that a feature names: both as they are written, to names and texts of the folder's YAML files.
pub type ReadFolder = fn(&str, &str) -> Result<Vec<(String, String)>, String>;
