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

    /// Whether the help text is asked for.
    pub(super) fn ask_for_help(&self) -> bool {
        self.has("help") || self.has("h")
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

/// The text for `--help`. Each flag has a line of its own that begins with it: controller-runtime reads from there which
/// flags it may give to a program.
pub(super) fn help(about: &str, program: &str, obeyed: &[&str], ignored: &[&str]) -> String {
    let lines = |names: &[&str]| names.iter().fold(String::new(), |lines, name| lines + "  --" + name + "\n");
    format!(
        "{about}\n\nUsage:\n  {program} [flags]\n\nFlags:\n{}\nFlags that are accepted and change nothing:\n{}\n\
         Other flags:\n  --help, -h  Print this text\n  --version   Print the version\n",
        lines(obeyed),
        lines(ignored)
    )
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
