//! Parses JSON and YAML of unknown origin into values of bounded size: a few packed kilobytes may be a text that needs many times
//! its length as values.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::text::grouped;
use crate::yaml::{self, YamlError};

/// The rest of the limits while texts are parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Values in YAML, with keys.
    pub values: usize,
    /// Documents of YAML.
    pub documents: usize,
    /// Bytes of memory for a text and all values that are kept.
    pub bytes: usize,
}

impl Default for Limits {
    /// Limits that no real cluster reaches, and within which parsing takes less than half a minute and about 1 GiB.
    fn default() -> Self {
        Self { values: 20_000_000, documents: 1_000_000, bytes: 1 << 30 }
    }
}

impl Limits {
    /// Describes one of these limits, as the reason why a text is rejected.
    pub fn describe(&self, exceeded: Exceeded) -> String {
        let Self { values, documents, bytes } = *self;
        match exceeded {
            Exceeded::Values => {
                let lines = grouped(values.saturating_mul(LINES_PER_VALUE));
                format!("this has more than {} values or {lines} lines of YAML", grouped(values))
            }
            Exceeded::Documents => format!("this has more than {} documents", grouped(documents)),
            Exceeded::Bytes => format!("this needs more than {} bytes of memory", grouped(bytes)),
        }
    }
}

/// The limit that a text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// The number of values.
    Values,
    /// The number of documents.
    Documents,
    /// The memory.
    Bytes,
}

/// The reason why a text cannot be parsed.
#[derive(Debug)]
pub enum TextError {
    /// It is too large.
    Exceeded(Exceeded),
    /// It is no JSON.
    Json(serde_json::Error),
    /// It is no YAML.
    Yaml(YamlError),
}

/// Parses JSON.
///
/// # Errors
/// A syntax error, or the memory that the text and its values need.
pub fn json(text: &str, left: &Limits) -> Result<Value, TextError> {
    start(left, text)?;
    let parsed = serde_json::from_str(text);
    let (is_exceeded, _) = end();
    match parsed {
        Ok(Metered(value)) => Ok(value),
        Err(_) if is_exceeded => Err(TextError::Exceeded(Exceeded::Bytes)),
        Err(error) => Err(TextError::Json(error)),
    }
}

/// Parses all documents of YAML and skips empty ones. Takes values and documents from what is left.
///
/// # Errors
/// A syntax error, or an exceeded limit.
pub fn yaml(text: &str, left: &mut Limits) -> Result<Vec<Value>, TextError> {
    // The library does not report empty documents, comments and blank lines, which need time too.
    let lines = text.bytes().filter(|byte| *byte == b'\n').count();
    let documents = text.matches("\n---").count();
    if lines / LINES_PER_VALUE > left.values {
        return Err(TextError::Exceeded(Exceeded::Values));
    }
    if documents > left.documents {
        return Err(TextError::Exceeded(Exceeded::Documents));
    }
    start(left, text)?;
    let parsed = yaml::from_str_multi_within::<Metered>(text, left.values, left.documents);
    let (is_exceeded, values) = end();
    left.values = left.values.saturating_sub(values.max(lines / LINES_PER_VALUE));
    let found = parsed.map_err(|error| match error {
        _ if is_exceeded => TextError::Exceeded(Exceeded::Bytes),
        yaml::BoundedYamlError::Values => TextError::Exceeded(Exceeded::Values),
        yaml::BoundedYamlError::Documents => TextError::Exceeded(Exceeded::Documents),
        yaml::BoundedYamlError::Other(error) => TextError::Yaml(error),
    })?;
    left.documents = left.documents.saturating_sub(found.len().max(documents + 1));
    Ok(found.into_iter().map(|Metered(value)| value).collect())
}

/// Comments and blank lines need less time than values; a line of an object has two values or more.
const LINES_PER_VALUE: usize = 2;

/// Returns about how many bytes of memory a value needs.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| of_item(index) + size(item)).sum()
        }
        Value::Object(fields) => {
            let sizes = fields.iter().enumerate();
            sizes.map(|(index, (key, value))| of_field(index) + of_text(key) + size(value)).sum()
        }
    }
}

/// The memory of a text: its bytes, in steps of the allocator.
fn of_text(text: &str) -> usize {
    text.len().next_multiple_of(16)
}

/// The memory of an item of a list. A list begins with space for four items and doubles when it is full; the old list exists
/// while its items are copied, and the allocator keeps the memory of large ones for a while.
fn of_item(index: usize) -> usize {
    const ITEM: usize = size_of::<Value>();
    match index {
        0 => 4 * ITEM,
        1..4 => 0,
        4..LARGE => ITEM + ITEM / 2,
        _ => 3 * ITEM,
    }
}

/// The number of items of a large list.
const LARGE: usize = 1 << 16;

/// The memory of a field of a map, without those of the key and the value: a node of the tree has space for eleven fields, and
/// is half full if the keys come in order.
fn of_field(index: usize) -> usize {
    if index == 0 || (index > 10 && index % 6 == 5) { 640 } else { 0 }
}

thread_local! {
    /// The memory that is left for the values of the text that this thread parses. The traits of serde do not pass on any state
    /// to the values of several documents.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The number of values and keys so far.
    static VALUES: Cell<usize> = const { Cell::new(0) };
    static EXCEEDED: Cell<bool> = const { Cell::new(false) };
}

/// Starts to measure the memory of the values that this thread parses.
fn start(left: &Limits, text: &str) -> Result<(), TextError> {
    let bytes = left.bytes.checked_sub(text.len()).ok_or(TextError::Exceeded(Exceeded::Bytes))?;
    LEFT.set(bytes);
    VALUES.set(0);
    EXCEEDED.set(false);
    Ok(())
}

