//! Character classes in brackets.

use super::Reader;

/// Names of classes.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

impl Reader<'_> {
    /// Translates a class in brackets, member by member like Go's `parseClass`. A `]` at its start is a
    /// member, and so are the characters that the `regex` crate uses for set operations.
    pub(super) fn class(&mut self, from: usize) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if(|(_, c)| *c == '^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        while let Some((at, c)) = self.rest.peek().copied() {
            if c == ']' && !first {
                self.rest.next();
                self.out.push(']');
                return Ok(());
            }
            first = false;
            let tail = self.tail(at);
            if tail.starts_with("[:") && tail[2..].contains(":]") {
                self.named(at)?;
            } else if is_class_escape(tail) {
                self.rest.next();
                self.escape(at, true)?;
                self.property_name();
            } else {
                self.range(at)?;
            }
        }
        Err(format!("missing closing ]: `{}`", self.tail(from)))
    }

    /// Translates a named class, such as `[:alpha:]`.
    fn named(&mut self, at: usize) -> Result<(), String> {
        let tail = self.tail(at);
        let end = tail[2..].find(":]").map_or(tail.len(), |end| end + 4);
        let name = &tail[..end];
        let letters = name.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
        if !CLASSES.contains(&letters) {
            return Err(format!("invalid character class range: `{name}`"));
        }
        self.out.push_str(name);
        for _ in name.chars() {
            self.rest.next();
        }
        Ok(())
    }

    /// Copies the rest of `\\p`: a letter, or a name in braces. The `regex` crate rejects unknown names.
    pub(super) fn property_name(&mut self) {
        if !(self.out.ends_with("\\p") || self.out.ends_with("\\P")) {
            return;
        }
        let Some((_, c)) = self.rest.next() else { return };
        self.out.push(c);
        while c == '{'
            && let Some((_, c)) = self.rest.next()
        {
            self.out.push(c);
            if c == '}' {
                return;
            }
        }
    }

    /// Translates one character or a range. A dash forms a range only if a character other than `]` follows
    /// it.
    fn range(&mut self, at: usize) -> Result<(), String> {
        let low = self.member()?;
        let dash = self.rest.peek().is_some_and(|(at, _)| {
            let tail = &self.pattern.as_bytes()[*at..];
            tail.len() >= 2 && tail[0] == b'-' && tail[1] != b']'
        });
        push_member(&mut self.out, low);
        if dash {
            self.rest.next();
            let high = self.member()?;
            if high < low {
                let end = self.rest.peek().map_or(self.pattern.len(), |(at, _)| *at);
                return Err(format!("invalid character class range: `{}`", &self.pattern[at..end]));
            }
            self.out.push('-');
            push_member(&mut self.out, high);
        }
        Ok(())
    }

    /// Parses a character, escaped or not.
    fn member(&mut self) -> Result<char, String> {
        match self.rest.next() {
            None => Err("missing closing ]: ``".to_owned()),
            Some((at, '\\')) => self.escaped_char(at),
            Some((_, c)) => Ok(c),
        }
    }
}

/// Whether a text begins with an escape that represents several characters.
fn is_class_escape(text: &str) -> bool {
    text.strip_prefix('\\').is_some_and(|rest| rest.starts_with(['d', 'w', 's', 'D', 'W', 'S', 'p', 'P']))
}

/// Writes a character so that the `regex` crate takes it literally.
fn push_member(out: &mut String, member: char) {
    if member.is_ascii_alphanumeric() || !member.is_ascii() {
        out.push(member);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(member)));
    }
}
