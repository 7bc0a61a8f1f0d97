//! Flags of Go programs: `--name=value`, `--name value` or `--name`, as often as one likes; the last one counts.

use std::collections::BTreeMap;

/// The flags of a command line.
#[derive(Debug, Default)]
pub(super) struct Flags(BTreeMap<String, String>);

impl Flags {
    /// Reads them; what is no flag and belongs to none is left out, as those programs take no other arguments.
    pub(super) fn read(words: &[String]) -> Self {
        let mut flags = BTreeMap::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (flag, words.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_default()),
            };
            flags.insert(name.to_owned(), value);
        }
        Self(flags)
    }

    /// The value of a flag that is given and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether it is given at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Those that are given and not among `known`.
    pub(super) fn others<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.0.keys().map(String::as_str).filter(|name| !known.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_all_their_forms() {
        let words = ["--a=1", "--b", "2", "--c", "-d", "x=y", "--a=3", "--e="].map(str::to_owned);
        let flags = Flags::read(&words);
        let value = |name| flags.get(name);
        assert_eq!(
            (value("a"), value("b"), value("c"), value("d")),
            (Some("3"), Some("2"), None, Some("x=y"))
        );
        assert_eq!((value("e"), flags.has("e"), flags.has("f")), (None, true, false));
        assert_eq!(flags.others(&["a", "b", "c"]).collect::<Vec<_>>(), ["d", "e"]);
    }
}
