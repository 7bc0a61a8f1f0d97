//! JSONPath in Kubernetes' dialect, for printer columns and `oc get -o jsonpath=...`.

use std::cmp::Ordering;

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// `*`.
    All,
    /// `..`: the node itself and all its descendants.
    Below,
    /// Elements `from:to:step` of a list.
    Slice(Option<i64>, Option<i64>, i64),
    /// One element; negative indexes count from the end.
    Index(i64),
    /// Several elements, slices or fields in one pair of brackets.
    Union(Vec<Step>),
    Filter(Box<Filter>),
}

/// `left operator right`. A single operand tests whether the value exists.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    test: Option<(Operator, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    /// A path that starts at the element (`@`) or at the root (`$`).
    Path {
        from_root: bool,
        path: JsonPath,
    },
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longest symbols first, so that `<=` is not parsed as `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// The error for a text that is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The maximum nesting depth of filters.
const DEPTH_MAX: usize = 8;

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`.
    ///
    /// # Errors
    /// The text is not a path.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        parse(text.trim(), 0)
    }

    /// Returns all values that the path selects, in order. Missing fields select nothing.
    pub fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        self.find_from(root, root)
    }

    fn find_from<'a>(&self, root: &'a Value, start: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![start];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.take(root, value)).collect();
        }
        found
    }
}

impl Step {
    fn take<'a>(&self, root: &'a Value, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::Below, _) => descendants(value),
            (Self::Index(index), Value::Array(items)) => {
                let at = from_end(*index, items.len());
                usize::try_from(at).ok().and_then(|at| items.get(at)).into_iter().collect()
            }
            (Self::Slice(from, to, step), Value::Array(items)) => {
                let place = |given: Option<i64>, default: usize| {
                    let at = given.map_or(0, |at| from_end(at, items.len()));
                    if given.is_none() { default } else { usize::try_from(at).unwrap_or(0).min(items.len()) }
                };
                let (from, to) = (place(*from, 0), place(*to, items.len()));
                let step = usize::try_from(*step).unwrap_or(1).max(1);
                items.get(from..to).unwrap_or_default().iter().step_by(step).collect()
            }
            (Self::Union(steps), _) => steps.iter().flat_map(|step| step.take(root, value)).collect(),
            (Self::Filter(filter), Value::Array(items)) => {
                items.iter().filter(|item| filter.holds(root, item)).collect()
            }
            (Self::Filter(filter), Value::Object(map)) => {
                map.values().filter(|item| filter.holds(root, item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn from_end(index: i64, length: usize) -> i64 {
    if index < 0 { index.saturating_add(i64::try_from(length).unwrap_or(i64::MAX)) } else { index }
}

fn descendants(value: &Value) -> Vec<&Value> {
    let mut found = vec![value];
    let mut at = 0;
    while let Some(value) = found.get(at).copied() {
        match value {
            Value::Object(map) => found.extend(map.values()),
            Value::Array(items) => found.extend(items),
            _ => {}
        }
        at += 1;
    }
    found
}

impl Filter {
    fn holds(&self, root: &Value, item: &Value) -> bool {
        let left = self.left.first(root, item);
        let Some((operator, right)) = &self.test else { return left.is_some() };
        let (Some(left), Some(right)) = (left, right.first(root, item)) else { return false };
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (left, right) if left == right => Some(Ordering::Equal),
            _ => None,
        };
        match operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order.is_some_and(Ordering::is_lt),
            Operator::LessOrEqual => order.is_some_and(Ordering::is_le),
            Operator::Greater => order.is_some_and(Ordering::is_gt),
            Operator::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

impl Operand {
    fn first<'a>(&'a self, root: &'a Value, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Path { from_root: true, path } => path.find_from(root, root).first().copied(),
            Self::Path { from_root: false, path } => path.find_from(root, item).first().copied(),
        }
    }

    fn parse(text: &str, depth: usize) -> Result<Self, Malformed> {
        let text = text.trim();
        // As in Kubernetes, a path without `@` starts at the element as well.
        if let Some(path) = text.strip_prefix('@').or_else(|| text.starts_with('.').then_some(text)) {
            return Ok(Self::Path { from_root: false, path: parse(path, depth + 1)? });
        }
        if let Some(path) = text.strip_prefix('$') {
            return Ok(Self::Path { from_root: true, path: parse(path, depth + 1)? });
        }
        if let Some(text) = quoted(text) {
            return Ok(Self::Literal(Value::String(text)));
        }
        serde_json::from_str(text).map(Self::Literal).map_err(|_| Malformed)
    }
}

fn parse(text: &str, depth: usize) -> Result<JsonPath, Malformed> {
    if depth > DEPTH_MAX {
        return Err(Malformed);
    }
    let mut rest = text.strip_prefix('$').or_else(|| text.strip_prefix('@')).unwrap_or(text);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            steps.push(Step::Below);
            rest = after;
            if !rest.starts_with('[') {
                rest = field(rest, &mut steps)?;
            }
        } else if let Some(after) = rest.strip_prefix('.') {
            // `.[0]` and a trailing dot are accepted.
            rest = if after.is_empty() || after.starts_with('[') { after } else { field(after, &mut steps)? };
        } else if rest.starts_with('[') {
            let end = closing(rest).ok_or(Malformed)?;
            steps.push(parse_brackets(&rest[1..end], depth)?);
            rest = &rest[end + 1..];
        } else {
            rest = field(rest, &mut steps)?;
        }
    }
    Ok(JsonPath(steps))
}

