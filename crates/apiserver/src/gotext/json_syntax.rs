//! The messages of Go's JSON scanner for a malformed document (`encoding/json`).

use super::quote;

/// The message for the first syntax error of a document; `None` if it is well-formed.
pub(crate) fn syntax_error(document: &[u8]) -> Option<String> {
    let mut scanner = Scanner { rest: document };
    let result = scanner.value().and_then(|()| {
        scanner.skip_space();
        match scanner.rest.first() {
            None => Ok(()),
            Some(byte) => Err(wrong(*byte, "after top-level value")),
        }
    });
    result.err()
}

const END: &str = "unexpected end of JSON input";

/// The depth of containers that Go reads (`maxNestingDepth`).
const DEPTH_MAX: usize = 10_000;

/// A container whose end has not been read.
enum Container {
    Object,
    Array,
}

struct Scanner<'a> {
    rest: &'a [u8],
}

/// The message for an unexpected character.
fn wrong(byte: u8, place: &str) -> String {
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        // Go shows a byte as the character with that number.
        byte => format!("'{}'", quote(&char::from(byte).to_string()).trim_matches('"')),
    };
    format!("invalid character {shown} {place}")
}

impl Scanner<'_> {
    fn skip_space(&mut self) {
        let count = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.rest = &self.rest[count..];
    }

    fn next(&mut self) -> Result<u8, String> {
        let (byte, rest) = self.rest.split_first().ok_or(END)?;
        self.rest = rest;
        Ok(*byte)
    }

    /// The next byte of a token; a space at the end of the document, since Go ends the last token with one.
    fn next_in_token(&mut self) -> u8 {
        self.next().unwrap_or(b' ')
    }

    /// The next byte after white space.
    fn next_token(&mut self) -> Result<u8, String> {
        self.skip_space();
        self.next()
    }

    /// Reads a value without recursion, since a document may be nested deeply.
    fn value(&mut self) -> Result<(), String> {
        let mut open = Vec::new();
        let mut byte = self.next_token()?;
        loop {
            byte = match self.open(byte, &mut open)? {
                Some(first) => first,
                None => match self.after_value(&mut open)? {
                    Some(next) => next,
                    None => return Ok(()),
                },
            };
        }
    }

    /// Reads a scalar or an empty container that begins with `byte`. Opens another container, and returns the first byte of
    /// its first value.
    fn open(&mut self, byte: u8, open: &mut Vec<Container>) -> Result<Option<u8>, String> {
        match byte {
            b'{' | b'[' if open.len() == DEPTH_MAX => Err(wrong(byte, "exceeded max depth")),
            b'{' => match self.next_token()? {
                b'}' => Ok(None),
                quote => {
                    open.push(Container::Object);
                    self.value_of_key(quote).map(Some)
                }
            },
            b'[' => match self.next_token()? {
                b']' => Ok(None),
                first => {
                    open.push(Container::Array);
                    Ok(Some(first))
                }
            },
            _ => self.scalar(byte).map(|()| None),
        }
    }

    /// Closes containers after a value, and returns the first byte of the next value; `None` after the last.
    fn after_value(&mut self, open: &mut Vec<Container>) -> Result<Option<u8>, String> {
        while let Some(container) = open.last() {
            match (container, self.next_token()?) {
                (Container::Object, b'}') | (Container::Array, b']') => drop(open.pop()),
                (Container::Object, b',') => {
                    let quote = self.next_token()?;
                    return self.value_of_key(quote).map(Some);
                }
                (Container::Array, b',') => return self.next_token().map(Some),
                (Container::Object, other) => return Err(wrong(other, "after object key:value pair")),
                (Container::Array, other) => return Err(wrong(other, "after array element")),
            }
        }
        Ok(None)
    }

    /// Reads a key and its colon, and returns the first byte of the value.
    fn value_of_key(&mut self, quote: u8) -> Result<u8, String> {
        if quote != b'"' {
            return Err(wrong(quote, "looking for beginning of object key string"));
        }
        self.string()?;
        match self.next_token()? {
            b':' => self.next_token(),
            other => Err(wrong(other, "after object key")),
        }
    }

    fn scalar(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'"' => self.string(),
            b'-' => match self.next_in_token() {
                digit @ b'0'..=b'9' => self.number(digit),
                other => Err(wrong(other, "in numeric literal")),
            },
            b'0'..=b'9' => self.number(byte),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            other => Err(wrong(other, "looking for beginning of value")),
        }
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next_in_token() {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let digit = self.next_in_token();
                            if !digit.is_ascii_hexdigit() {
                                return Err(wrong(digit, r"in \u hexadecimal character escape"));
                            }
                        }
                    }
                    other => return Err(wrong(other, "in string escape code")),
                },
                control if control < 0x20 => return Err(wrong(control, "in string literal")),
                _ => {}
            }
        }
    }

    /// The rest of a number after its first digit. The end of the document may end it.
    fn number(&mut self, first: u8) -> Result<(), String> {
        if first != b'0' {
            self.skip_digits();
        }
        if self.rest.first() == Some(&b'.') {
            self.next()?;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.rest.first(), Some(b'e' | b'E')) {
            self.next()?;
            if matches!(self.rest.first(), Some(b'+' | b'-')) {
                self.next()?;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self, place: &str) -> Result<(), String> {
        let byte = self.next_in_token();
        if !byte.is_ascii_digit() {
            return Err(wrong(byte, place));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = &self.rest[count..];
    }

    /// The rest of a literal after its first letter.
    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let byte = self.next_in_token();
            if byte != expected {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(wrong(byte, &place));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_character_and_the_place() {
        for (document, message) in [
            ("{\"a\": [1, -0.5e+3, true, null, \"\\u00e9\"]} \n", ""),
            ("", END),
            ("{\"a\"", END),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
            ("{\"a\":1}{", "invalid character '{' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("nul1", "invalid character '1' in literal null (expecting 'l')"),
            ("nul", "invalid character ' ' in literal null (expecting 'l')"),
            ("[-", "invalid character ' ' in numeric literal"),
            ("1.", "invalid character ' ' after decimal point in numeric literal"),
            ("1e+", "invalid character ' ' in exponent of numeric literal"),
            ("\"\\u12", r"invalid character ' ' in \u hexadecimal character escape"),
            ("\"a", END),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
        ] {
            assert_eq!(syntax_error(document.as_bytes()).unwrap_or_default(), message, "{document}");
        }
    }

    #[test]
    fn the_depth_of_containers_is_limited() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(syntax_error(nested(DEPTH_MAX).as_bytes()), None);
        for document in [nested(DEPTH_MAX + 1), "[".repeat(DEPTH_MAX + 1)] {
            let message = syntax_error(document.as_bytes());
            assert_eq!(message.as_deref(), Some("invalid character '[' exceeded max depth"));
        }
    }
}
