//! A field of an object as the names that lead to it. Items of lists have names as well: their `name`, `type` or
//! `key`, or else their number.

use std::fmt;

/// Matches any one name.
const ANY: &str = "*";

/// The names that lead to a field, such as `status.conditions[Progressing].message`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(Vec<Step>);

/// One name of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A member of a map.
    Member(String),
    /// An item of a list.
    Item(String),
}

impl Step {
    fn name(&self) -> &str {
        match self {
            Self::Member(name) | Self::Item(name) => name,
        }
    }
}

impl FieldPath {
    /// Parses `status.history[0].state`, `metadata.annotations["a.b"]` or `status.conditions[Progressing]`; `*` as a name
    /// matches any.
    ///
    /// # Errors
    /// The expected syntax, and the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::steps(text).map(Self).ok_or_else(|| {
            format!(
                "expected a path such as `status.conditions[Progressing].message` or `metadata.annotations[\"a.b\"]`, \
                 found `{text}`"
            )
        })
    }

    fn steps(text: &str) -> Option<Vec<Step>> {
        let (mut steps, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (step, after) = bracket(inner)?;
                steps.push(step);
                rest = after;
                continue;
            }
            let names = if steps.is_empty() { rest } else { rest.strip_prefix('.')? };
            let (name, after) = names.split_at(names.find(['.', '[']).unwrap_or(names.len()));
            if !is_plain(name) {
                return None;
            }
            steps.push(Step::Member(name.to_owned()));
            rest = after;
        }
        (!steps.is_empty()).then_some(steps)
    }

    /// This path, and a member of the map at its end.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        self.with(Step::Member(name.to_owned()))
    }

    /// This path, and an item of the list at its end.
    #[must_use]
    pub fn item(&self, name: &str) -> Self {
        self.with(Step::Item(name.to_owned()))
    }

    fn with(&self, step: Step) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// Whether the path is that of the whole object.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this field is `outer`, or is in it. `outer` may contain `*`.
    pub fn is_in(&self, outer: &Self) -> bool {
        let fits = |(own, other): (&Step, &Step)| other.name() == ANY || own.name() == other.name();
        self.0.len() >= outer.0.len() && self.0.iter().zip(&outer.0).all(fits)
    }
}

/// Parses what follows a `[`: a name between quotes, or an item of a list.
fn bracket(inner: &str) -> Option<(Step, &str)> {
    for quote in ['"', '\''] {
        if let Some(quoted) = inner.strip_prefix(quote) {
            let (name, after) = quoted.split_once(quote)?;
            return Some((Step::Member(name.to_owned()), after.strip_prefix(']')?));
        }
    }
    let (name, after) = inner.split_once(']')?;
    (!name.is_empty()).then(|| (Step::Item(name.to_owned()), after))
}

/// Whether a member needs no quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', '[', ']', '"', '\'', ' ', '/'])
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(name) => write!(f, "[{name}]")?,
                Step::Member(name) if name.contains('"') => write!(f, "['{name}']")?,
                Step::Member(name) if !is_plain(name) => write!(f, "[\"{name}\"]")?,
                Step::Member(name) if index == 0 => f.write_str(name)?,
                Step::Member(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_printed_as_it_is_written() {
        for text in [
            "status",
            "status.history[0].state",
            "metadata.annotations[\"a.b/c\"]",
            "status.conditions[Progressing].message",
            "status.conditions[*]",
            "metadata.annotations[\"\"]",
            "data['a\"b']",
        ] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
        let quoted = FieldPath::parse("data['a']").unwrap();
        assert_eq!(quoted.to_string(), "data.a");
        for wrong in ["", ".a", "a.", "a..b", "a[", "a[]", "a[\"b]", "a b", "Kind/name"] {
            assert!(FieldPath::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_field_is_in_itself_and_in_the_fields_around_it() {
        let path = |text: &str| FieldPath::parse(text).unwrap();
        let field = path("status.conditions[Progressing].message");
        for outer in ["status", "status.conditions[*].message", "status.*.Progressing", &field.to_string()] {
            assert!(field.is_in(&path(outer)), "{outer}");
        }
        for other in ["spec", "status.conditions[Failing]", "status.conditions[Progressing].message.a"] {
            assert!(!field.is_in(&path(other)), "{other}");
        }
        assert!(field.is_in(&FieldPath::default()));
    }
}
