//! Parsing and writing of YAML. Only this module calls the YAML library, so its settings are the same
//! everywhere.

use serde::de::DeserializeOwned;

#[cfg(feature = "yaml-write")]
use crate::text::visible;

mod limits;
mod node;
mod position;
mod repair;
mod replace;
mod write;

pub use node::{Kind, Node};
pub use position::position_of_text;
pub use repair::{Repaired, explain_structure};
pub use replace::replace_text;
pub use write::{comment, quoted, scalar};

/// An error in a YAML text, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct YamlError {
    /// Line, from 1; 0 if the library reports none.
    pub line: usize,
    /// Column, from 1; 0 if the library reports none.
    pub column: usize,
    /// The message, without the position.
    pub message: String,
    is_limit: bool,
    is_size: bool,
}

impl YamlError {
    /// Whether the text exceeds a limit of the library. No change of a line resolves that.
    pub fn is_limit(&self) -> bool {
        self.is_limit
    }

    /// Returns the error with what helps if the text is too large, which depends on what the text is.
    #[must_use]
    pub fn with_advice_on_size(mut self, advice: &str) -> Self {
        if self.is_size {
            self.message += &format!(": {advice}");
        }
        self
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
    }
}

fn error(error: &serde_saphyr::Error) -> YamlError {
    let exceeded = limits::exceeded(error);
    let is_limit = exceeded.is_some();
    let is_size = exceeded.as_ref().is_some_and(|exceeded| exceeded.is_size);
    let message = match exceeded {
        Some(limits::Exceeded { message, is_of_text: true, .. }) => {
            return YamlError { line: 1, column: 1, message, is_limit, is_size };
        }
        Some(limits::Exceeded { message, .. }) => message,
        None => message(error),
    };
    let location = error.location();
    let at = |pick: fn(&serde_saphyr::Location) -> u64| {
        location.as_ref().map_or(0, |found| usize::try_from(pick(found)).unwrap_or(0))
    };
    YamlError {
        line: at(serde_saphyr::Location::line),
        column: at(serde_saphyr::Location::column),
        message,
        is_limit,
        is_size,
    }
}

/// The message for users, without the position that the library appends.
fn message(error: &serde_saphyr::Error) -> String {
    let text = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let first = text.lines().next().unwrap_or_default();
    let end = first.rfind(" at line ").unwrap_or(first.len());
    first[..end].trim_end_matches([',', '.', ':', ' ']).to_owned()
}

/// The maximum nesting depth for [`parse_tree`]. A level takes some 40 kB of stack in debug builds, and test
/// threads have 2 MB.
const TREE_DEPTH_MAX: usize = 32;

/// Parses one document into a tree with positions. A duplicate key does not hide other errors in the text:
/// its error is returned beside the tree, which contains the first value.
///
/// # Errors
/// A syntax error, with its position.
pub fn parse_tree(text: &str) -> Result<(Node, Option<YamlError>), YamlError> {
    let parse = |policy| {
        let mut settings = options();
        settings.duplicate_keys = policy;
        settings.budget = serde_saphyr::budget! { max_depth: TREE_DEPTH_MAX };
        serde_saphyr::from_str_with_options::<Node>(text, settings)
    };
    let (mut tree, twice) = match parse(serde_saphyr::DuplicateKeyPolicy::Error) {
        Ok(tree) => (tree, None),
        Err(first) if is_duplicate_key(&first) => {
            let tree = parse(serde_saphyr::DuplicateKeyPolicy::FirstWins).map_err(|other| error(&other))?;
            (tree, Some(occurs_twice(error(&first))))
        }
        Err(first) => return Err(error(&first)),
    };
    tree.restore_scalar_source(text);
    Ok((tree, twice))
}

fn is_duplicate_key(error: &serde_saphyr::Error) -> bool {
    matches!(limits::cause(error), serde_saphyr::Error::DuplicateMappingKey { .. })
}

/// Rewords the library's error about a duplicate key.
fn occurs_twice(error: YamlError) -> YamlError {
    let key = error.message.strip_prefix("duplicate mapping key: ");
    let key = key.and_then(|rest| rest.strip_suffix(" not allowed here"));
    match key {
        Some(key) => {
            YamlError { message: format!("the key `{key}` occurs twice: remove one of them"), ..error }
        }
        None => error,
    }
}

/// A duplicate key of a map: the line of its value, from 1, and the key.
pub type Repeated = (usize, Node);

/// Parses one document as Go's parser of Kubernetes does: with the booleans and octal numbers of YAML 1.1, and with duplicate
/// keys, whose last value counts. Returns the duplicates in document order.
///
/// # Errors
/// A syntax error, with its position.
pub fn parse_lenient(text: &str) -> Result<(serde_json::Value, Vec<Repeated>), YamlError> {
    let mut settings = serde_saphyr::options! {
        strict_booleans: false,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let first = match serde_saphyr::from_str_with_options(text, settings.clone()) {
        Ok(value) if !has_converted_key(&value) => return Ok((value, Vec::new())),
        Ok(_) => None,
        Err(first) => Some(error(&first)),
    };
    if let Some(first) = first.as_ref().filter(|first| first.is_limit()) {
        return Err(first.clone());
    }
    settings.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    settings.budget = serde_saphyr::budget! { max_depth: TREE_DEPTH_MAX };
    let mut tree: Node = serde_saphyr::from_str_with_options(text, settings)
        .map_err(|other| first.unwrap_or_else(|| error(&other)))?;
    tree.restore_scalar_source(text);
    let mut repeated = Vec::new();
    tree.repeated(&mut repeated);
    if let Some(message) = tree.wrong_key() {
        return Err(YamlError { message, line: 0, column: 0, is_limit: false, is_size: false });
    }
    Ok((tree.to_json_as_go(), repeated))
}

/// Whether a key may be something else than text for Go's parser, if it has no quotes.
fn has_converted_key(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"];
    let is_converted = |key: &String| {
        key.is_empty()
            || key.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
            || key.strip_prefix('.').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
            || WORDS.iter().any(|word| word.eq_ignore_ascii_case(key))
    };
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| is_converted(key) || has_converted_key(value)),
        Value::Array(items) => items.iter().any(has_converted_key),
        _ => false,
    }
}

