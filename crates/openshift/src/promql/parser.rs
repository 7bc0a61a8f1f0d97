//! Parses tokens to an expression.

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::text::short_duration;

use super::functions::{self, Kind};
use super::lexer::{Token, tokens};
use super::{
    Aggregate, Binary, Expr, Matcher, Matching, Moment, NAME, ParseError, Selector, Shift, Subquery, Test,
    types,
};

/// Maximum nesting depth of expressions.
const DEPTH_MAX: usize = 40;
/// The limit of durations. Longer ones do not fit into the arithmetic with times.
const YEARS_MAX: i64 = 300;

const AGGREGATIONS: &[&str] = &[
    "group",
    "max",
    "min",
    "sum",
    "avg",
    "count",
    "stddev",
    "stdvar",
    "topk",
    "bottomk",
    "quantile",
    "count_values",
];

/// Binary operators by precedence, the lowest first. `^` has a higher one and is right-associative.
const LEVELS: &[&[&str]] = &[
    &["or"],
    &["and", "unless"],
    &["==", "!=", ">", "<", ">=", "<="],
    &["+", "-"],
    &["*", "/", "%", "atan2"],
];

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
            Some(Token::Span(span)) => format!("the duration {}", short_duration(*span)),
            Some(Token::Sign(sign)) => format!("{sign:?}"),
        };
        self.error(format!("expected {wanted}, found {found}"))
    }

    /// Consumes the next token if it is this one. Keywords may have any case.
    fn take(&mut self, wanted: &str) -> bool {
        let matches = match self.peek() {
            Some(Token::Sign(sign)) => *sign == wanted,
            Some(Token::Name(name)) => name.eq_ignore_ascii_case(wanted),
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
        let start = self.position();
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
            let binary = Binary { operator, left, right, returns_bool, matching };
            left = types::binary(binary).map_err(|message| ParseError::new(message, start))?;
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

    /// Parses signs and powers. A power binds stronger than a sign before it: `-2 ^ 2` is -4.
    fn unary(&mut self) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let start = self.position();
        let failed = |message: String| ParseError::new(message, start);
        let expr = if self.take("-") {
            types::signed(self.unary()?).map(|operand| Expr::Negative(Box::new(operand))).map_err(failed)?
        } else if self.take("+") {
            types::signed(self.unary()?).map_err(failed)?
        } else {
            let base = self.shifted()?;
            if self.take("^") {
                let (returns_bool, matching) = (self.take("bool"), self.matching()?);
                let (operator, right) = ("^".to_owned(), self.unary()?);
                types::binary(Binary { operator, left: base, right, returns_bool, matching })
                    .map_err(failed)?
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, ParseError> {
        let (token, at) = (self.peek().cloned(), self.position());
        self.at += 1;
        let is_next = |sign| matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        match token {
            Some(Token::Number(number)) => Ok(Expr::Number(number)),
            Some(Token::Span(span)) => Ok(Expr::Number(span.as_secs_f64())),
            Some(Token::Text(text)) => Ok(Expr::Text(text)),
            Some(Token::Sign("(")) => {
                let inner = self.level(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Sign("{")) => {
                self.at -= 1;
                self.selector(None)
            }
            Some(Token::Name(name)) => {
                let small = name.to_lowercase();
                let groups = matches!(self.peek(), Some(Token::Name(next)) if ["by", "without"].contains(&&*next.to_lowercase()));
                match small.as_str() {
                    "inf" => Ok(Expr::Number(f64::INFINITY)),
                    "nan" => Ok(Expr::Number(f64::NAN)),
                    known if AGGREGATIONS.contains(&known) && (groups || is_next("(")) => {
                        self.aggregate(small, at)
                    }
                    _ if is_next("(") => self.call(name, at),
                    _ => self.selector(Some(name)),
                }
            }
            _ => {
                self.at -= 1;
                Err(self.unexpected("an expression"))
            }
        }
    }

    fn aggregate(&mut self, operator: String, at: usize) -> Result<Expr, ParseError> {
        let failed = |message: String| ParseError::new(message, at);
        let before = self.grouping()?;
        let mut arguments = self.arguments()?;
        let (without, labels) = match before {
            Some(found) => found,
            None => self.grouping()?.unwrap_or_default(),
        };
        let parameter = match operator.as_str() {
            "topk" | "bottomk" | "quantile" => Some(Kind::Scalar),
            "count_values" => Some(Kind::Text),
            _ => None,
        };
        let wanted = 1 + usize::from(parameter.is_some());
        if arguments.len() != wanted {
            return Err(failed(format!("{operator} takes {wanted} arguments, found {}", arguments.len())));
        }
        for (kind, argument) in parameter.into_iter().chain([Kind::Vector]).zip(&arguments) {
            types::expect(kind, argument, &operator).map_err(failed)?;
        }
        let operand = arguments.pop().ok_or_else(|| self.unexpected("an argument"))?;
        let parameter = arguments.pop();
        if let (Some(Expr::Text(label)), "count_values") = (&parameter, operator.as_str())
            && !functions::is_label_name(label)
        {
            return Err(failed(format!("invalid label name {label:?}")));
        }
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
        let Some(signature) = functions::signature(&name) else {
            return Err(failed(format!("unknown function with name {name:?}")));
        };
        let arguments = self.arguments()?;
        types::arguments(&name, &signature, &arguments).map_err(failed)?;
        Ok(Expr::Call(name, arguments))
    }

    /// Parses the labels of a selector, after the metric's name if there is one.
    fn selector(&mut self, metric: Option<String>) -> Result<Expr, ParseError> {
        let start = self.position();
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
        let is_name = |matcher: &Matcher| matcher.label == NAME;
        let named = matchers.iter().position(is_name).map(|place| matchers.remove(place));
        let metric = match (metric, named) {
            (Some(metric), None) => metric,
            (None, Some(Matcher { test: Test::Equal(metric), .. })) if !metric.is_empty() => metric,
            (Some(_), Some(_)) => {
                return Err(ParseError::new(
                    "the name of the metric must not be set twice".to_owned(),
                    start,
                ));
            }
            (None, _) => {
                let message =
                    "a selector without the name of one metric is not supported: write it before \"{\"";
                return Err(ParseError::new(message.to_owned(), start));
            }
        };
        Ok(Expr::Select(Selector { metric, matchers, range: None, shift: Shift::default() }))
    }

    /// Parses an expression with ranges, steps, `offset` and `@` behind it.
    fn shifted(&mut self) -> Result<Expr, ParseError> {
        let mut expr = self.primary()?;
        loop {
            let at = self.position();
            let failed = |message: &str| ParseError::new(message.to_owned(), at);
            if self.take("[") {
                expr = self.range(expr, at)?;
            } else if self.take("offset") {
                let back = self.take("+") || !self.take("-");
                let span = self.span()?;
                let shift = shift(&mut expr).ok_or_else(|| failed(NOT_SHIFTED))?;
                if shift.offset.replace(if back { span } else { -span }).is_some() {
                    return Err(failed("offset may not be set multiple times"));
                }
            } else if self.take("@") {
                let moment = self.moment()?;
                let shift = shift(&mut expr).ok_or_else(|| failed(NOT_SHIFTED))?;
                if shift.at.replace(moment).is_some() {
                    return Err(failed("@ <timestamp> may not be set multiple times"));
                }
            } else {
                return Ok(expr);
            }
        }
    }

    /// Parses the part of a range selector or a subquery behind `[`.
    fn range(&mut self, expr: Expr, at: usize) -> Result<Expr, ParseError> {
        let failed = |message: &str| ParseError::new(message.to_owned(), at);
        let range = self.positive_span()?;
        if self.take(":") {
            let step = if self.take("]") {
                None
            } else {
                let step = self.positive_span()?;
                self.expect("]")?;
                Some(step)
            };
            if types::kind(&expr) != Kind::Vector && types::kind(&expr) != Kind::Scalar {
                return Err(failed("subquery is only allowed on instant vector"));
            }
            return Ok(Expr::Subquery(Box::new(Subquery {
                operand: expr,
                range,
                step,
                shift: Shift::default(),
            })));
        }
        self.expect("]")?;
        match expr {
            Expr::Select(Selector { range: Some(_), .. }) => Err(failed("a range may not be set twice")),
            Expr::Select(selector) if !selector.shift.is_none() => {
                Err(failed("no offset or @ modifiers allowed before range"))
            }
            Expr::Select(selector) => Ok(Expr::Select(Selector { range: Some(range), ..selector })),
            _ => Err(failed("ranges only allowed for vector selectors: use a subquery such as [5m:1m]")),
        }
    }

    /// Parses a duration, or a number of seconds.
    fn span(&mut self) -> Result<SignedDuration, ParseError> {
        let span = match self.peek() {
            Some(Token::Span(span)) => Some(*span),
            Some(Token::Number(number)) => SignedDuration::try_from_secs_f64(*number).ok(),
            _ => None,
        };
        let is_number = matches!(self.peek(), Some(Token::Number(_)));
        let Some(span) = span.filter(|span| span.as_hours() < 24 * 365 * YEARS_MAX) else {
            let is_too_long = span.is_some() || is_number;
            let limit = if is_too_long { format!(" of less than {YEARS_MAX} years") } else { String::new() };
            return Err(self.unexpected(&format!("a duration{limit}")));
        };
        self.at += 1;
        Ok(span)
    }

    fn positive_span(&mut self) -> Result<SignedDuration, ParseError> {
        let at = self.position();
        let span = self.span()?;
        if span.as_millis() > 0 {
            return Ok(span);
        }
        Err(ParseError::new("duration must be greater than 0".to_owned(), at))
    }

    /// Parses the moment behind `@`.
    fn moment(&mut self) -> Result<Moment, ParseError> {
        for (word, moment) in [("start", Moment::Start), ("end", Moment::End)] {
            if self.take(word) {
                self.expect("(")?;
                self.expect(")")?;
                return Ok(moment);
            }
        }
        let is_negative = self.take("-");
        let seconds = match self.peek() {
            Some(Token::Number(seconds)) => *seconds,
            _ => return Err(self.unexpected("a time in seconds, `start()` or `end()`")),
        };
        let milliseconds = (if is_negative { -seconds } else { seconds }) * 1000.0;
        // Ten thousand years; times beyond it do not exist.
        if milliseconds.abs() > 3e14 {
            return Err(self.error(format!("timestamp out of bounds for @ modifier: {seconds}")));
        }
        self.at += 1;
        #[expect(clippy::cast_possible_truncation, reason = "in range")]
        Ok(Moment::Fixed(milliseconds.round() as i64))
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

const NOT_SHIFTED: &str = "only selectors and subqueries can have `offset` and `@`";

/// Returns the modifiers of a selector or a subquery.
fn shift(expr: &mut Expr) -> Option<&mut Shift> {
    match expr {
        Expr::Select(selector) => Some(&mut selector.shift),
        Expr::Subquery(subquery) => Some(&mut subquery.shift),
        _ => None,
    }
}

/// Compiles a regular expression that must match the whole text.
fn anchored(pattern: &str) -> Result<Regex, String> {
    Regex::new(&format!("^(?s:{pattern})$"))
        .map_err(|_| format!("invalid or unsupported regular expression {pattern:?}"))
}
