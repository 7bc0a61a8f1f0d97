//! The JSON of the server's internal Go structs, which some messages contain. Those structs have no JSON tags:
//! members have their Go names, in the order of the declaration, and absent members have their zero value.

pub(super) mod difference;
pub(super) mod volumes;

use serde_json::Value;

use crate::gotext::escape_html;

/// How a member of a struct prints.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// A string, empty if absent.
    Text,
    /// An integer, 0 if absent.
    Number,
    /// A boolean, false if absent.
    Flag,
    /// A pointer, list or map without structs, or a struct of the public API: null if absent.
    Any,
    /// A struct, which is never absent.
    Struct(Members),
    /// A pointer to a struct: null if absent.
    Pointer(Members),
    /// A list of structs: null if absent.
    List(Members),
}

/// Returns the compact JSON of a pointer to a struct.
pub(super) fn pointer(value: &Value, members: Members) -> String {
    if value.is_null() { "null".to_owned() } else { compact(value, members) }
}

/// The members of a struct: the Go name, the name in the API, and the form.
pub(super) type Members = &'static [(&'static str, &'static str, Form)];

/// Returns the compact JSON of a struct (`json.Marshal`).
pub(super) fn compact(value: &Value, members: Members) -> String {
    let mut out = Printer { text: String::new(), indent: None };
    out.members(value, members);
    out.text
}

/// Returns the JSON of a struct with one member a line (`json.MarshalIndent` with one space).
pub(super) fn pretty(value: &Value, members: Members) -> String {
    let mut out = Printer { text: String::new(), indent: Some(0) };
    out.members(value, members);
    out.text
}

struct Printer {
    text: String,
    /// The depth of the current line; `None` prints everything on one line.
    indent: Option<usize>,
}

impl Printer {
    fn members(&mut self, value: &Value, members: Members) {
        self.open('{');
        for (index, (name, field, form)) in members.iter().enumerate() {
            self.element(index);
            self.key(name);
            self.form(&value[*field], *form);
        }
        self.close('}');
    }

    fn form(&mut self, value: &Value, form: Form) {
        match (form, value) {
            (Form::Struct(members), _) | (Form::Pointer(members), Value::Object(_)) => {
                self.members(value, members);
            }
            (Form::Text, Value::Null) => self.text.push_str("\"\""),
            (Form::Number, Value::Null) => self.text.push('0'),
            (Form::Flag, Value::Null) => self.text.push_str("false"),
            (Form::List(members), Value::Array(list)) if !list.is_empty() => {
                self.open('[');
                for (index, value) in list.iter().enumerate() {
                    self.element(index);
                    self.members(value, members);
                }
                self.close(']');
            }
            _ => self.plain(value),
        }
    }

    fn plain(&mut self, value: &Value) {
        match value {
            Value::Object(map) if map.is_empty() => self.text.push_str("{}"),
            Value::Array(list) if list.is_empty() => self.text.push_str("[]"),
            Value::Object(map) => {
                self.open('{');
                for (index, (key, value)) in map.iter().enumerate() {
                    self.element(index);
                    self.key(key);
                    self.plain(value);
                }
                self.close('}');
            }
            Value::Array(list) => {
                self.open('[');
                for (index, value) in list.iter().enumerate() {
                    self.element(index);
                    self.plain(value);
                }
                self.close(']');
            }
            Value::String(text) => self.string(text),
            other => self.text.push_str(&other.to_string()),
        }
    }

    /// Prints a string. Go escapes the characters that are special in HTML.
    fn string(&mut self, text: &str) {
        self.text.push_str(&escape_html(Value::from(text).to_string()));
    }

    fn key(&mut self, name: &str) {
        self.string(name);
        self.text.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.indent = self.indent.map(|depth| depth + 1);
    }

    fn close(&mut self, bracket: char) {
        self.indent = self.indent.map(|depth| depth - 1);
        self.line();
        self.text.push(bracket);
    }

    fn element(&mut self, index: usize) {
        if index > 0 {
            self.text.push(',');
        }
        self.line();
    }

    fn line(&mut self) {
        if let Some(depth) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', depth));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PORT: Members = &[("Name", "name", Form::Text), ("Ready", "ready", Form::Flag)];
    const ALL: Members = &[
        ("Port", "port", Form::Struct(PORT)),
        ("Next", "next", Form::Pointer(PORT)),
        ("List", "list", Form::Any),
    ];

    #[test]
    fn prints_members_in_order_with_their_zero_values() {
        let value = json!({ "list": ["<a>"], "port": { "ready": true } });
        let text = r#"{"Port":{"Name":"","Ready":true},"Next":null,"List":["\u003ca\u003e"]}"#;
        assert_eq!(compact(&value, ALL), text);
        let lines = "{\n \"Name\": \"x\",\n \"Ready\": false\n}";
        assert_eq!(pretty(&json!({ "name": "x" }), PORT), lines);
    }
}
