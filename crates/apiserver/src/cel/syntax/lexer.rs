//! The lexer: splits text into tokens.

use super::Literal;
use crate::cel::expression_error::ExpressionError;

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: TokenKind,
    /// The source text, for errors.
    pub(super) text: String,
}

impl Token {
    /// Whether an operand may begin with this token.
    pub(super) fn begins_operand(&self) -> bool {
        match self.kind {
            TokenKind::Ident(_) | TokenKind::Literal(_) => true,
            TokenKind::Op(op) => matches!(op, "[" | "{" | "(" | "." | "-" | "!"),
            TokenKind::End => false,
        }
    }
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Ident(String),
    Literal(Literal),
    Op(&'static str),
    End,
}

/// Operators; longer ones precede their prefixes.
const OPERATORS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}",
    ".", ",", "?", ":", "in",
];

/// Splits a text into tokens; the last one marks the end.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Vec<ExpressionError>> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0, errors: Vec::new() };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    if !lexer.errors.is_empty() {
        return Err(lexer.errors);
    }
    tokens.push(Token { at: lexer.at, kind: TokenKind::End, text: "<EOF>".to_owned() });
    Ok(tokens)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    errors: Vec<ExpressionError>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            self.skip_blanks();
            if self.at >= self.chars.len() {
                return None;
            }
            let start = self.at;
            if let Some(kind) = self.token() {
                let text = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
                return Some(Token { at: start, kind, text });
            }
            self.at = self.at.max(start + 1);
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.at += 1,
                '/' if self.peek(1) == '/' => {
                    while self.at < self.chars.len() && self.peek(0) != '\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn token(&mut self) -> Option<TokenKind> {
        let first = self.peek(0);
        if let Some(prefix) = self.string_prefix() {
            return self.string(prefix);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Some(self.word());
        }
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_ascii_digit()) {
            return self.number();
        }
        if first == '`' {
            return self.quoted_ident();
        }
        let found = OPERATORS.iter().find(|op| op.chars().enumerate().all(|(i, c)| self.peek(i) == c));
        match found {
            Some(op) => {
                self.at += op.len();
                Some(TokenKind::Op(op))
            }
            None => {
                // Half an operator is reported with the character that does not fit.
                let is_half = OPERATORS.iter().any(|op| op.len() == 2 && op.starts_with(first));
                let next = self.chars.get(self.at + 1).filter(|_| is_half);
                let text: String = [first].iter().chain(next).collect();
                let error = format!("Syntax error: token recognition error at: '{text}'");
                self.errors.push(ExpressionError::new(self.at, error));
                None
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        let mut word = String::new();
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            word.push(self.peek(0));
            self.at += 1;
        }
        match word.as_str() {
            "true" => TokenKind::Literal(Literal::Bool(true)),
            "false" => TokenKind::Literal(Literal::Bool(false)),
            "null" => TokenKind::Literal(Literal::Null),
            "in" => TokenKind::Op("in"),
            _ => TokenKind::Ident(word),
        }
    }

    fn quoted_ident(&mut self) -> Option<TokenKind> {
        let start = self.at;
        self.at += 1;
        let mut name = String::new();
        while self.peek(0).is_ascii_alphanumeric() || "_.-/ ".contains(self.peek(0)) {
            name.push(self.peek(0));
            self.at += 1;
        }
        if self.peek(0) == '`' && !name.is_empty() {
            self.at += 1;
            return Some(TokenKind::Ident(name));
        }
        self.errors.push(ExpressionError::new(start, "Syntax error: token recognition error at: '`'"));
        None
    }

    fn digits(&mut self, out: &mut String, radix: u32) {
        while self.peek(0).is_digit(radix) {
            out.push(self.peek(0));
            self.at += 1;
        }
    }

    fn number(&mut self) -> Option<TokenKind> {
        let start = self.at;
        let mut digits = String::new();
        if self.peek(0) == '0' && matches!(self.peek(1), 'x' | 'X') {
            self.at += 2;
            self.digits(&mut digits, 16);
            return self.integer(start, &digits, 16);
        }
        self.digits(&mut digits, 10);
        let mut float = false;
        if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
            float = true;
            digits.push('.');
            self.at += 1;
            self.digits(&mut digits, 10);
        }
        let sign = usize::from(matches!(self.peek(1), '+' | '-'));
        if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + sign).is_ascii_digit() {
            float = true;
            for _ in 0..=sign {
                digits.push(self.peek(0));
                self.at += 1;
            }
            self.digits(&mut digits, 10);
        }
        if !float {
            return self.integer(start, &digits, 10);
        }
        let text = if digits.starts_with('.') { format!("0{digits}") } else { digits };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Some(TokenKind::Literal(Literal::Double(number))),
            _ => {
                self.errors.push(ExpressionError::new(start, "invalid double literal"));
                None
            }
        }
    }

    fn integer(&mut self, start: usize, digits: &str, radix: u32) -> Option<TokenKind> {
        if matches!(self.peek(0), 'u' | 'U') {
            self.at += 1;
            if let Ok(number) = u64::from_str_radix(digits, radix) {
                return Some(TokenKind::Literal(Literal::Uint(number)));
            }
            self.errors.push(ExpressionError::new(start, "invalid uint literal"));
            return None;
        }
        match i64::from_str_radix(digits, radix) {
            Ok(number) => Some(TokenKind::Literal(Literal::Int(number))),
            // Only its negation is a valid int. The parser applies the sign.
            Err(_) if u64::from_str_radix(digits, radix) == Ok(i64::MIN.unsigned_abs()) => {
                Some(TokenKind::Literal(Literal::Int(i64::MIN)))
            }
            Err(_) => {
                self.errors.push(ExpressionError::new(start, "invalid int literal"));
                None
            }
        }
    }

    /// The raw flag, the bytes flag and the length of the prefix, if a string begins here.
    fn string_prefix(&self) -> Option<(bool, bool, usize)> {
        let (mut raw, mut bytes, mut length) = (false, false, 0);
        while length < 2 {
            match self.peek(length) {
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes => bytes = true,
                _ => break,
            }
            length += 1;
        }
        matches!(self.peek(length), '"' | '\'').then_some((raw, bytes, length))
    }

    fn string(&mut self, (raw, bytes, prefix): (bool, bool, usize)) -> Option<TokenKind> {
        let start = self.at;
        self.at += prefix;
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        let width = if triple { 3 } else { 1 };
        self.at += width;
        let mut content = Vec::new();
        loop {
            let next = self.peek(0);
            let closes = (0..width).all(|i| self.peek(i) == quote);
            if closes {
                self.at += width;
                break;
            }
            if self.at >= self.chars.len() || (!triple && matches!(next, '\n' | '\r')) {
                let text: String = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
                let error = format!("Syntax error: token recognition error at: '{text}'");
                self.errors.push(ExpressionError::new(start, error));
                return None;
            }
            self.at += 1;
            if next == '\\' {
                content.push(next);
                content.push(self.peek(0));
                self.at += 1;
            } else {
                content.push(next);
            }
        }
        let literal = if raw { Some(plain(&content, bytes)) } else { unescape(&content, bytes) };
        if literal.is_none() {
            self.errors.push(ExpressionError::new(start, "invalid string literal"));
        }
        literal.map(TokenKind::Literal)
    }
}

