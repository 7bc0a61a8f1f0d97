//! Classes in brackets.

use super::Reader;

/// Classes that have a name.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

impl Reader<'_> {
    /// A class in brackets. A `]` at its start is one of its members, and set operations are Go's members too.
    pub(super) fn class(&mut self, from: usize) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if(|(_, c)| *c == '^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        while let Some((at, c)) = self.rest.next() {
            let at_start = std::mem::take(&mut first);
            if let Some(range) = backward_range(self.tail(at)) {
                return Err(format!("invalid character class range: `{range}`"));
            }
            match c {
                '\\' => {
                    self.escape(at, true)?;
                }
                ']' if !at_start => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.tail(at).starts_with("[:") && self.tail(at).contains(":]") => self.named(at)?,
                ']' | '[' | '&' | '~' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                other => self.out.push(other),
            }
        }
        Err(format!("missing closing ]: `{}`", self.tail(from)))
    }

    /// A class by its name, such as `[:alpha:]`.
    fn named(&mut self, at: usize) -> Result<(), String> {
        let tail = self.tail(at);
        let end = tail.find(":]").map_or(tail.len(), |end| end + 2);
        let name = &tail[..end];
        let letters = name.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
        if !CLASSES.contains(&letters) {
            return Err(format!("invalid character class range: `{name}`"));
        }
        self.out.push_str(name);
        for _ in 1..name.chars().count() {
            self.rest.next();
        }
        Ok(())
    }
}

/// A range of plain characters that ends before it begins, at the start of a text.
fn backward_range(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    let (from, dash, to) = (chars.next()?, chars.next()?, chars.next()?);
    let plain = !matches!(from, '\\' | ']' | '[') && !matches!(to, '\\' | ']' | '[');
    let length = from.len_utf8() + 1 + to.len_utf8();
    (dash == '-' && plain && to < from).then(|| &text[..length])
}
