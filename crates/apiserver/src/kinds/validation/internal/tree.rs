//! JSON trees with fields in a given order, as Go's encoder prints them.

use serde_json::Value;

use crate::gotext::escape_html;

/// A value.
#[derive(Debug)]
pub(super) enum Node {
    /// The encoded text of a value without parts.
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The tree of a value whose fields are in the order of the alphabet.
    pub(super) fn plain(value: &Value) -> Self {
        match value {
            Value::Array(list) => Self::List(list.iter().map(Self::plain).collect()),
            Value::Object(map) => {
                Self::Map(map.iter().map(|(key, inner)| (key.clone(), Self::plain(inner))).collect())
            }
            Value::String(text) => Self::Scalar(quoted(text)),
            other => Self::Scalar(other.to_string()),
        }
    }

    /// The tree in one line.
    pub(super) fn compact(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::List(list) => {
                let parts: Vec<String> = list.iter().map(Self::compact).collect();
                format!("[{}]", parts.join(","))
            }
            Self::Map(map) => {
                let parts = map.iter().map(|(key, node)| format!("{}:{}", quoted(key), node.compact()));
                format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// The tree with one value a line, indented by one space.
    pub(super) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let (open, close, parts): (char, char, Vec<(Option<&str>, &Self)>) = match self {
            Self::Scalar(text) => return out.push_str(text),
            Self::List(list) => ('[', ']', list.iter().map(|node| (None, node)).collect()),
            Self::Map(map) => ('{', '}', map.iter().map(|(key, node)| (Some(&**key), node)).collect()),
        };
        out.push(open);
        for (index, (key, node)) in parts.iter().enumerate() {
            out.push_str(if index == 0 { "\n" } else { ",\n" });
            out.push_str(&" ".repeat(depth + 1));
            if let Some(key) = key {
                out.push_str(&quoted(key));
                out.push_str(": ");
            }
            node.write(depth + 1, out);
        }
        if !parts.is_empty() {
            out.push('\n');
            out.push_str(&" ".repeat(depth));
        }
        out.push(close);
    }
}

/// A text in quotes. Go escapes the characters that are special in HTML.
fn quoted(text: &str) -> String {
    escape_html(Value::from(text).to_string())
}