/// Returns whether the memory was exceeded since the start, and the number of values.
fn end() -> (bool, usize) {
    LEFT.set(usize::MAX);
    (EXCEEDED.get(), VALUES.get())
}

fn count() {
    VALUES.set(VALUES.get() + 1);
}

fn take<E: serde::de::Error>(bytes: usize) -> Result<(), E> {
    match LEFT.get().checked_sub(bytes) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => {
            EXCEEDED.set(true);
            Err(E::custom("too much memory"))
        }
    }
}

/// A value whose memory is measured while it is parsed.
struct Metered(Value);

impl<'de> Deserialize<'de> for Metered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        count();
        deserializer.deserialize_any(MeteredVisitor).map(Self)
    }
}

struct MeteredVisitor;

impl<'de> Visitor<'de> for MeteredVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        take(of_text(value))?;
        Ok(Value::from(value))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        take(of_text(&value))?;
        Ok(Value::String(value))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Metered(item)) = items.next_element()? {
            take(of_item(list.len()))?;
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            count();
            take(of_field(map.len()) + of_text(&key))?;
            let Metered(value) = fields.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits(values: usize, documents: usize, bytes: usize) -> Limits {
        Limits { values, documents, bytes }
    }

    #[test]
    fn values_are_those_of_the_parsers_without_limits() {
        let text = "a: [1, -2, 1.5, .inf, true, null, ~, 'x', \"y\", 010, 0x1f, 18446744073709551615]\n1: {}\n? true\n: []\nb: |\n  c\n---\n---\n- &x z\n- *x\n";
        let expected = yaml::from_str_multi_large::<Value>(text);
        let found = yaml(text, &mut Limits::default());
        match (expected, found) {
            (Ok(expected), Ok(found)) => assert_eq!(found, expected),
            (Err(expected), Err(TextError::Yaml(found))) => assert_eq!(found, expected),
            (expected, found) => panic!("{expected:?}\n{found:?}"),
        }
        let text = text.replace(" .inf,", "");
        let mut left = limits(1000, 10, 100_000);
        assert_eq!(yaml(&text, &mut left).unwrap(), yaml::from_str_multi_large::<Value>(&text).unwrap());
        let text = r#"{"a": [1, -2, 1.5, 1e99, null, true, "x\n", {}, []], "b": {"a": 1, "a": 2}}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(json(text, &left).unwrap(), expected);
        let error = |text: &str| match json(text, &Limits::default()) {
            Err(TextError::Json(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(error("{\"a\": }"), serde_json::from_str::<Value>("{\"a\": }").unwrap_err().to_string());
        assert_eq!(
            error(&"[".repeat(200)),
            serde_json::from_str::<Value>(&"[".repeat(200)).unwrap_err().to_string()
        );
    }

    #[track_caller]
    fn check(text: &str, mut left: Limits, expected: Option<Exceeded>) {
        match (yaml(text, &mut left), expected) {
            (Ok(_), None) => {}
            (Err(TextError::Exceeded(found)), Some(expected)) => assert_eq!(found, expected),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn each_limit_ends_the_parsing() {
        let many = usize::MAX / 4;
        check(&"- a\n".repeat(99), limits(100, 1, many), None);
        check(&"- a\n".repeat(100), limits(100, 1, many), Some(Exceeded::Values));
        check(&"#\n".repeat(200), limits(100, 1, many), None);
        check(&"#\n".repeat(202), limits(100, 1, many), Some(Exceeded::Values));
        check(&"--- a\n".repeat(10), limits(100, 10, many), None);
        check(&"--- a\n".repeat(11), limits(100, 10, many), Some(Exceeded::Documents));
        check(&"a\n...\n".repeat(11), limits(100, 10, many), Some(Exceeded::Documents));
        check(&"---\n".repeat(12), limits(100, 10, many), Some(Exceeded::Documents));
        check("- {a: b}\n- {a: b}\n", limits(100, 10, 1500), None);
        check("- {a: b}\n- {a: b}\n", limits(100, 10, 1300), Some(Exceeded::Bytes));
        check("a: bcd\n", limits(100, 10, 6), Some(Exceeded::Bytes));
        let list = |bytes| json("[1, 1, 1, 1, 1]", &limits(0, 0, bytes));
        let needed = 15 + of_item(0) + of_item(4);
        assert!(list(needed).is_ok());
        assert!(matches!(list(needed - 1), Err(TextError::Exceeded(Exceeded::Bytes))));
    }

    #[test]
    fn limits_are_for_all_texts_together() {
        let mut left = limits(100, 3, 100_000);
        let mut parse = |text: &str| yaml(text, &mut left).is_ok();
        assert!(parse("[a, b, c]\n") && parse(&"-\n".repeat(60)));
        assert!(!parse(&"-\n".repeat(60)));
        let mut left = limits(100, 3, 100_000);
        let mut parse = |text: &str| yaml(text, &mut left).is_ok();
        assert!(parse("a\n---\nb\n") && parse("c\n") && !parse("d\n"));
    }

    #[test]
    fn the_size_of_a_value_is_what_parsing_takes() {
        let value = json!({"kind": "List", "items": [{"a": "b", "n": 1}, ["x"], [], {}, {}, {}, {}, "some text here"]});
        let text = value.to_string();
        let needed = size(&value) + text.len();
        assert!(json(&text, &limits(0, 0, needed)).is_ok());
        assert!(json(&text, &limits(0, 0, needed - 1)).is_err());
    }
}