fn plain(content: &[char], bytes: bool) -> Literal {
    let text: String = content.iter().collect();
    if bytes { Literal::Bytes(text.into_bytes()) } else { Literal::String(text) }
}

fn unescape(content: &[char], bytes: bool) -> Option<Literal> {
    let mut out: Vec<u8> = Vec::new();
    let mut rest = content.iter().copied();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.extend(c.to_string().as_bytes());
            continue;
        }
        let escape = rest.next()?;
        let (skip, digits, radix) = match escape {
            'x' | 'X' => (0, 2, 16),
            'u' => (0, 4, 16),
            'U' => (0, 8, 16),
            '0'..='3' => (1, 2, 8),
            _ => {
                out.push(simple_escape(escape)?);
                continue;
            }
        };
        let mut code = if skip == 1 { escape.to_digit(8)? } else { 0 };
        for _ in 0..digits {
            code = code.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?)?;
        }
        if bytes && !matches!(escape, 'u' | 'U') {
            out.push(u8::try_from(code).ok()?);
        } else {
            out.extend(char::from_u32(code)?.to_string().as_bytes());
        }
    }
    if bytes {
        return Some(Literal::Bytes(out));
    }
    String::from_utf8(out).ok().map(Literal::String)
}

fn simple_escape(escape: char) -> Option<u8> {
    Some(match escape {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => escape as u8,
        _ => return None,
    })
}
