//! Patterns, in the syntax of Go.

use regex::{Regex, RegexBuilder};

use super::{Row, int, text};
use crate::apiserver::cel::value::{Fault, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (0, "matches(string, string) -> bool", matches),
    (0, "string: matches(string) -> bool", matches),
    (0, "string: find(string) -> string", find),
    (0, "string: findAll(string) -> list(string)", find_all),
    (0, "string: findAll(string, int) -> list(string)", find_all),
];

/// The most memory that a compiled pattern may take, in bytes.
const SIZE_LIMIT: usize = 4 << 20;

/// Compiles a pattern of Go's syntax, where classes know ASCII alone.
///
/// # Errors
/// What is wrong with the pattern, roughly in Go's words.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern);
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| {
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("error parsing regexp: {why}: `{pattern}`")
    })
}

/// A Go pattern in the words of the library in use.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut class = false;
    let mut class_start = false;
    while let Some(c) = rest.next() {
        let at_start = std::mem::take(&mut class_start);
        match c {
            '\\' => escape(&mut out, rest.next(), class),
            '[' if !class => {
                class = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                class_start = true;
            }
            '[' if rest.peek() == Some(&':') => out.push('['),
            ']' if class && at_start => out.push_str("\\]"),
            ']' if class => {
                class =
                    out.ends_with(':') && out.rfind("[:").is_some_and(|at| at > out.rfind(']').unwrap_or(0));
                out.push(']');
            }
            '[' | '&' | '~' if class => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out
}

fn escape(out: &mut String, escaped: Option<char>, class: bool) {
    let Some(escaped) = escaped else {
        out.push('\\');
        return;
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
        _ => {
            out.push('\\');
            out.push(escaped);
            return;
        }
    };
    out.push_str(if class { inside } else { outside });
}

fn pattern(args: &[Value<'_>]) -> Result<Regex, Fault> {
    compile(text(args, 1)).map_err(Fault::new)
}

fn matches<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(pattern(args)?.is_match(text(args, 0))))
}

fn find<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let found = pattern(args)?.find(text(args, 0)).map_or("", |found| found.as_str()).to_owned();
    Ok(Value::text(found))
}

fn find_all<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let limit = if args.len() > 2 { usize::try_from(int(args, 2)).unwrap_or(usize::MAX) } else { usize::MAX };
    let pattern = pattern(args)?;
    let found = pattern.find_iter(text(args, 0)).take(limit).map(|found| Value::text(found.as_str()));
    Ok(Value::list(found.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_go_mean_the_same_here() {
        for (pattern, text, found) in [
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\d+$", "٣", false),
            (r"^[[:alpha:]\d]+$", "ab1", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]$", "]", false),
            (r"^[[&]+$", "[&", true),
            (r"^\/\-\_$", "/-_", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-1", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), found, "{pattern}");
        }
        assert!(compile("a(").is_err());
    }
}
