//! Translates patterns of Go to the syntax of the `regex` crate.

mod class;

use std::iter::Peekable;
use std::str::CharIndices;

/// Maximum repeat count in Go.
const MOST_REPEATS: u32 = 1000;

/// Rewrites syntax that differs between the two, and rejects syntax that Go lacks.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let rest = pattern.char_indices().peekable();
    let mut reader =
        Reader { pattern, rest, out: String::with_capacity(pattern.len()), open: 0, repeated: None };
    reader.whole()?;
    Ok(reader.out)
}

struct Reader<'a> {
    pattern: &'a str,
    rest: Peekable<CharIndices<'a>>,
    out: String,
    /// Number of open groups.
    open: usize,
    /// Position of the last repetition operator, if nothing follows it.
    repeated: Option<usize>,
}

impl<'a> Reader<'a> {
    fn whole(&mut self) -> Result<(), String> {
        // Whether there is an operand that an operator could repeat.
        let mut operand = false;
        while let Some((at, c)) = self.rest.next() {
            if self.repetition(at, c, operand)? {
                operand = true;
                continue;
            }
            self.repeated = None;
            operand = true;
            match c {
                '\\' => {
                    operand = self.escape(at, false)?;
                    self.property_name();
                }
                '[' => self.class(at)?,
                '(' => {
                    operand = false;
                    self.open(at)?;
                }
                ')' if self.open == 0 => return Err(format!("unexpected ): `{}`", self.pattern)),
                ')' => {
                    self.open -= 1;
                    self.out.push(')');
                }
                '|' => {
                    operand = false;
                    self.out.push('|');
                }
                '{' => self.out.push_str("\\{"),
                other => self.out.push(other),
            }
        }
        if self.open > 0 { Err(format!("missing closing ): `{}`", self.pattern)) } else { Ok(()) }
    }

