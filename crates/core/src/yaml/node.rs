//! A YAML document as a tree with the position of every key and value.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// One value with its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// The value.
    pub kind: Kind,
    /// The byte range of its text: start and length.
    span: (usize, usize),
    /// The source text of a boolean or number, such as `4.10`, which as a number would be 4.1.
    written: String,
}

/// The content of a [`Node`].
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// An empty value, `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer or a fraction.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// The text of a scalar, with booleans and numbers as written; `None` for null, lists and maps.
    pub fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Bool(_) | Kind::Number(_) => Some(&self.written),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(entries) = &self.kind else { return None };
        entries.iter().find(|(name, _)| name.scalar() == Some(key)).map(|(_, value)| value)
    }

    /// A node with another value at the same position.
    #[must_use]
    pub fn holding(&self, kind: Kind) -> Node {
        let written = match &kind {
            Kind::Bool(value) => value.to_string(),
            Kind::Number(value) => value.to_string(),
            _ => String::new(),
        };
        Self { kind, written, ..self.clone() }
    }

    /// The value as JSON, without positions. Omits keys that are not scalars.
    pub fn to_json(&self) -> Value {
        self.to_json_with(|key| key.scalar().map(str::to_owned))
    }

    /// Does the same with keys as Go converts them: `yes` is `true`, and `0x10` is `16`.
    pub(super) fn to_json_as_go(&self) -> Value {
        self.to_json_with(Self::key_as_go)
    }

    /// A key as Go converts it; `None` if it is not a scalar.
    fn key_as_go(&self) -> Option<String> {
        Some(match &self.kind {
            Kind::Text(text) => text.clone(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(value) => match value.as_f64().filter(|_| value.is_f64()) {
                Some(value) => value.to_string(),
                None => value.to_string(),
            },
            Kind::Null | Kind::List(_) | Kind::Map(_) => return None,
        })
    }

    /// Go's message about the first key that cannot be one in JSON.
    pub(super) fn wrong_key(&self) -> Option<String> {
        match &self.kind {
            Kind::List(items) => items.iter().find_map(Self::wrong_key),
            Kind::Map(entries) => entries.iter().find_map(|(key, value)| match &key.kind {
                Kind::Null => Some(format!(
                    "unsupported map key of type: %!s(<nil>), key: <nil>, value: {}",
                    value.to_json()
                )),
                Kind::List(_) | Kind::Map(_) => Some(format!("yaml: invalid map key: {}", key.as_go())),
                _ => value.wrong_key(),
            }),
            _ => None,
        }
    }

    /// The value as an expression of Go (`%#v`).
    fn as_go(&self) -> String {
        let join = |parts: Vec<String>| parts.join(", ");
        match &self.kind {
            Kind::List(items) => {
                format!("[]interface {{}}{{{}}}", join(items.iter().map(Self::as_go).collect()))
            }
            Kind::Map(entries) => {
                let entry = |(key, value): &(Node, Node)| format!("{}:{}", key.as_go(), value.as_go());
                let entries = join(entries.iter().map(entry).collect());
                format!("map[interface {{}}]interface {{}}{{{entries}}}")
            }
            Kind::Null => "interface {}(nil)".to_owned(),
            _ => self.to_json().to_string(),
        }
    }

    fn to_json_with(&self, key: impl Fn(&Node) -> Option<String> + Copy) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(items) => Value::Array(items.iter().map(|item| item.to_json_with(key)).collect()),
            Kind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .filter_map(|(name, value)| Some((key(name)?, value.to_json_with(key))))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// A short description for messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
                format!("`{}`", crate::text::truncate(self.scalar().unwrap_or_default(), 60))
            }
        }
    }

    /// Collects the duplicate keys of maps, those of inner maps first.
    pub(super) fn repeated(&self, found: &mut Vec<super::Repeated>) {
        match &self.kind {
            Kind::List(items) => items.iter().for_each(|item| item.repeated(found)),
            Kind::Map(entries) => {
                let mut seen = BTreeSet::new();
                for (key, value) in entries {
                    value.repeated(found);
                    if key.identity().is_some_and(|identity| !seen.insert(identity)) {
                        found.push((value.line, key.clone()));
                    }
                }
            }
            _ => {}
        }
    }

    /// Type and value of a scalar, equal for equal keys; `None` for lists and maps, which have positions.
    fn identity(&self) -> Option<(u8, Cow<'_, str>)> {
        Some(match &self.kind {
            Kind::Null => (0, Cow::default()),
            Kind::Bool(value) => (1, value.to_string().into()),
            Kind::Number(value) => (2, value.to_string().into()),
            Kind::Text(text) => (3, text.into()),
            Kind::List(_) | Kind::Map(_) => return None,
        })
    }

    /// Takes the source text of booleans and numbers from the document.
    pub(super) fn restore_scalar_source(&mut self, text: &str) {
        match &mut self.kind {
            Kind::Null | Kind::Text(_) => (),
            Kind::Bool(value) => self.written = written(text, self.span, value),
            Kind::Number(value) => self.written = written(text, self.span, value),
            Kind::List(items) => items.iter_mut().for_each(|item| item.restore_scalar_source(text)),
            Kind::Map(entries) => {
                for (key, value) in entries {
                    key.restore_scalar_source(text);
                    value.restore_scalar_source(text);
                }
            }
        }
    }
}

