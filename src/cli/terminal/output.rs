//! Output formats for other programs.

use serde::Serialize;
use windtunnel_core::yaml;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Format {
    /// Returns the text of a value, with a line break at the end.
    ///
    /// # Errors
    /// The value cannot be serialized.
    pub(in crate::cli) fn text(self, value: &impl Serialize) -> Result<String, String> {
        match self {
            Self::Yaml => yaml::to_string(value).map_err(|error| error.to_string()),
            Self::Json => {
                serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
            }
        }
    }
}
