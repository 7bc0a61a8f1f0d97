//! Findings about a config, with their places in its text.

use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use super::schema::Type;

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A field.
    Field(String),
    /// The name of a field, not its value.
    Key(String),
    /// An entry of a list.
    Entry(usize),
}

impl From<&str> for Part {
    fn from(name: &str) -> Self {
        Self::Field(name.to_owned())
    }
}

impl From<usize> for Part {
    fn from(index: usize) -> Self {
        Self::Entry(index)
    }
}

/// The path of a value in a config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(Vec<Part>);

impl Path {
    /// The path of a part of the value.
    pub(super) fn at(&self, part: impl Into<Part>) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.into());
        Self(parts)
    }

    /// The path of the name of a field of the value.
    pub(super) fn key(&self, name: &str) -> Self {
        self.at(Part::Key(name.to_owned()))
    }
}

impl Path {
    /// The names of its fields, without the entries of lists.
    pub(super) fn fields(&self) -> String {
        let names = self.0.iter().filter_map(|part| match part {
            Part::Field(name) | Part::Key(name) => Some(name.as_str()),
            Part::Entry(_) => None,
        });
        names.collect::<Vec<_>>().join(".")
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|part| match part {
            Part::Field(name) | Part::Key(name) => write!(f, ".{name}"),
            Part::Entry(index) => write!(f, ".{index}"),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    is_error: bool,
    path: Path,
    message: String,
    /// The offset in the text, in bytes.
    offset: Option<usize>,
}

/// All findings about a config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    /// Adds an error about a value, if there is one.
    pub(super) fn error(&mut self, path: Path, message: Option<impl Into<String>>) {
        self.add(true, path, message);
    }

    /// Adds a warning about a value, if there is one.
    pub(super) fn warning(&mut self, path: Path, message: Option<impl Into<String>>) {
        self.add(false, path, message);
    }

    fn add(&mut self, is_error: bool, path: Path, message: Option<impl Into<String>>) {
        if let Some(message) = message {
            self.0.push(Finding { is_error, path, message: message.into(), offset: None });
        }
    }

    /// The error of a parser that stops after the value at `path` of a config.
    pub(super) fn of_parser(config: &Value, path: &Path, message: String) -> Self {
        let value = path.0.iter().try_fold(config, |value, part| match part {
            Part::Field(name) | Part::Key(name) => value.get(name),
            Part::Entry(index) => value.get(index),
        });
        // Of lists and objects it has read the first character only.
        let length = value.map_or(0, |value| match value {
            Value::Array(_) | Value::Object(_) => 0,
            value => written(value),
        });
        let offset = Some(offset(config, None, &path.0) + length);
        Self(vec![Finding { is_error: true, path: Path::default(), message, offset }])
    }

    /// Returns whether an error makes the config invalid.
    pub(super) fn is_fatal(&self) -> bool {
        self.0.iter().any(|finding| finding.is_error)
    }

    /// Sets the places of the findings in the text of the config: in the order of the fields of `of`, or sorted.
    pub(super) fn locate(&mut self, config: &Value, of: Option<&'static Type>) {
        for finding in &mut self.0 {
            finding.offset = Some(offset(config, of, &finding.path.0));
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| {
            let kind = if finding.is_error { "error" } else { "warning" };
            write!(f, "{kind}")?;
            match (finding.path.0.is_empty(), finding.offset) {
                (true, None) => {}
                (true, Some(offset)) => write!(f, " at line 1 col {}", offset + 1)?,
                (false, None) => write!(f, " at {}", finding.path)?,
                (false, Some(offset)) => write!(f, " at {}, line 1 col {}", finding.path, offset + 1)?,
            }
            writeln!(f, ": {}", finding.message)
        })
    }
}

/// The offset of a value in the compact text of a config, or of the nearest value around it that exists.
fn offset(value: &Value, of: Option<&'static Type>, path: &[Part]) -> usize {
    match (value, path) {
        (Value::Object(fields), [Part::Field(name) | Part::Key(name), rest @ ..])
            if fields.contains_key(name) =>
        {
            let mut at = 1;
            for (field, inner) in in_order(fields, of) {
                let key = field.len() + 2;
                if field == name {
                    let is_key = matches!(path, [Part::Key(_), ..]);
                    let of = of.and_then(|of| of.inner(field));
                    return if is_key { at } else { at + key + 1 + offset(inner, of, rest) };
                }
                at += key + 1 + written(inner) + 1;
            }
            at
        }
        (Value::Array(entries), [Part::Entry(index), rest @ ..]) if *index < entries.len() => {
            let before: usize = entries.iter().take(*index).map(|entry| written(entry) + 1).sum();
            1 + before + offset(&entries[*index], of, rest)
        }
        // The parser reads the bracket of a list or an object before it notes the place.
        (value, _) => usize::from(value.is_array() || value.is_object()),
    }
}

/// The fields of an object in the order of its type, or sorted.
fn in_order<'a>(fields: &'a Map<String, Value>, of: Option<&'static Type>) -> Vec<(&'a str, &'a Value)> {
    match of {
        Some(of) => {
            of.fields.iter().filter_map(|field| Some((field.name, fields.get(field.name)?))).collect()
        }
        None => fields.iter().map(|(name, value)| (name.as_str(), value)).collect(),
    }
}

/// The length of a value as the API server writes it: compact, with `<`, `>` and `&` escaped.
fn written(value: &Value) -> usize {
    let text = value.to_string();
    let escaped = text.bytes().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
    let separators = text.chars().filter(|letter| matches!(letter, '\u{2028}' | '\u{2029}')).count();
    text.len() + 5 * escaped + 3 * separators
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_columns_of_the_compact_text() {
        let config = json!({ "a": "<", "b": [{ "path": "x" }] });
        let path = Path::default().at("b").at(0).at("path");
        assert_eq!(offset(&config, None, &path.0), r#"{"a":"\u003c","b":[{"path":"#.len());
        let mut report = Report::default();
        report.error(path, Some("path not absolute"));
        assert_eq!(report.to_string(), "error at $.b.0.path: path not absolute\n");
        report.locate(&config, None);
        assert_eq!(report.to_string(), "error at $.b.0.path, line 1 col 28: path not absolute\n");
    }
}
