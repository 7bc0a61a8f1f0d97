//! Exact texts of a step that differ from what was seen, for `--update`.

use std::fmt;

/// The texts of a failed step that differ, or why they cannot be replaced.
pub type Differences = Result<Vec<TextDifference>, String>;

/// An exact text of a failed step that differs from what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextDifference {
    /// Its place in the step.
    pub place: TextPlace,
    /// The expected text.
    pub wanted: String,
    /// The text that was seen.
    pub seen: String,
}

/// The place of an expected text in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPlace {
    /// Standard output of a command.
    Prints,
    /// Standard error of a command.
    Warns,
    /// The message of a rejection.
    Refused,
    /// The reason of the condition of this type.
    Reason(String),
    /// The message of the condition of this type.
    Message(String),
    /// A field, by its path.
    Field(String),
    /// The annotation of an alert with this name.
    Annotation(String),
    /// The STATUS of a pod.
    PodStatus,
}

impl TextPlace {
    /// Whether spaces and line breaks at the end of the text are ignored.
    pub fn ignores_end(&self) -> bool {
        matches!(self, Self::Prints | Self::Warns | Self::Refused)
    }

    /// The name of the text in a step: the key, or the word in front of it.
    pub fn name(&self) -> &str {
        match self {
            Self::Prints => "prints",
            Self::Warns => "warns",
            Self::Refused => "refused",
            Self::Reason(_) => "reason",
            Self::Message(_) => "message",
            Self::Field(path) => path.strip_prefix("impact.").unwrap_or(path),
            Self::Annotation(name) => name,
            Self::PodStatus => "pod-status",
        }
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reason(kind) | Self::Message(kind) => write!(f, "`{}` of condition {kind}", self.name()),
            Self::Annotation(name) => write!(f, "annotation `{name}`"),
            _ => write!(f, "`{}`", self.name()),
        }
    }
}
