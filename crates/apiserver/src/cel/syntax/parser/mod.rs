//! The parser: builds a tree from tokens.

pub(super) mod macros;

use super::lexer::{self, Token, TokenKind};
use crate::cel::escape::RESERVED;
use crate::cel::issue::Issue;
use crate::cel::syntax::{Access, Element, Entry, Kind, Literal, Node};

/// Maximum nesting depth of operators.
const DEPTH: usize = 250;
/// Number of operators that a pair of brackets counts as, because parsing it takes as much stack.
const BRACKETS: usize = 3;
/// The tokens that may begin an operand, as cel-go lists them.
const OPERAND: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                       BYTES, IDENTIFIER}";
/// Comparison operators, which have one precedence.
const RELATIONS: [&str; 7] = ["<", "<=", ">=", ">", "==", "!=", "in"];

/// Parses an expression. Returns it with its number of nodes.
pub(crate) fn parse(source: &str) -> Result<(Node, usize), Vec<Issue>> {
    let tokens = lexer::tokens(source)?;
    let mut parser = Parser { tokens, next: 0, ids: 0, depth: 0 };
    let node = parser.expression().map_err(|issue| vec![issue])?;
    if parser.peek().kind != TokenKind::End {
        return Err(vec![parser.unexpected("<EOF>", &TokenKind::End)]);
    }
    Ok((node, parser.ids))
}

type Parsed<T> = Result<T, Issue>;

pub(super) struct Parser {
    tokens: Vec<Token>,
    next: usize,
    ids: usize,
    depth: usize,
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

    fn expect(&mut self, op: &'static str) -> Parsed<usize> {
        self.eat(op).ok_or_else(|| self.unexpected(&format!("'{op}'"), &TokenKind::Op(op)))
    }

    /// The mistake that the next token is not the wanted one, which may come right after it.
    fn unexpected(&self, shown: &str, wanted: &TokenKind) -> Issue {
        let is_extra = self.tokens.get(self.next + 1).is_some_and(|token| token.kind == *wanted);
        let what = if is_extra { "extraneous" } else { "mismatched" };
        let next = self.peek();
        Issue::new(next.at, format!("Syntax error: {what} input '{}' expecting {shown}", next.text))
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
            return Err(Issue::new(0, format!("expression recursion limit exceeded: {DEPTH}")));
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
                if !optional {
                    self.require_field()?;
                }
                let name = self.name(true)?;
                operand = if self.next_is("(") && !optional {
                    self.member_call(operand, name)?
                } else {
                    let how = if optional { Access::Optional } else { Access::Value };
                    self.node(at, Kind::Select { operand: Box::new(operand), field: name, how })
                };
            } else if let Some(at) = self.eat("[") {
                let optional = self.eat("?").is_some();
                let index = self.expression()?;
                self.expect("]")?;
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
        let at = self.expect("(")?;
        let args = self.arguments()?;
        macros::member(self, at, target, function, args)
    }

    /// Rejects an operator or the end after a dot.
    fn require_field(&self) -> Parsed<()> {
        let next = self.peek();
        let text = match next.kind {
            TokenKind::End => "",
            TokenKind::Op(op) => op,
            _ => return Ok(()),
        };
        Err(Issue::new(next.at, format!("Syntax error: no viable alternative at input '.{text}'")))
    }

    /// Parses a name. After a dot, reserved words are valid names.
    fn name(&mut self, after_dot: bool) -> Parsed<String> {
        let token = self.take();
        match token.kind {
            TokenKind::Ident(name) if after_dot || !RESERVED.contains(&name.as_str()) => Ok(name),
            TokenKind::Ident(name) => Err(Issue::new(token.at, format!("reserved identifier: {name}"))),
            _ => {
                let text = format!("Syntax error: mismatched input '{}' expecting IDENTIFIER", token.text);
                Err(Issue::new(token.at, text))
            }
        }
    }

    /// Parses arguments up to the closing parenthesis.
    fn arguments(&mut self) -> Parsed<Vec<Node>> {
        let mut args = Vec::new();
        if self.eat(")").is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if self.eat(",").is_none() {
                self.expect(")")?;
                return Ok(args);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Node> {
        let token = self.peek().clone();
        match token.kind {
            TokenKind::Literal(Literal::Int(i64::MIN)) => Err(Issue::new(token.at, "invalid int literal")),
            TokenKind::Literal(literal) => {
                self.next += 1;
                Ok(self.node(token.at, Kind::Literal(literal)))
            }
            TokenKind::Ident(_) => {
                let name = self.name(false)?;
                self.global(token.at, name)
            }
            TokenKind::Op(".") => {
                self.next += 1;
                let name = self.name(false)?;
                self.global(token.at, name)
            }
            TokenKind::Op("(") => {
                self.next += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Op("[") => self.list(),
            TokenKind::Op("{") => self.map(),
            _ => {
                let text = format!("Syntax error: mismatched input '{}' expecting {OPERAND}", token.text);
                Err(Issue::new(token.at, text))
            }
        }
    }

    fn global(&mut self, at: usize, name: String) -> Parsed<Node> {
        let Some(open) = self.eat("(") else { return Ok(self.node(at, Kind::Ident(name))) };
        let args = self.arguments()?;
        macros::global(self, open, name, args)
    }

    fn element(&mut self) -> Parsed<Element> {
        let optional = self.eat("?").is_some();
        Ok(Element { value: self.expression()?, optional })
    }

    fn list(&mut self) -> Parsed<Node> {
        let at = self.expect("[")?;
        let mut items = Vec::new();
        while self.eat("]").is_none() {
            items.push(self.element()?);
            if self.eat(",").is_none() {
                self.expect("]")?;
                break;
            }
        }
        Ok(self.node(at, Kind::List(items)))
    }

    fn map(&mut self) -> Parsed<Node> {
        let at = self.expect("{")?;
        let mut entries = Vec::new();
        while self.eat("}").is_none() {
            let optional = self.eat("?").is_some();
            let key = self.expression()?;
            self.expect(":")?;
            let value = Element { value: self.expression()?, optional };
            entries.push(Entry { key, value });
            if self.eat(",").is_none() {
                self.expect("}")?;
                break;
            }
        }
        Ok(self.node(at, Kind::Map(entries)))
    }

    fn message(&mut self, name: String) -> Parsed<Node> {
        let at = self.expect("{")?;
        let mut fields = Vec::new();
        while self.eat("}").is_none() {
            let optional = self.eat("?").is_some();
            let field = self.name(true)?;
            self.expect(":")?;
            fields.push((field, Element { value: self.expression()?, optional }));
            if self.eat(",").is_none() {
                self.expect("}")?;
                break;
            }
        }
        Ok(self.node(at, Kind::Message(name, fields)))
    }
}