    /// Translates a repetition operator, with the `?` that may make it lazy. Braces without numbers are
    /// literal.
    fn repetition(&mut self, at: usize, c: char, operand: bool) -> Result<bool, String> {
        let from = self.tail(at);
        let length = match c {
            '*' | '+' | '?' => 1,
            '{' => match counts(from) {
                Some((length, least, most)) => {
                    let wrong =
                        least > MOST_REPEATS || most.is_some_and(|most| most > MOST_REPEATS || most < least);
                    if wrong {
                        return Err(format!("invalid repeat count: `{}`", &from[..length]));
                    }
                    length
                }
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        if !operand {
            return Err(format!("missing argument to repetition operator: `{}`", &from[..length]));
        }
        if let Some(first) = self.repeated {
            return Err(format!(
                "invalid nested repetition operator: `{}`",
                &self.pattern[first..at + length]
            ));
        }
        self.out.push_str(&from[..length]);
        for _ in 1..length {
            self.rest.next();
        }
        if self.rest.next_if(|(_, c)| *c == '?').is_some() {
            self.out.push('?');
        }
        self.repeated = Some(at);
        Ok(true)
    }

    /// Translates the head of a group, with its name or flags. It cannot be repeated. No caller reads the match
    /// of a group, and a search with many capturing groups needs much memory, so no group captures.
    fn open(&mut self, at: usize) -> Result<(), String> {
        self.open += 1;
        let tail = self.tail(at);
        let Some(head) = tail.strip_prefix("(?") else {
            self.out.push_str("(?:");
            return Ok(());
        };
        let named = head.starts_with("P<")
            || (head.starts_with('<') && !head.starts_with("<=") && !head.starts_with("<!"));
        let length = if named {
            let end = head.find('>').ok_or_else(|| format!("invalid named capture: `{tail}`"))?;
            let name = head[..end].split_once('<').map_or("", |(_, name)| name);
            if name.is_empty() || name.contains(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
                return Err(format!("invalid named capture: `{}`", &tail[..end + 3]));
            }
            end
        } else {
            let flags = head.chars().take_while(|c| "imsU-".contains(*c)).count();
            let end = head[flags..].chars().next();
            if !matches!(end, Some(':' | ')')) {
                let shown = end.map_or(0, char::len_utf8) + flags;
                return Err(format!("invalid or unsupported Perl syntax: `(?{}`", &head[..shown]));
            }
            self.open -= usize::from(end == Some(')'));
            flags
        };
        let whole = &tail[..length + 3];
        self.out.push_str(if named { "(?:" } else { whole });
        for _ in 1..whole.chars().count() {
            self.rest.next();
        }
        Ok(())
    }

    /// Translates an escape. Returns whether an operator can repeat it.
    fn escape(&mut self, at: usize, class: bool) -> Result<bool, String> {
        let Some((_, escaped)) = self.rest.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let (inside, outside) = match escaped {
            'd' => ("0-9", "[0-9]"),
            'w' => ("0-9A-Za-z_", "[0-9A-Za-z_]"),
            's' => ("\\t\\n\\x0C\\r ", "[\\t\\n\\x0C\\r ]"),
            'D' => ("[^0-9]", "[^0-9]"),
            'W' => ("[^0-9A-Za-z_]", "[^0-9A-Za-z_]"),
            'S' => ("[^\\t\\n\\x0C\\r ]", "[^\\t\\n\\x0C\\r ]"),
            'b' if !class => ("", "(?-u:\\b)"),
            'B' if !class => ("", "(?-u:\\B)"),
            'Q' if !class => {
                self.quoted();
                return Ok(true);
            }
            _ => {
                self.literal(at, escaped, class)?;
                return Ok(true);
            }
        };
        self.out.push_str(if class { inside } else { outside });
        Ok(true)
    }

    /// Translates an escaped character: any punctuation, or one of a few letters.
    fn literal(&mut self, at: usize, escaped: char, class: bool) -> Result<(), String> {
        match escaped {
            'A' | 'z' if !class => {}
            'p' | 'P' | 'x' | 'a' | 'f' | 't' | 'n' | 'r' | 'v' => {}
            '0'..='7' if escaped == '0' || self.rest.peek().is_some_and(|(_, c)| matches!(c, '0'..='7')) => {
                let value = self.octal(escaped);
                self.out.push_str(&format!("\\x{{{value:x}}}"));
                return Ok(());
            }
            _ if escaped.is_ascii_alphanumeric() => {
                let end = at + 1 + escaped.len_utf8();
                return Err(format!("invalid escape sequence: `{}`", &self.pattern[at..end]));
            }
            _ => {
                self.out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
                return Ok(());
            }
        }
        self.out.push('\\');
        self.out.push(escaped);
        Ok(())
    }

    /// Parses an escape that represents one character (`parseEscape`).
    fn escaped_char(&mut self, at: usize) -> Result<char, String> {
        let Some((_, escaped)) = self.rest.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let octal = |c: &(usize, char)| matches!(c.1, '0'..='7');
        let found = match escaped {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            't' => Some('\t'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            'v' => Some('\u{b}'),
            'x' => self.hexadecimal(),
            '0'..='7' if escaped == '0' || self.rest.peek().is_some_and(octal) => {
                char::from_u32(self.octal(escaped))
            }
            _ if escaped.is_ascii_alphanumeric() => None,
            _ => Some(escaped),
        };
        found.ok_or_else(|| {
            let end = self.rest.peek().map_or(self.pattern.len(), |(at, _)| *at);
            format!("invalid escape sequence: `{}`", &self.pattern[at..end])
        })
    }

    /// Parses the rest of `\x`: two digits, or digits in braces.
    fn hexadecimal(&mut self) -> Option<char> {
        let (at, first) = self.rest.next()?;
        let digits = if first == '{' {
            let inner = &self.pattern[at + 1..];
            &inner[..inner.find('}')?]
        } else {
            self.pattern.get(at..at + 2)?
        };
        let remaining = if first == '{' { digits.chars().count() + 1 } else { 1 };
        for _ in 0..remaining {
            self.rest.next();
        }
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        plain.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
    }

    /// Parses up to three octal digits.
    fn octal(&mut self, first: char) -> u32 {
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some((_, digit)) = self.rest.next_if(|(_, c)| matches!(c, '0'..='7')) else { break };
            value = value * 8 + digit.to_digit(8).unwrap_or(0);
        }
        value
    }

    /// Copies everything between `\Q` and `\E` literally.
    fn quoted(&mut self) {
        while let Some((at, c)) = self.rest.next() {
            if self.tail(at).starts_with("\\E") {
                self.rest.next();
                return;
            }
            self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
        }
    }

    fn tail(&self, at: usize) -> &'a str {
        &self.pattern[at..]
    }
}

/// The length of `{n}`, `{n,}` or `{n,m}` at the start of a text, and its numbers.
fn counts(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let inner = &text[1..text.find('}')?];
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (least, most) = match inner.split_once(',') {
        None => (number(inner)?, None),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((inner.len() + 2, least, most))
}
