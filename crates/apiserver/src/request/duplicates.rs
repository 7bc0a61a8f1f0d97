//! Parses JSON and finds duplicate fields. As in Go, the last one counts.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The paths of all fields of a document, in its order.
pub(crate) fn paths(bytes: &[u8]) -> Vec<String> {
    let (found, keys) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let root = At { parent: None, step: Step::Root };
    let reader = Reader { at: &root, found: &found, keys: Some(&keys) };
    // The document was parsed before.
    let _ = reader.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    keys.into_inner()
}

/// Parses JSON. Also returns the paths of duplicate fields in the form of strict decoding errors: `data.k`,
/// `spec.containers[0].name`.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    match parse_exactly(bytes) {
        // Go's decoder reads a number only if there is a field for it.
        Err(error) if error.to_string().starts_with("number out of range") => {
            parse_exactly(&replace_huge_numbers(bytes, |_| ()))
        }
        parsed => parsed,
    }
}

/// The first number of a document that no float can represent.
pub(crate) fn huge_number(bytes: &[u8]) -> Option<String> {
    let mut first = None;
    replace_huge_numbers(bytes, |number| {
        first.get_or_insert_with(|| String::from_utf8_lossy(number).into_owned());
    });
    first
}

/// A document with 0 instead of numbers that no float can represent; `found` gets each of them.
fn replace_huge_numbers(bytes: &[u8], mut found: impl FnMut(&[u8])) -> Vec<u8> {
    let (mut out, mut rest, mut is_text, mut is_escaped) = (Vec::new(), bytes, false, false);
    while let Some((byte, tail)) = rest.split_first() {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(*byte);
        let length = if is_text { 0 } else { rest.iter().take_while(is_part).count() };
        if length > 0 {
            let (number, tail) = rest.split_at(length);
            let value = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
            if value.is_some_and(f64::is_infinite) {
                found(number);
                out.push(b'0');
            } else {
                out.extend_from_slice(number);
            }
            rest = tail;
            continue;
        }
        is_text ^= *byte == b'"' && !is_escaped;
        is_escaped = is_text && *byte == b'\\' && !is_escaped;
        out.push(*byte);
        rest = tail;
    }
    out
}

fn parse_exactly(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let found = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let root = At { parent: None, step: Step::Root };
    let value = Reader { at: &root, found: &found, keys: None }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, found.into_inner()))
}

struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl At<'_> {
    fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path);
        path
    }

    fn write(&self, path: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(path);
        }
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
}

struct Reader<'a> {
    at: &'a At<'a>,
    /// Duplicate fields.
    found: &'a RefCell<Vec<String>>,
    /// All fields, if they are wanted.
    keys: Option<&'a RefCell<Vec<String>>>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let at = At { parent: Some(self.at), step: Step::Index(items.len()) };
            match access.next_element_seed(Reader { at: &at, found: self.found, keys: self.keys })? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let at = At { parent: Some(self.at), step: Step::Key(&key) };
            if let Some(keys) = self.keys {
                keys.borrow_mut().push(at.path());
            }
            let reader = Reader { at: &at, found: self.found, keys: self.keys };
            let value = access.next_value_seed(reader)?;
            if map.contains_key(&key) {
                let path = at.path();
                let mut found = self.found.borrow_mut();
                if !found.contains(&path) {
                    found.push(path);
                }
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parse_reports_duplicate_fields_once_and_keeps_last_value() {
        let text = br#"{"a": {"k": 1, "k": 2, "k": 3}, "l": [{"x": 1}, {"x": 1, "x": null}], "n": 1e400}"#;
        assert_eq!(parse(text).unwrap().0["n"], 0);
        let text =
            br#"{"a": {"k": 1, "k": 2, "k": 3}, "l": [{"x": 1}, {"x": 1, "x": null}], "n": 1.5, "n": -1}"#;
        let (value, duplicates) = parse(text).unwrap();
        assert_eq!(value, json!({"a": {"k": 3}, "l": [{"x": 1}, {"x": null}], "n": -1}));
        assert_eq!(duplicates, ["a.k", "l[1].x", "n"]);
        let all = ["a", "a.k", "a.k", "a.k", "l", "l[0].x", "l[1].x", "l[1].x", "n", "n"];
        assert_eq!(paths(text), all);
    }
}
