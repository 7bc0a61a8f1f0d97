//! The parser: builds a tree from tokens.

pub(super) mod macros;

use super::lexer::{self, Token, TokenKind};
use crate::cel::escape::RESERVED;
use crate::cel::expression_error::ExpressionError;
use crate::cel::syntax::{Access, Element, Entry, Kind, Literal, Node};

/// Maximum nesting depth of operators.
const DEPTH: usize = 250;
/// Maximum number of characters of an expression.
const LENGTH: usize = 100_000;
/// Number of operators that a pair of brackets counts as, because parsing it takes as much stack.
const BRACKETS: usize = 3;
/// The tokens at the start of an operand, in the order of cel-go, and whether an operand may begin with them. The others
/// are allowed there at some places.
#[rustfmt::skip]
const STARTS: [(&str, bool); 20] = [
    ("'['", true), ("']'", false), ("'{'", true), ("'}'", false), ("'('", true), ("')'", false), ("'.'", true),
    ("','", false), ("'-'", true), ("'!'", true), ("'?'", false), ("'true'", true), ("'false'", true),
    ("'null'", true), ("NUM_FLOAT", true), ("NUM_INT", true), ("NUM_UINT", true), ("STRING", true), ("BYTES", true),
    ("IDENTIFIER", true),
];
/// The tokens that may follow `.?`, and those that may begin a field of a message.
const OPTIONAL_NAME: &str = "{IDENTIFIER, ESC_IDENTIFIER}";
const FIELD_NAME: &str = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
/// Comparison operators, which have one precedence.
const RELATIONS: [&str; 7] = ["<", "<=", ">=", ">", "==", "!=", "in"];

/// Parses an expression. Returns it with its number of nodes.
pub(crate) fn parse(source: &str) -> Result<(Node, usize), Vec<ExpressionError>> {
    let length = source.chars().count();
    if length > LENGTH {
        let text = format!("expression code point size exceeds limit: size: {length}, limit {LENGTH}");
        return Err(vec![ExpressionError::of_all(text)]);
    }
    let tokens = lexer::tokens(source)?;
    let mut parser = Parser { tokens, next: 0, ids: 0, depth: 0, brackets: 0 };
    let node = parser.expression().map_err(|error| vec![error])?;
    let rest = parser.peek();
    if rest.kind != TokenKind::End {
        let is_last = parser.following().kind == TokenKind::End;
        return Err(vec![unexpected(rest, is_last, "<EOF>")]);
    }
    Ok((node, parser.ids))
}

/// The error of a token that cannot be here. It is extraneous if the one after it could be here instead.
fn unexpected(token: &Token, is_extraneous: bool, expected: &str) -> ExpressionError {
    let how = if is_extraneous { "extraneous" } else { "mismatched" };
    ExpressionError::new(token.at, format!("Syntax error: {how} input '{}' expecting {expected}", token.text))
}

/// Lists the tokens at the start of an operand, and others that are allowed there.
fn starts(also: &[&str]) -> String {
    let allowed = STARTS.iter().filter(|(token, begins)| *begins || also.contains(token));
    let names: Vec<&str> = allowed.map(|(token, _)| *token).collect();
    format!("{{{}}}", names.join(", "))
}

type Parsed<T> = Result<T, ExpressionError>;

pub(super) struct Parser {
    tokens: Vec<Token>,
    next: usize,
    ids: usize,
    depth: usize,
    /// The number of brackets that are open.
    brackets: usize,
}

impl Parser {
    pub(super) fn node(&mut self, at: usize, kind: Kind) -> Node {
        self.ids += 1;
        Node { id: self.ids - 1, at, kind }
    }

