//! Flags of Go programs: `--name=value`, `--name value` or `--name`. The last occurrence counts, except for lists.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Flags(BTreeMap<String, Vec<String>>);

impl Flags {
    /// Parses flags. Ignores other arguments, which these programs do not take.
    pub(super) fn read(words: &[String]) -> Self {
        let mut flags: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (flag, words.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_default()),
            };
            flags.entry(name.to_owned()).or_default().push(value);
        }
        Self(flags)
    }

    /// Returns the value of a flag, if it is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the values of all occurrences of a flag, with commas.
    pub(super) fn list(&self, name: &str) -> String {
        self.0.get(name).map(|values| values.join(",")).unwrap_or_default()
    }

    /// Returns whether the help text is requested.
    pub(super) fn requests_help(&self) -> bool {
        self.has("help") || self.has("h")
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the flags that are not among `known`.
    pub(super) fn others<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.0.keys().map(String::as_str).filter(|name| !known.contains(name))
    }
}

/// Returns the text for `--help`. Each flag starts a line of its own: controller-runtime parses this text to
/// find out which flags a program supports.
pub(super) fn help(about: &str, program: &str, supported: &[&str], ignored: &[&str]) -> String {
    let lines = |names: &[&str]| names.iter().fold(String::new(), |lines, name| lines + "  --" + name + "\n");
    format!(
        "{about}\n\nUsage:\n  {program} [flags]\n\nFlags:\n{}\nIgnored flags:\n{}\n\
         Other flags:\n  --help, -h  Print this text\n  --version   Print the version\n",
        lines(supported),
        lines(ignored)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_all_forms_of_flags() {
        let words = ["--a=1", "--b", "2", "--c", "-d", "x=y", "--a=3", "--e="].map(str::to_owned);
        let flags = Flags::read(&words);
        let value = |name| flags.get(name);
        assert_eq!(
            (value("a"), value("b"), value("c"), value("d")),
            (Some("3"), Some("2"), None, Some("x=y"))
        );
        assert_eq!((value("e"), flags.has("e"), flags.has("f")), (None, true, false));
        assert_eq!((flags.list("a"), flags.list("f")), ("1,3".to_owned(), String::new()));
        assert_eq!(flags.others(&["a", "b", "c"]).collect::<Vec<_>>(), ["d", "e"]);
    }
}
