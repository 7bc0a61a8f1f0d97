//! Mail addresses, as Go's `mail.ParseAddress` parses them: one address, optionally after a name.

/// Whether a text is a single address.
pub(super) fn is_address(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.address().is_some() && reader.blank().is_some() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Parses an address, alone or in angle brackets after a name.
    fn address(&mut self) -> Option<()> {
        self.blank()?;
        let start = self.rest;
        if self.specification().is_some() {
            return Some(());
        }
        self.rest = start;
        if !start.starts_with('<') {
            self.phrase()?;
        }
        self.blank()?;
        self.eat('<')?;
        self.specification()?;
        self.eat('>')
    }

    /// Parses a local part, `@` and a domain.
    fn specification(&mut self) -> Option<()> {
        self.spaces();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.atom(false)?;
        }
        self.eat('@')?;
        self.spaces();
        if self.rest.starts_with('[') {
            let end = self.rest.find(']')?;
            self.rest = &self.rest[end + 1..];
            return Some(());
        }
        self.atom(false)
    }

    /// Parses the words before an address in angle brackets.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            self.blank()?;
            let read = match self.rest.chars().next() {
                None => break,
                Some('"') => self.quoted().map(|_| ()),
                Some(_) => self.atom(true),
            };
            if read.is_none() {
                break;
            }
            words += 1;
        }
        (words > 0).then_some(())
    }

    /// Parses letters and dots. Unless `loose`, dots may not be at either end or side by side.
    fn atom(&mut self, loose: bool) -> Option<()> {
        let end = self.rest.find(|c: char| !(c == '.' || is_atom(c))).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        let dots = atom.starts_with('.') || atom.ends_with('.') || atom.contains("..");
        if atom.is_empty() || dots && !loose {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// Parses a quoted text and returns its length.
    fn quoted(&mut self) -> Option<usize> {
        let mut chars = self.rest.char_indices().skip(1);
        let mut length = 0;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(length);
                }
                '\\' => {
                    chars.next().filter(|(_, c)| is_visible(*c) || matches!(c, ' ' | '\t'))?;
                }
                c if is_visible(c) || matches!(c, ' ' | '\t') => {}
                _ => return None,
            }
            length += 1;
        }
        None
    }

    /// Skips white space and comments in parentheses, which may be nested.
    fn blank(&mut self) -> Option<()> {
        self.spaces();
        while self.rest.starts_with('(') {
            let mut depth = 0_u32;
            let end = self.rest.find(|c| {
                depth = match c {
                    '(' => depth + 1,
                    ')' => depth - 1,
                    _ => depth,
                };
                depth == 0
            })?;
            self.rest = &self.rest[end + 1..];
            self.spaces();
        }
        Some(())
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn eat(&mut self, wanted: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(wanted)?;
        Some(())
    }
}

fn is_visible(c: char) -> bool {
    c.is_ascii_graphic() || !c.is_ascii()
}

fn is_atom(c: char) -> bool {
    is_visible(c) && !"()<>[]:;@\\,\"".contains(c)
}