    fn peek(&self) -> &Token {
        // The end token is the last one and is returned repeatedly.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    /// The token after the next one.
    fn following(&self) -> &Token {
        &self.tokens[(self.next + 1).min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn next_is(&self, op: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Op(found) if found == op)
    }

    /// Consumes an operator if it comes next, and returns its position.
    fn eat(&mut self, op: &str) -> Option<usize> {
        self.next_is(op).then(|| self.take().at)
    }

    fn expect(&mut self, op: &str) -> Parsed<usize> {
        match self.eat(op) {
            Some(at) => Ok(at),
            None => Err(unexpected(self.peek(), false, &format!("'{op}'"))),
        }
    }

    /// Consumes an opening bracket. The next token must begin an operand or be one of `also`.
    fn open(&mut self, bracket: &str, also: &[&str]) -> Parsed<usize> {
        let at = self.expect(bracket)?;
        self.brackets += 1;
        let token = self.peek();
        if token.begins_operand() || also.iter().any(|other| other.trim_matches('\'') == token.text) {
            return Ok(at);
        }
        Err(unexpected(token, self.following().begins_operand(), &starts(also)))
    }

    /// Consumes a closing bracket. At the end of the text, the outermost one counts as missing.
    fn close(&mut self, bracket: &str) -> Parsed<()> {
        let token = self.peek();
        if token.kind == TokenKind::End && self.brackets == 1 {
            return Err(ExpressionError::new(
                token.at,
                format!("Syntax error: missing '{bracket}' at '{}'", token.text),
            ));
        }
        self.expect(bracket)?;
        self.brackets -= 1;
        Ok(())
    }

    /// Consumes the bracket after the last element of a list or map, or else the comma between elements. Returns whether it
    /// was the bracket.
    fn close_or_comma(&mut self, bracket: &str) -> Parsed<bool> {
        if self.eat(",").is_some() {
            if !self.next_is(bracket) && !self.peek().begins_operand() && !self.next_is("?") {
                self.close(bracket)?;
            }
            return Ok(false);
        }
        if !self.next_is(bracket) {
            return Err(unexpected(self.peek(), false, &format!("{{'{bracket}', ','}}")));
        }
        Ok(true)
    }

    fn expression(&mut self) -> Parsed<Node> {
        let outer = self.depth;
        self.depth += BRACKETS - 1;
        self.deeper()?;
        let condition = self.or()?;
        let parsed = if let Some(at) = self.eat("?") {
            let yes = self.or()?;
            self.expect(":")?;
            let no = self.expression()?;
            self.node(at, Kind::Conditional(Box::new([condition, yes, no])))
        } else {
            condition
        };
        self.depth = outer;
        Ok(parsed)
    }

    /// Enters one more level of nesting.
    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(ExpressionError::of_all(format!("expression recursion limit exceeded: {DEPTH}")));
        }
        Ok(())
    }

    fn or(&mut self) -> Parsed<Node> {
        let mut terms = vec![self.and()?];
        let mut places = Vec::new();
        while let Some(at) = self.eat("||") {
            places.push(at);
            terms.push(self.and()?);
        }
        Ok(self.balanced(terms, &places, Kind::Or))
    }

    fn and(&mut self) -> Parsed<Node> {
        let mut terms = vec![self.relation()?];
        let mut places = Vec::new();
        while let Some(at) = self.eat("&&") {
            places.push(at);
            terms.push(self.relation()?);
        }
        Ok(self.balanced(terms, &places, Kind::And))
    }

    /// Builds a shallow tree from a chain of one operator.
    fn balanced(
        &mut self,
        mut terms: Vec<Node>,
        places: &[usize],
        kind: fn(Box<Node>, Box<Node>) -> Kind,
    ) -> Node {
        if terms.len() < 2 {
            // There is at least one term.
            return terms.pop().unwrap_or(Node { id: 0, at: 0, kind: Kind::Literal(Literal::Null) });
        }
        let half = terms.len().div_ceil(2);
        let right = terms.split_off(half);
        let (before, after) =
            (places.get(..half - 1).unwrap_or_default(), places.get(half..).unwrap_or_default());
        let at = places.get(half - 1).copied().unwrap_or_default();
        let left = self.balanced(terms, before, kind);
        let right = self.balanced(right, after, kind);
        self.node(at, kind(Box::new(left), Box::new(right)))
    }

    fn relation(&mut self) -> Parsed<Node> {
        let outer = self.depth;
        let parsed = self.comparison();
        self.depth = outer;
        parsed
    }

