//! Forms in which data is printed for other programs.

use serde::Serialize;
use windtunnel_core::yaml;

/// A form of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Format {
    /// The text of a value, which ends with a new line.
    ///
    /// # Errors
    /// It has no such text.
    pub(super) fn text(self, value: &impl Serialize) -> Result<String, String> {
        match self {
            Self::Yaml => yaml::to_string(value).map_err(|error| error.to_string()),
            Self::Json => {
                serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
            }
        }
    }
}