/// Parses a name up to the next dot or bracket and returns the rest. A backslash escapes the next character.
fn field<'a>(text: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, Malformed> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '.' | '[' => {
                end = at;
                break;
            }
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            ' ' | '"' | '\'' | '(' | ')' | ']' | '{' | '}' => return Err(Malformed),
            c => name.push(c),
        }
    }
    match name.as_str() {
        "" => return Err(Malformed),
        "*" => steps.push(Step::All),
        _ => steps.push(Step::Field(name)),
    }
    Ok(&text[end..])
}

/// The position of the bracket that closes the one at the start of the text. Skips quotes and inner brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return (c == ']').then_some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn parse_brackets(inside: &str, depth: usize) -> Result<Step, Malformed> {
    let inside = inside.trim();
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return read_filter(filter, depth).map(|filter| Step::Filter(Box::new(filter)));
    }
    let parts = outside_quotes(inside, ',');
    let mut steps = parts.into_iter().map(read_element).collect::<Result<Vec<_>, _>>()?;
    if steps.len() == 1 { steps.pop().ok_or(Malformed) } else { Ok(Step::Union(steps)) }
}

fn read_element(text: &str) -> Result<Step, Malformed> {
    let text = text.trim();
    if text == "*" {
        return Ok(Step::All);
    }
    if let Some(name) = quoted(text) {
        return Ok(Step::Field(name));
    }
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        digits => digits.parse::<i64>().map(Some).map_err(|_| Malformed),
    };
    match text.split(':').collect::<Vec<_>>()[..] {
        [one] => number(one)?.map(Step::Index).ok_or(Malformed),
        [from, to] => Ok(Step::Slice(number(from)?, number(to)?, 1)),
        [from, to, step] => Ok(Step::Slice(number(from)?, number(to)?, number(step)?.unwrap_or(1))),
        _ => Err(Malformed),
    }
}

fn read_filter(text: &str, depth: usize) -> Result<Filter, Malformed> {
    for (symbol, operator) in OPERATORS {
        if let Some((left, right)) = split_outside_quotes(text, symbol) {
            let test = Some((operator, Operand::parse(right, depth)?));
            return Ok(Filter { left: Operand::parse(left, depth)?, test });
        }
    }
    Ok(Filter { left: Operand::parse(text, depth)?, test: None })
}

/// Unquotes a text in single or double quotes; `None` if it is not quoted.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    Some(out)
}

fn split_outside_quotes<'a>(text: &'a str, symbol: &str) -> Option<(&'a str, &'a str)> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, _) if text[at..].starts_with(symbol) => {
                return Some((&text[..at], &text[at + symbol.len()..]));
            }
            _ => {}
        }
    }
    None
}

fn outside_quotes(mut text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    while let Some((part, rest)) = split_outside_quotes(text, separator.encode_utf8(&mut [0; 4])) {
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_select_values() {
        let object = json!({
            "a": { "b": 1, "c.d/e": 2 },
            "l": [{ "t": "A", "v": 1 }, { "t": "B,]", "v": 2 }, { "t": "C", "v": 3 }],
        });
        for (path, found) in [
            (".a.b", json!([1])),
            ("a.b", json!([1])),
            (".a['c.d/e']", json!([2])),
            (".a.c\\.d/e", json!([2])),
            (".none.b", json!([])),
            (".l[0].v", json!([1])),
            (".l[-1:].v", json!([3])),
            (".l[-1].v", json!([3])),
            (".l[*].v", json!([1, 2, 3])),
            (".l[0:2].v", json!([1, 2])),
            (".l[0,2].v", json!([1, 3])),
            (".l[?(@.t==\"B,]\")].v", json!([2])),
            (".l[?(@.t!='A')].v", json!([2, 3])),
            (".l[?(@.v>=2)].t", json!(["B,]", "C"])),
            (".l[?(@.none)].t", json!([])),
            (".l[?(.t=='A')].v", json!([1])),
            ("..b", json!([1])),
            (".a.*", json!([1, 2])),
        ] {
            let values: Vec<&Value> = JsonPath::parse(path).unwrap().find(&object);
            assert_eq!(json!(values), found, "{path}");
        }
    }

    #[test]
    fn rejects_malformed_paths() {
        for text in [".a[", ".a[?(@.b==)]", ".a b", ".a[x]", "{.a}", ".a[)]"] {
            assert_eq!(JsonPath::parse(text), Err(Malformed), "{text}");
        }
    }
}
