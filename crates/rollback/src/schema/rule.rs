//! A rule in CEL, with the names and texts in it.

use std::sync::LazyLock;

use regex::Regex;

/// Fields of `self`, with the bracket of a call behind them.
static FIELDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"self((?:\.\??[A-Za-z_]\w*)+)(\()?").expect("a valid pattern"));
/// Keys of `self` that are texts.
static KEYS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"self\[['"]([^'"]+)['"]\]|['"]([^'"]+)['"] in self\b"#).expect("a valid pattern")
});
/// Texts in quotes.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)""#).expect("a valid pattern"));

/// A rule in CEL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The expression, without line breaks at its ends.
    pub(crate) text: String,
    /// The message of the definition; empty if there is none.
    pub(crate) message: String,
    /// The fields of `self` that it mentions, each as its names.
    pub(crate) fields: Vec<Vec<String>>,
    /// The texts in quotes.
    pub(crate) literals: Vec<String>,
}

impl Rule {
    /// A rule of a definition.
    pub(super) fn new(text: &str, message: &str) -> Self {
        let (text, message) = (text.trim(), message.trim());
        Self {
            fields: fields(text),
            literals: literals(text),
            text: text.to_owned(),
            message: message.to_owned(),
        }
    }

    /// Whether the rule compares with the stored value.
    pub(crate) fn is_transition(&self) -> bool {
        self.text.contains("oldSelf")
    }

    /// Whether an error is that of this rule.
    pub(crate) fn has_message(&self, message: &str) -> bool {
        let own = if self.message.is_empty() { &self.text } else { &self.message };
        message.contains(own.as_str())
    }
}

/// The fields of `self` in a rule, each as its names. Names of functions are no fields.
fn fields(rule: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> =
        KEYS.captures_iter(rule).map(|captures| vec![either(&captures)]).collect();
    found.dedup();
    for captures in FIELDS.captures_iter(rule) {
        let names = captures[1].split('.').map(|name| name.trim_start_matches('?').to_owned());
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        if captures.get(2).is_some() {
            names.pop();
        }
        if !names.is_empty() && !found.contains(&names) {
            found.push(names);
        }
    }
    found
}

/// The texts in quotes in a rule.
fn literals(rule: &str) -> Vec<String> {
    QUOTED.captures_iter(rule).map(|captures| either(&captures).replace("\\\\", "\\")).collect()
}

/// The text of the first group that has one.
fn either(captures: &regex::Captures<'_>) -> String {
    captures.get(1).or_else(|| captures.get(2)).map_or("", |text| text.as_str()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_no_fields_of_a_rule() {
        let rule = "has(self.type) && self.type == 'AWS' ? self.aws.name.startsWith('a') : !has(self.aws)";
        assert_eq!(fields(rule), [vec!["type"], vec!["aws", "name"], vec!["aws"]]);
        assert_eq!(literals(rule), ["AWS", "a"]);
        assert_eq!(fields("'a/b' in self && self['a/b'] == 'c'"), [vec!["a/b"]]);
    }

    #[test]
    fn escapes_in_texts_are_resolved() {
        assert_eq!(literals(r"self.matches('^a\\.b$')"), [r"^a\.b$"]);
    }
}
