//! Label selectors: `a=b,c in (d,e),!f,g>1`, with the parse errors of `k8s.io/apimachinery/pkg/labels`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gotext::quote;
use crate::names;

/// Requirements that must all hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

impl LabelSelector {
    /// Parses a label selector.
    ///
    /// # Errors
    /// The server's message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                "" => break,
                "," | "(" | ")" | "=" | "==" | "!=" | ">" | "<" => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        parser.peek()
                    ));
                }
                _ => {}
            }
            let requirement =
                parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(requirement);
            match parser.next() {
                "" => break,
                "," => match parser.peek() {
                    next if next != "!" && !is_word(next) => {
                        return Err(format!("found '{next}', expected: identifier after ','"));
                    }
                    _ => {}
                },
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
        Ok(Self(requirements))
    }

    /// Converts a valid `LabelSelector` object; null and `{}` select everything.
    pub(crate) fn from_object(selector: &Value) -> Self {
        let equal =
            selector["matchLabels"].as_object().into_iter().flatten().map(|(key, value)| Requirement {
                key: key.clone(),
                operator: Operator::In,
                values: value.as_str().map(str::to_owned).into_iter().collect(),
            });
        let expressions = selector["matchExpressions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let expressions = expressions.iter().map(|expression| Requirement {
            key: expression["key"].as_str().unwrap_or_default().to_owned(),
            operator: match expression["operator"].as_str() {
                Some("NotIn") => Operator::NotIn,
                Some("Exists") => Operator::Exists,
                Some("DoesNotExist") => Operator::DoesNotExist,
                _ => Operator::In,
            },
            values: expression["values"]
                .as_array()
                .map(|values| values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
        });
        Self(equal.chain(expressions).collect())
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: &Value) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels[&requirement.key].as_str()))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        let compare = |wanted: std::cmp::Ordering| {
            let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
            match (number(value), number(self.values.first().map(String::as_str))) {
                (Some(value), Some(bound)) => value.cmp(&bound) == wanted,
                _ => false,
            }
        };
        match self.operator {
            Operator::In => listed(),
            Operator::NotIn => !listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Greater => compare(std::cmp::Ordering::Greater),
            Operator::Less => compare(std::cmp::Ordering::Less),
        }
    }
}

/// Splits a selector into words and operators. As in Go, a null byte ends a word; at the start of a word it
/// ends the text.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while let Some(first) = rest.chars().next().filter(|first| *first != '\0') {
        let length = match first {
            '=' if rest.starts_with("==") => 2,
            '!' if rest.starts_with("!=") => 2,
            '=' | '!' | '(' | ')' | ',' | '<' | '>' => 1,
            _ => rest.find(|c: char| BLANKS.contains(&c) || "=!(),<>\0".contains(c)).unwrap_or(rest.len()),
        };
        let (token, tail) = rest.split_at(length);
        out.push(token);
        let tail = if is_symbol(token) { tail } else { tail.strip_prefix('\0').unwrap_or(tail) };
        rest = tail.trim_start_matches(BLANKS);
    }
    out
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