/// Parses one document.
///
/// # Errors
/// A syntax error, or a value that does not fit `T`, with its position.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|e| error(&e))
}

/// Parses all documents of a stream and skips empty ones.
///
/// # Errors
/// The same as of [`from_str`].
pub fn from_str_multi<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, YamlError> {
    serde_saphyr::from_multiple_with_options(text, options()).map_err(|e| error(&e))
}

/// Like [`from_str_multi`], for a text of any length, such as the dump of a large cluster. The expansion of
/// aliases stays limited.
///
/// # Errors
/// The same as of [`from_str`].
pub fn from_str_multi_large<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, YamlError> {
    serde_saphyr::from_multiple_with_options(text, large(text)).map_err(|e| error(&e))
}

/// Like [`from_str_multi_large`], but accepts duplicate keys, of which the last value wins. Kubernetes'
/// decoder for manifests does this (sigs.k8s.io/yaml without strict decoding).
///
/// # Errors
/// The same as of [`from_str`].
pub fn from_str_multi_lenient<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, YamlError> {
    let mut settings = large(text);
    settings.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    serde_saphyr::from_multiple_with_options(text, settings).map_err(|e| error(&e))
}

/// The reason why [`from_str_multi_within`] rejects a text.
#[derive(Debug)]
pub(crate) enum BoundedYamlError {
    /// It has too many values.
    Values,
    /// It has too many documents.
    Documents,
    /// Any other error.
    Other(YamlError),
}

/// Like [`from_str_multi_large`], with a limit on values and documents.
pub(crate) fn from_str_multi_within<T: DeserializeOwned>(
    text: &str,
    values: usize,
    documents: usize,
) -> Result<Vec<T>, BoundedYamlError> {
    use serde_saphyr::budget::BudgetBreach;
    let mut settings = large(text);
    if let Some(budget) = &mut settings.budget {
        budget.max_nodes = values;
        budget.max_documents = documents;
    }
    serde_saphyr::from_multiple_with_options(text, settings).map_err(|found| match limits::cause(&found) {
        serde_saphyr::Error::Budget { breach: BudgetBreach::Nodes { .. }, .. } => BoundedYamlError::Values,
        serde_saphyr::Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            BoundedYamlError::Documents
        }
        _ => BoundedYamlError::Other(error(&found)),
    })
}

/// Options for a text of any length.
fn large(text: &str) -> serde_saphyr::Options {
    let mut settings = options();
    settings.emit_comments = false; // The library keeps each in memory.
    let length = text.len();
    // A text cannot have more nodes than characters.
    settings.budget = serde_saphyr::budget! {
        max_reader_input_bytes: None,
        max_events: 2 * length + 100,
        max_nodes: length + 100,
        max_total_scalar_bytes: length + 100,
        max_total_comment_bytes: length + 100,
        max_documents: length + 100,
    };
    settings
}

/// Serializes a value as one document that ends with a newline. A value with characters that act on a terminal or on a CI system is
/// written with their escapes, in JSON below its first level.
///
/// # Errors
/// The value cannot be represented in YAML, such as a map with composite keys.
#[cfg(feature = "yaml-write")]
pub fn to_string(value: &impl serde::Serialize) -> Result<String, YamlError> {
    let failed = |message: String| YamlError { line: 0, column: 0, message, is_limit: false, is_size: false };
    let text = serde_saphyr::to_string(value).map_err(|error| failed(error.to_string()))?;
    if visible(&text) == text {
        return Ok(text);
    }
    Ok(write::with_escapes(&serde_json::to_value(value).map_err(|error| failed(error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lenient_parser_accepts_duplicate_keys() {
        let twice = "{a: 1, b: 2, a: 3}\n---\nc: 4\n";
        assert!(from_str_multi_large::<serde_json::Value>(twice).is_err());
        let documents = from_str_multi_lenient::<serde_json::Value>(twice).unwrap();
        assert_eq!(documents, [serde_json::json!({ "a": 3, "b": 2 }), serde_json::json!({ "c": 4 })]);
        let error = from_str_multi_lenient::<serde_json::Value>("a: [1\n").unwrap_err();
        assert_eq!(error.line, 1, "{error}");
    }

    #[test]
    fn only_the_large_parser_accepts_very_long_texts() {
        let long = "- a\n".repeat(260_000);
        assert!(from_str_multi::<Vec<String>>(&long).is_err());
        assert_eq!(from_str_multi_large::<Vec<String>>(&long).unwrap()[0].len(), 260_000);
    }
}
