//! Serialization of a tree in the style of hand-written YAML: on one line if it fits.

use std::borrow::Cow;

use super::{Kind, Node};
use crate::text::visible;

/// The maximum length of a line that can be broken.
const WIDTH: usize = 130;

impl Node {
    /// The tree as a document that ends with a newline. Parsing it gives an equal tree. Comments and aliases
    /// are lost.
    pub fn to_text(&self) -> String {
        match &self.kind {
            Kind::Map(entries) if !entries.is_empty() => block_map(entries, 0),
            Kind::List(items) if !items.is_empty() => block_list(items, 0),
            _ => flow(self) + "\n",
        }
    }
}

fn block_map(entries: &[(Node, Node)], indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let entry = |(key, value): &(Node, Node)| {
        format!("{blanks}{}:{}", flow(key), value_of(value, &blanks, &flow(key)))
    };
    entries.iter().map(entry).collect()
}

/// The text after a colon, including its newline.
fn value_of(value: &Node, blanks: &str, key: &str) -> String {
    let line = flow(value);
    if blanks.len() + key.len() + line.len() + 2 <= WIDTH {
        return if line.is_empty() { "\n".to_owned() } else { format!(" {line}\n") };
    }
    match &value.kind {
        Kind::Map(entries) => format!("\n{}", block_map(entries, blanks.len() + 2)),
        Kind::List(items) => format!("\n{}", block_list(items, blanks.len())),
        _ => format!(" {line}\n"),
    }
}

fn block_list(items: &[Node], indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let item = |item: &Node| {
        let line = flow(item);
        let block = match &item.kind {
            // A step has a single key. The key is on the line of the dash, followed by a flow mapping.
            Kind::Map(entries) if entries.len() == 1 || indent + line.len() + 2 > WIDTH => {
                block_map(entries, indent + 2)
            }
            Kind::List(inner) if indent + line.len() + 2 > WIDTH => block_list(inner, indent + 2),
            _ => return format!("{blanks}- {line}\n"),
        };
        format!("{blanks}- {}", block.trim_start_matches(' '))
    };
    items.iter().map(item).collect()
}

/// A node on one line, in flow style.
fn flow(node: &Node) -> String {
    let null = |node: &Node| if node.kind == Kind::Null { "null".to_owned() } else { flow(node) };
    match &node.kind {
        Kind::Null => String::new(),
        Kind::Bool(_) | Kind::Number(_) => node.scalar().unwrap_or_default().to_owned(),
        Kind::Text(text) => scalar(text).into_owned(),
        Kind::List(items) => format!("[{}]", items.iter().map(null).collect::<Vec<_>>().join(", ")),
        Kind::Map(entries) => {
            let entry = |(key, value): &(Node, Node)| format!("{}: {}", flow(key), null(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a string on one line, quoted if it would otherwise be parsed as something else.
pub fn scalar(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = match text.chars().next() {
        // A version or a duration, not a number.
        Some(first) if first.is_ascii_digit() => {
            text.matches('.').count() > 1 || text.ends_with(['s', 'm', 'h'])
        }
        Some(first) => first.is_ascii_alphabetic() || "/$".contains(first),
        None => false,
    };
    let rest =
        text.chars().all(|c| c.is_ascii_alphanumeric() || " ./*()$_-".contains(c)) && !text.ends_with(' ');
    let plain = begins && rest && !WORDS.contains(&text.to_lowercase().as_str());
    if plain { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// Returns a string on one line, in quotes, with the escapes of JSON. Characters that YAML forbids and those that act on a terminal
/// are escaped.
pub fn quoted(text: &str) -> String {
    visible(&serde_json::Value::from(text).to_string()).into_owned()
}

/// Returns the lines of a text as comments, each with its newline.
pub fn comment(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| text + "# " + &visible(line) + "\n")
}

/// Returns a value as a document that has an escape for each character that acts on a terminal.
#[cfg(feature = "yaml-write")]
pub(super) fn with_escapes(value: &serde_json::Value) -> String {
    let json = |value: &serde_json::Value| visible(&value.to_string()).into_owned() + "\n";
    match value {
        serde_json::Value::Object(fields) if !fields.is_empty() => {
            let lines = fields.iter().map(|(key, value)| format!("{}: {}", scalar(key), json(value)));
            lines.collect::<Vec<_>>().concat()
        }
        value => json(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{quoted, scalar};
    use crate::yaml::{from_str, parse_tree};

    /// The JSON of a document, to compare without positions and source texts.
    fn json(text: &str) -> serde_json::Value {
        parse_tree(text).unwrap_or_else(|error| panic!("{error}\n{text}")).0.to_json()
    }

    #[test]
    fn written_text_parses_as_an_equal_tree() {
        let long = "x".repeat(100);
        let text = format!(
            "name: \"a: b\"\nempty:\nmap: {{}}\nlist: []\nnumber: 1.30\nword: \"True\"\nversion: 4.14.8\nshort: \"1.5\"\n\
             steps:\n- clear-update\n- expect: {{object: Pod/a/b-*, fields: {{'a[\"b.c\"]': \"/^x: \\\\d+$/\", long: {long}}}, within: 5m}}\n\
             - [1, [2, null]]\n- lines: |\n    one\n    two\n"
        );
        let written = parse_tree(&text).unwrap().0.to_text();
        assert_eq!(json(&written), json(&text), "\n{written}");
        assert!(written.contains("number: 1.30\n") && written.contains("- clear-update\n"), "{written}");
        assert_eq!(parse_tree(&written).unwrap().0.to_text(), written);
    }

    #[test]
    fn quotes_escape_what_yaml_forbids() {
        assert_eq!(quoted("\u{9b}2J\u{1b}\u{7f}\u{202e}\u{ffff}"), r#""\u009b2J\u001b\u007f\u202e\uffff""#);
        assert_eq!(scalar("4.14.8"), "4.14.8");
        assert_eq!(scalar("a: b"), "\"a: b\"");
        assert_eq!(super::comment("a\nb\u{9b}\r\n"), "# a\n# b\\u009b\n");
    }

    proptest! {
        #[test]
        fn any_string_is_parsed_as_itself(text in r"(?s)([-:#,{}\[\]'&*! \n\r\t\x1b\x7f\x{85}\x{9b}\x{2028}\x{202e}\x{feff}\x{e0001}0.]|.){0,12}") {
            for written in [format!("a: {}\n", scalar(&text)), format!("{{a: {}, b: 1}}\n", quoted(&text))] {
                let parsed = json(&written);
                prop_assert_eq!(parsed["a"].as_str(), Some(text.as_str()), "{}", written);
            }
            let map = serde_json::json!({ "a": &text, text.clone(): [&text] });
            let written = crate::yaml::to_string(&map).unwrap();
            prop_assert_eq!(from_str::<serde_json::Value>(&written).unwrap(), map, "{}", written);
            prop_assert_eq!(crate::text::visible(&written), written.as_str());
        }
    }
}
