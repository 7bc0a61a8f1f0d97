//! The kinds of differences between two definitions.

use std::fmt;

use serde_json::Value;

use crate::schema::{Kind, ListType, Path, Rule};

/// A place where the newer release accepts more than the older one keeps.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The version; empty for differences of the definition itself.
    pub(crate) version: String,
    pub(crate) path: Path,
    pub(crate) difference: Difference,
}

/// A difference of one place. Values are those that only the newer release accepts, unless stated otherwise.
#[derive(Debug, Clone)]
pub(crate) enum Difference {
    /// Values of an enum. Empty if the newer release has no enum at all.
    Enum(Vec<Value>),
    /// Types.
    Type(Vec<Kind>),
    /// `null`.
    Null,
    /// Values beyond a bound of the older release.
    Bound(Bound),
    /// Texts that a pattern of the older release rejects.
    Pattern(String),
    /// Texts that a format of the older release rejects.
    Format(String),
    /// Numbers that are no multiple.
    Multiple(f64),
    /// Objects without a field that the older release requires.
    Required(String),
    /// A field that the older release prunes.
    Pruned,
    /// Any fields besides the named ones.
    Unknown,
    /// Lists with repeated elements.
    List { older: ListType, keys: Vec<String> },
    /// Objects without `apiVersion`, `kind` and `metadata`.
    Embedded,
    /// Values that a rule of the older release rejects.
    Rule(Rule),
    /// Changes that a rule of the older release rejects.
    Transition(Rule),
    /// Values that alternatives of the older release reject.
    Composition { keyword: &'static str, raw: Value },
    /// Another default.
    Default { newer: Option<Value>, older: Option<Value> },
    /// A version that the older release does not have; whether it is stored.
    Version { is_stored: bool },
    /// A kind that the older release does not have.
    Kind,
    /// An immutable part of the definition: its path and its two values.
    Immutable { field: &'static str, newer: Value, older: Value },
    /// A subresource that only the newer release has.
    Subresource(&'static str),
    /// A rejection or change that a random object met, and that the comparison does not explain: the message.
    Unexplained(String),
    /// Columns of tables, fields of selectors, the conversion, or the merge strategy of a list or map.
    Presentation(Presentation),
}

/// A difference that rejects and changes no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presentation {
    Columns,
    Selectors,
    Conversion,
    Merge,
}

/// A bound of the older release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    pub(crate) keyword: Keyword,
    pub(crate) older: f64,
    /// The bound of the newer release, if it has one.
    pub(crate) newer: Option<f64>,
}

/// The keyword of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Minimum,
    Maximum,
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

impl Keyword {
    /// The name in schemas.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::MinLength => "minLength",
            Self::MaxLength => "maxLength",
            Self::MinItems => "minItems",
            Self::MaxItems => "maxItems",
            Self::MinProperties => "minProperties",
            Self::MaxProperties => "maxProperties",
        }
    }
}

impl Difference {
    /// A short name, which baselines and SARIF use.
    pub(crate) fn id(&self) -> &'static str {
        match self {
            Self::Enum(_) => "enum",
            Self::Type(_) => "type",
            Self::Null => "nullable",
            Self::Bound(_) => "bound",
            Self::Pattern(_) => "pattern",
            Self::Format(_) => "format",
            Self::Multiple(_) => "multiple-of",
            Self::Required(_) => "required",
            Self::Pruned => "pruned-field",
            Self::Unknown => "unknown-fields",
            Self::List { .. } => "list-type",
            Self::Embedded => "embedded-resource",
            Self::Rule(_) => "rule",
            Self::Transition(_) => "transition-rule",
            Self::Composition { .. } => "composition",
            Self::Default { .. } => "default",
            Self::Version { .. } => "version",
            Self::Kind => "kind",
            Self::Immutable { .. } => "immutable",
            Self::Subresource(_) => "subresource",
            Self::Unexplained(_) => "unexplained",
            Self::Presentation(Presentation::Columns) => "printer-columns",
            Self::Presentation(Presentation::Selectors) => "selectable-fields",
            Self::Presentation(Presentation::Conversion) => "conversion",
            Self::Presentation(Presentation::Merge) => "merge-strategy",
        }
    }

    /// Whether the difference can have no effect on stored objects.
    pub(crate) fn is_note(&self) -> bool {
        matches!(self, Self::Presentation(_) | Self::Kind)
    }
}

/// A value for people: at most 60 characters of JSON.
fn short(value: &Value) -> String {
    cut(&value.to_string(), 60)
}

/// At most `max` characters of a text, on one line.
fn cut(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max {
        return line;
    }
    line.chars().take(max - 3).collect::<String>() + "..."
}

fn or_none(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), short)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enum(values) if values.is_empty() => write!(f, "values that are not in the target's enum"),
            Self::Enum(values) => {
                let names: Vec<String> = values.iter().map(short).collect();
                write!(f, "enum values {}", names.join(", "))
            }
            Self::Type(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                write!(f, "type {}", names.join(", "))
            }
            Self::Null => write!(f, "null"),
            Self::Bound(bound) => {
                let newer = bound.newer.map_or_else(|| "none".to_owned(), |bound| bound.to_string());
                write!(f, "{} {newer}, target {}", bound.keyword.name(), bound.older)
            }
            Self::Pattern(pattern) => write!(f, "texts that do not match {}", cut(pattern, 60)),
            Self::Format(format) => write!(f, "texts without the format {format}"),
            Self::Multiple(of) => write!(f, "numbers that are no multiple of {of}"),
            Self::Required(field) => write!(f, "objects without `{field}`"),
            Self::Pruned => write!(f, "a new field"),
            Self::Unknown => write!(f, "unknown fields"),
            Self::List { older, keys } if keys.is_empty() => {
                write!(f, "repeated elements, target {}", older.name())
            }
            Self::List { older, keys } => {
                write!(f, "repeated elements, target {} by {}", older.name(), keys.join(", "))
            }
            Self::Embedded => write!(f, "values that are no whole objects"),
            Self::Rule(rule) => write!(f, "values that a rule rejects: {}", cut(&rule.text, 70)),
            Self::Transition(rule) => write!(f, "changes that a rule rejects: {}", cut(&rule.text, 70)),
            Self::Composition { keyword, raw } => {
                write!(f, "values that `{keyword}` rejects: {}", short(raw))
            }
            Self::Default { newer, older } => {
                write!(f, "default {}, target {}", or_none(newer.as_ref()), or_none(older.as_ref()))
            }
            Self::Version { is_stored: true } => {
                write!(f, "a stored version that the target does not have")
            }
            Self::Version { is_stored: false } => write!(f, "a version that the target does not have"),
            Self::Kind => write!(f, "a kind that the target does not have"),
            Self::Immutable { field, newer, older } => {
                write!(f, "{field} {}, target {}", short(newer), short(older))
            }
            Self::Subresource(name) => {
                write!(f, "a subresource `{name}` that the target does not have")
            }
            Self::Unexplained(message) => {
                write!(f, "a value that the comparison does not explain: {}", cut(message, 70))
            }
            Self::Presentation(Presentation::Columns) => write!(f, "other columns in tables"),
            Self::Presentation(Presentation::Selectors) => write!(f, "other fields of field selectors"),
            Self::Presentation(Presentation::Conversion) => write!(f, "another conversion between versions"),
            Self::Presentation(Presentation::Merge) => {
                write!(f, "another merge strategy of server-side apply")
            }
        }
    }
}