    fn comparison(&mut self) -> Parsed<Node> {
        let mut left = self.sum()?;
        while let TokenKind::Op(op) = self.peek().kind {
            if !RELATIONS.contains(&op) {
                break;
            }
            let at = self.take().at;
            self.deeper()?;
            let right = self.sum()?;
            let function = if op == "in" { "@in".to_owned() } else { format!("_{op}_") };
            left = self.call(at, &function, vec![left, right]);
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed<Node> {
        let mut left = self.product()?;
        while let TokenKind::Op(op @ ("+" | "-")) = self.peek().kind {
            let at = self.take().at;
            self.deeper()?;
            let right = self.product()?;
            left = self.call(at, &format!("_{op}_"), vec![left, right]);
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed<Node> {
        let mut left = self.unary()?;
        while let TokenKind::Op(op @ ("*" | "/" | "%")) = self.peek().kind {
            let at = self.take().at;
            self.deeper()?;
            let right = self.unary()?;
            left = self.call(at, &format!("_{op}_"), vec![left, right]);
        }
        Ok(left)
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Node>) -> Node {
        self.node(at, Kind::Call { function: function.to_owned(), target: None, args })
    }

    /// Parses the signs before an operand; pairs of them cancel out.
    fn unary(&mut self) -> Parsed<Node> {
        for (sign, function) in [("!", "!_"), ("-", "-_")] {
            let Some(at) = self.eat(sign) else { continue };
            let mut count = 1;
            while self.eat(sign).is_some() {
                count += 1;
            }
            if sign == "-"
                && count == 1
                && let Some(literal) = self.negative_literal(at)
            {
                return self.members(literal);
            }
            let operand = self.member()?;
            return Ok(if count % 2 == 1 { self.call(at, function, vec![operand]) } else { operand });
        }
        self.member()
    }

    fn negative_literal(&mut self, at: usize) -> Option<Node> {
        let literal = match self.peek().kind {
            TokenKind::Literal(Literal::Int(number)) => Literal::Int(number.wrapping_neg()),
            TokenKind::Literal(Literal::Double(number)) => Literal::Double(-number),
            _ => return None,
        };
        self.next += 1;
        Some(self.node(at, Kind::Literal(literal)))
    }

    fn member(&mut self) -> Parsed<Node> {
        let primary = self.primary()?;
        self.members(primary)
    }

    /// Parses the fields, calls and indices that follow an operand.
    fn members(&mut self, mut operand: Node) -> Parsed<Node> {
        loop {
            if self.next_is(".") || self.next_is("[") {
                self.deeper()?;
            }
            if let Some(at) = self.eat(".") {
                let optional = self.eat("?").is_some();
                let name = if optional { self.name(OPTIONAL_NAME)? } else { self.name_after_dot()? };
                operand = if self.next_is("(") && !optional {
                    self.member_call(operand, name)?
                } else {
                    let how = if optional { Access::Optional } else { Access::Value };
                    self.node(at, Kind::Select { operand: Box::new(operand), field: name, how })
                };
            } else if self.next_is("[") {
                let at = self.open("[", &["'?'"])?;
                let optional = self.eat("?").is_some();
                let index = self.expression()?;
                self.close("]")?;
                operand = self.call(at, if optional { "_[?_]" } else { "_[_]" }, vec![operand, index]);
            } else if self.next_is("{")
                && let Some(name) = operand.qualified_name()
            {
                operand = self.message(name)?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn member_call(&mut self, target: Node, function: String) -> Parsed<Node> {
        let at = self.open("(", &["')'"])?;
        let args = self.arguments()?;
        macros::member(self, at, target, function, args)
    }

    /// Parses a name; `expected` lists the tokens that may be here, for errors.
    fn name(&mut self, expected: &str) -> Parsed<String> {
        let token = self.take();
        match token.kind {
            TokenKind::Ident(name) => Ok(name),
            _ => Err(unexpected(&token, false, expected)),
        }
    }

    /// Parses the name after the dot that was just read.
    fn name_after_dot(&mut self) -> Parsed<String> {
        let token = self.peek();
        match token.kind {
            TokenKind::Ident(_) | TokenKind::Literal(Literal::Bool(_) | Literal::Null) => {
                self.name("IDENTIFIER")
            }
            _ => {
                let dot = self.tokens.get(self.next - 1).map_or(token.at, |dot| dot.at + 1);
                let blanks = " ".repeat(token.at.saturating_sub(dot));
                let text = if token.kind == TokenKind::End { "" } else { &token.text };
                let text = format!("Syntax error: no viable alternative at input '.{blanks}{text}'");
                Err(ExpressionError::new(token.at, text))
            }
        }
    }

    /// Parses arguments up to the closing parenthesis.
    fn arguments(&mut self) -> Parsed<Vec<Node>> {
        let mut args = Vec::new();
        if !self.next_is(")") {
            args.push(self.expression()?);
            while self.eat(",").is_some() {
                args.push(self.expression()?);
            }
        }
        self.close(")")?;
        Ok(args)
    }

    fn primary(&mut self) -> Parsed<Node> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Literal(Literal::Int(i64::MIN)) => {
                Err(ExpressionError::new(token.at, "invalid int literal"))
            }
            TokenKind::Literal(literal) => {
                self.next += 1;
                Ok(self.node(token.at, Kind::Literal(literal)))
            }
            TokenKind::Ident(_) => {
                let name = self.name("IDENTIFIER")?;
                self.global(token.at, token.at, name)
            }
            TokenKind::Op(".") => {
                self.next += 1;
                let at = self.peek().at;
                let name = self.name_after_dot()?;
                self.global(token.at, at, name)
            }
            TokenKind::Op("(") => {
                self.open("(", &[])?;
                let inner = self.expression()?;
                self.close(")")?;
                Ok(inner)
            }
            TokenKind::Op("[") => self.list(),
            TokenKind::Op("{") => self.map(),
            _ => Err(unexpected(&token, self.following().begins_operand(), &starts(&[]))),
        }
    }

    /// Parses the call of a global function, or else the name at `name_at` alone.
    fn global(&mut self, at: usize, name_at: usize, name: String) -> Parsed<Node> {
        if RESERVED.contains(&name.as_str()) {
            return Err(ExpressionError::new(name_at, format!("reserved identifier: {name}")));
        }
        if !self.next_is("(") {
            return Ok(self.node(at, Kind::Ident(name)));
        }
        let open = self.open("(", &["')'"])?;
        let args = self.arguments()?;
        macros::global(self, open, name, args)
    }

    fn element(&mut self) -> Parsed<Element> {
        let optional = self.eat("?").is_some();
        Ok(Element { value: self.expression()?, optional })
    }

    fn list(&mut self) -> Parsed<Node> {
        let at = self.open("[", &["']'", "','", "'?'"])?;
        let mut items = Vec::new();
        while !self.next_is("]") {
            items.push(self.element()?);
            if self.close_or_comma("]")? {
                break;
            }
        }
        self.close("]")?;
        Ok(self.node(at, Kind::List(items)))
    }

    fn map(&mut self) -> Parsed<Node> {
        let at = self.open("{", &["'}'", "','", "'?'"])?;
        let mut entries = Vec::new();
        while !self.next_is("}") {
            let optional = self.eat("?").is_some();
            let key = self.expression()?;
            self.expect(":")?;
            let value = Element { value: self.expression()?, optional };
            entries.push(Entry { key, value });
            if self.close_or_comma("}")? {
                break;
            }
        }
        self.close("}")?;
        Ok(self.node(at, Kind::Map(entries)))
    }

    fn message(&mut self, name: String) -> Parsed<Node> {
        let at = self.expect("{")?;
        self.brackets += 1;
        let mut fields = Vec::new();
        while !self.next_is("}") {
            let optional = self.eat("?").is_some();
            let field = self.name(FIELD_NAME)?;
            self.expect(":")?;
            fields.push((field, Element { value: self.expression()?, optional }));
            if self.close_or_comma("}")? {
                break;
            }
        }
        self.close("}")?;
        Ok(self.node(at, Kind::Message(name, fields)))
    }
}
