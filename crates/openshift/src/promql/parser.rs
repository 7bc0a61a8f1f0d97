//! Parses tokens to an expression.

use regex::Regex;

use super::lexer::{Token, tokens};
use super::{Aggregate, Binary, Expr, Matcher, Matching, ParseError, Selector, Test};

/// Maximum nesting depth of expressions.
const DEPTH_MAX: usize = 40;

const AGGREGATIONS: &[&str] = &["group", "max", "min", "sum", "avg", "count", "topk", "bottomk"];

/// Functions with their number of arguments.
const FUNCTIONS: &[(&str, usize)] =
    &[("absent", 1), ("changes", 1), ("label_replace", 5), ("max_over_time", 1), ("time", 0)];

/// Functions that take a range.
const OVER_TIME: &[&str] = &["changes", "max_over_time"];

/// Operators by precedence, the lowest first.
const LEVELS: &[&[&str]] =
    &[&["or"], &["and", "unless"], &["==", "!=", ">", "<", ">=", "<="], &["+", "-"], &["*", "/", "%"]];

/// Parses an expression.
///
/// # Errors
/// It is invalid PromQL, or uses unsupported parts of it.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, end: text.trim_end().len() };
    let expr = parser.level(0)?;
    if parser.at < parser.tokens.len() {
        return Err(parser.unexpected("the end"));
    }
    Ok(expr)
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    /// The end of the text, in bytes.
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// The position of the next token, in bytes.
    fn position(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(_, at)| *at)
    }

    /// The error at the next token.
    fn error(&self, message: String) -> ParseError {
        ParseError::new(message, self.position())
    }

    fn unexpected(&self, wanted: &str) -> ParseError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Name(name)) => format!("{name:?}"),
            Some(Token::Text(text)) => format!("the string {text:?}"),
            Some(Token::Number(number)) => format!("{number}"),
            Some(Token::Span(_)) => "a duration".to_owned(),
            Some(Token::Sign(sign)) => format!("{sign:?}"),
        };
        self.error(format!("expected {wanted}, found {found}"))
    }

    /// Consumes the next token if it is this one.
    fn take(&mut self, wanted: &str) -> bool {
        let matches = match self.peek() {
            Some(Token::Sign(sign)) => *sign == wanted,
            Some(Token::Name(name)) => name == wanted,
            _ => false,
        };
        self.at += usize::from(matches);
        matches
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ParseError> {
        if self.take(wanted) { Ok(()) } else { Err(self.unexpected(&format!("{wanted:?}"))) }
    }

    fn name(&mut self) -> Result<String, ParseError> {
        let Some(Token::Name(name)) = self.peek() else { return Err(self.unexpected("a name")) };
        let name = name.clone();
        self.at += 1;
        Ok(name)
    }

    fn level(&mut self, level: usize) -> Result<Expr, ParseError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        // Each operator nests the tree by one level, and trees are walked recursively.
        for _ in 0..DEPTH_MAX {
            let Some(operator) = operators.iter().find(|operator| self.take(operator)) else {
                return Ok(left);
            };
            let returns_bool = self.take("bool");
            let matching = self.matching()?;
            let right = self.level(level + 1)?;
            let operator = (*operator).to_owned();
            left = Expr::Binary(Box::new(Binary { operator, left, right, returns_bool, matching }));
        }
        Err(self.error(format!("more than {DEPTH_MAX} operators in a row")))
    }

    fn matching(&mut self) -> Result<Matching, ParseError> {
        let mut matching = Matching { on: self.take("on"), ..Matching::default() };
        if !matching.on && !self.take("ignoring") {
            return Ok(matching);
        }
        matching.labels = self.labels()?;
        for (word, group) in
            [("group_left", &mut matching.group_left), ("group_right", &mut matching.group_right)]
        {
            if self.take(word) {
                let has_labels = self.peek() == Some(&Token::Sign("("));
                *group = Some(if has_labels { self.labels()? } else { Vec::new() });
            }
        }
        Ok(matching)
    }

    fn labels(&mut self) -> Result<Vec<String>, ParseError> {
        self.expect("(")?;
        let mut labels = Vec::new();
        while !self.take(")") {
            labels.push(self.name()?);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(labels)
    }

    fn unary(&mut self) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let expr = if self.take("-") { Expr::Negative(Box::new(self.unary()?)) } else { self.primary()? };
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, ParseError> {
        let (token, at) = (self.peek().cloned(), self.position());
        self.at += 1;
        match token {
            Some(Token::Number(number)) => Ok(Expr::Number(number)),
            Some(Token::Text(text)) => Ok(Expr::Text(text)),
            Some(Token::Sign("(")) => {
                let inner = self.level(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Name(name)) if AGGREGATIONS.contains(&name.as_str()) => self.aggregate(name, at),
            Some(Token::Name(name)) if self.peek() == Some(&Token::Sign("(")) => self.call(name, at),
            Some(Token::Name(name)) => self.selector(name),
            _ => {
                self.at -= 1;
                Err(self.unexpected("an expression"))
            }
        }
    }

    fn aggregate(&mut self, operator: String, at: usize) -> Result<Expr, ParseError> {
        let before = self.grouping()?;
        let mut arguments = self.arguments()?;
        let (without, labels) = match before {
            Some(found) => found,
            None => self.grouping()?.unwrap_or_default(),
        };
        let wanted = if operator.ends_with('k') { 2 } else { 1 };
        if arguments.len() != wanted {
            let message = format!("{operator} takes {wanted} arguments, found {}", arguments.len());
            return Err(ParseError::new(message, at));
        }
        let operand = arguments.pop().ok_or_else(|| self.unexpected("an argument"))?;
        let parameter = arguments.pop();
        Ok(Expr::Aggregate(Box::new(Aggregate { operator, parameter, operand, without, labels })))
    }

    /// Parses `by (...)` or `without (...)`.
    fn grouping(&mut self) -> Result<Option<(bool, Vec<String>)>, ParseError> {
        if self.take("by") {
            return Ok(Some((false, self.labels()?)));
        }
        if self.take("without") {
            return Ok(Some((true, self.labels()?)));
        }
        Ok(None)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, ParseError> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.level(0)?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    fn call(&mut self, name: String, at: usize) -> Result<Expr, ParseError> {
        let failed = |message: String| ParseError::new(message, at);
        let Some((_, wanted)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(failed(format!("unknown function with name {name:?}")));
        };
        let arguments = self.arguments()?;
        if arguments.len() != *wanted {
            return Err(failed(format!("{name} takes {wanted} arguments, found {}", arguments.len())));
        }
        let ranged = |expr: &Expr| matches!(expr, Expr::Select(selector) if selector.range.is_some());
        if arguments.iter().any(|argument| ranged(argument) != OVER_TIME.contains(&name.as_str())) {
            return Err(failed(format!("{name} does not take this kind of vector")));
        }
        Ok(Expr::Call(name, arguments))
    }

    fn selector(&mut self, metric: String) -> Result<Expr, ParseError> {
        let mut matchers = Vec::new();
        if self.take("{") {
            while !self.take("}") {
                matchers.push(self.matcher()?);
                if !self.take(",") {
                    self.expect("}")?;
                    break;
                }
            }
        }
        let mut range = None;
        if self.take("[") {
            let Some(Token::Span(span)) = self.peek() else { return Err(self.unexpected("a duration")) };
            range = Some(*span);
            self.at += 1;
            self.expect("]")?;
        }
        Ok(Expr::Select(Selector { metric, matchers, range }))
    }

    fn matcher(&mut self) -> Result<Matcher, ParseError> {
        let label = self.name()?;
        let operator = ["=~", "!~", "!=", "="].into_iter().find(|operator| self.take(operator));
        let operator = operator.ok_or_else(|| self.unexpected("`=`, `!=`, `=~` or `!~`"))?;
        let Some(Token::Text(text)) = self.peek().cloned() else { return Err(self.unexpected("a string")) };
        let pattern = |text: &str| anchored(text).map_err(|message| self.error(message));
        let test = match operator {
            "=" => Test::Equal(text),
            "!=" => Test::Differs(text),
            "=~" => Test::Fits(pattern(&text)?),
            _ => Test::FitsNot(pattern(&text)?),
        };
        self.at += 1;
        Ok(Matcher { label, test })
    }
}

/// Compiles a regular expression that must match the whole text.
pub(super) fn anchored(pattern: &str) -> Result<Regex, String> {
    Regex::new(&format!("^(?s:{pattern})$"))
        .map_err(|_| format!("invalid or unsupported regular expression {pattern:?}"))
}