fn written(text: &str, (start, length): (usize, usize), value: &impl ToString) -> String {
    let found = text.get(start..start.saturating_add(length)).map(str::trim).unwrap_or_default();
    if found.is_empty() { value.to_string() } else { found.to_owned() }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(deserializer)?;
        let place = spanned.referenced;
        let number = |value: u64| usize::try_from(value).unwrap_or(0);
        // The source text of an alias is at its definition, but its position is where it is used.
        let span = spanned.defined.span();
        Ok(Self {
            line: number(place.line()),
            column: number(place.column()),
            kind: spanned.value,
            span: (span.byte_offset().map_or(0, number), span.byte_len().map_or(0, number)),
            written: String::new(),
        })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Kind, E> {
        Ok(Kind::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key()? {
            map.push((key, entries.next_value()?));
        }
        Ok(Kind::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_tree;

    /// The keys and scalars of `text` as `line:column text`, in document order.
    fn places(text: &str) -> String {
        fn walk(node: &Node, out: &mut Vec<String>) {
            match &node.kind {
                Kind::List(items) => items.iter().for_each(|item| walk(item, out)),
                Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
                    walk(key, out);
                    walk(value, out);
                }),
                _ => out.push(format!("{}:{} {}", node.line, node.column, node.describe())),
            }
        }
        let mut out = Vec::new();
        walk(&parse_tree(text).unwrap().0, &mut out);
        out.join(", ")
    }

    #[test]
    fn keys_and_values_have_positions_and_numbers_keep_their_source_text() {
        assert_eq!(
            places("a: 4.10\nb:\n  - True\n  - {c: x, d: 010}\n"),
            "1:1 `a`, 1:4 `4.10`, 2:1 `b`, 3:5 `True`, 4:6 `c`, 4:9 `x`, 4:12 `d`, 4:15 `010`"
        );
        assert_eq!(places("1.30: ~\nk: \"q\"\n"), "1:1 `1.30`, 1:7 nothing, 2:1 `k`, 2:4 `q`");
    }

    #[test]
    fn an_alias_has_the_position_where_it_is_used() {
        assert_eq!(
            places("ä: 1\na: &x 1.50\nb: *x\n"),
            "1:1 `ä`, 1:4 `1`, 2:1 `a`, 2:7 `1.50`, 3:1 `b`, 3:4 `1.50`"
        );
    }

    #[test]
    fn syntax_errors_and_duplicate_keys_have_a_position() {
        let check = |text: &str, expected: &str| {
            let error = match parse_tree(text) {
                Ok((_, twice)) => twice.map(|error| error.to_string()).unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            assert_eq!(error, expected, "{text}");
        };
        check("a: 1\nb: 2\na: 3\n", "3:1: the key `a` occurs twice: remove one of them");
        check("a: [1,\nb: 2\n", "1:4: unclosed bracket '['");
        check("a: b: c\n", "1:5: mapping values are not allowed in this context");
        check("a: 1\n---\nb: 1\n", "3:1: only single YAML document expected but multiple found");
        check("a: *x\n", "1:4: reference to unknown value");
    }

    #[test]
    fn rejects_deep_nesting_without_a_stack_overflow() {
        let lists = |depth: usize| parse_tree(&("[".repeat(depth) + &"]".repeat(depth)));
        let maps = |depth: usize| parse_tree(&("{a: ".repeat(depth) + "1" + &"}".repeat(depth)));
        for depth in [10, 32] {
            assert!(lists(depth).is_ok() && maps(depth).is_ok(), "{depth}");
        }
        for depth in [33, 100, 100_000] {
            assert!(lists(depth).is_err() && maps(depth).is_err(), "{depth}");
            assert!(
                parse_tree(&"[".repeat(depth)).is_err() && parse_tree(&"{a: ".repeat(depth)).is_err(),
                "{depth}"
            );
        }
    }
}