struct Parser<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or("")
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == "!";
        if absent {
            self.at += 1;
        }
        let key = self.next();
        if !is_word(key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let wrong = names::labels::label_key(key);
        if !wrong.is_empty() {
            return Err(format!("<nil>: Invalid value: {}: {}", quote(key), wrong.join("; ")));
        }
        let key = key.to_owned();
        let bare = |operator| Ok(Requirement { key: key.clone(), operator, values: Vec::new() });
        if absent {
            return bare(Operator::DoesNotExist);
        }
        let operator = match self.peek() {
            "" | "," => return bare(Operator::Exists),
            "in" | "=" | "==" => Operator::In,
            "notin" | "!=" => Operator::NotIn,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let set = matches!(self.next(), "in" | "notin");
        let values = if set { self.values()? } else { BTreeSet::from([self.value()?]) };
        let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        check_values(&key, operator, &values)?;
        Ok(Requirement { key, operator, values })
    }

    fn value(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            "" | "," => Ok(""),
            _ => match self.next() {
                word if is_word(word) => Ok(word),
                other => Err(format!("found '{other}', expected: identifier")),
            },
        }
    }

    /// Parses values in parentheses. A comma without a value before or after it adds the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'a str>, String> {
        let open = self.next();
        if open != "(" {
            return Err(format!("found '{open}' expected: '('"));
        }
        let first = self.peek();
        if first == ")" {
            self.at += 1;
            return Ok(BTreeSet::from([""]));
        }
        if first != "," && !is_word(first) {
            return Err(format!("found '{first}', expected: ',', ')' or identifier"));
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                "," => {
                    if values.is_empty() || matches!(self.peek(), ")" | ",") {
                        values.insert("");
                    }
                    if self.peek() == "," {
                        self.at += 1;
                        continue;
                    }
                }
                word if is_word(word) => {
                    values.insert(word);
                    if !matches!(self.peek(), "," | ")") {
                        return Err(format!("found '{}', expected: ',' or ')'", self.peek()));
                    }
                }
                other => return Err(format!("found '{other}', expected: ',', or identifier")),
            }
            if self.peek() == ")" {
                self.at += 1;
                return Ok(values);
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    !token.is_empty() && !is_symbol(token)
}

fn is_symbol(token: &str) -> bool {
    matches!(token, "=" | "==" | "!=" | "!" | "(" | ")" | "," | "<" | ">")
}

/// Returns all errors of values, in brackets if there are several.
fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    let mut errors = Vec::new();
    let invalid =
        |at: String, value: &str, why: &str| format!("{at}: Invalid value: {}: {why}", quote(value));
    if matches!(operator, Operator::Greater | Operator::Less) {
        let wrong = values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err());
        let why = "for 'Gt', 'Lt' operators, the value must be an integer";
        errors.extend(wrong.map(|(index, value)| invalid(format!("values[{index}]"), value, why)));
    }
    for (index, value) in values.iter().enumerate() {
        let wrong = names::labels::label_value(value);
        if !wrong.is_empty() {
            errors.push(invalid(format!("values[{index}][{key}]"), value, &wrong.join("; ")));
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        all => Err(format!("[{}]", all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_equality_sets_and_presence() {
        let labels = json!({"x": "1", "y": "q", "e": "", "in": "in"});
        for (text, matches) in [
            ("", true),
            ("x=1", true),
            ("x!=1", false),
            ("x in (1,2),y", true),
            ("x notin (1)", false),
            ("!z", true),
            ("x>0", true),
            ("x<1", false),
            ("z!=1", true),
            ("x in (1,)", true),
            ("e in (2,)", true),
            ("e in (,2)", true),
            ("e in ()", true),
            ("x in (,,1)", true),
            ("x in (2,,3)", false),
            ("in in (in,notin)", true),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&labels), matches, "{text}");
        }
    }

    #[test]
    fn rejects_invalid_selectors_with_the_messages_of_the_server() {
        for (text, error) in [
            ("x in 1", "unable to parse requirement: found '1' expected: '('"),
            ("x=1,,y", "found ',', expected: identifier after ','"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("x=a b", "found 'b', expected: ',' or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("x in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("x=(", "unable to parse requirement: found '(', expected: identifier"),
            ("x in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("x in (,,)", "unable to parse requirement: found ')', expected: ',', or identifier"),
            ("x,!", "unable to parse requirement: found '', expected: identifier"),
            (
                "x>-",
                "unable to parse requirement: [values[0]: Invalid value: \"-\": for 'Gt', 'Lt' operators, the value \
                 must be an integer, values[0][x]: Invalid value: \"-\": a valid label must be an empty string or \
                 consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                 character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
            ),
            (
                "/x=1",
                "unable to parse requirement: <nil>: Invalid value: \"/x\": prefix part must be non-empty",
            ),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap_err(), error, "{text}");
        }
    }
}
