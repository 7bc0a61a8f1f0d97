//! Checks literal format strings against the types of their arguments (cel-go's `ext/formatting.go`).

use crate::cel::expression_error::ExpressionError;
use crate::cel::syntax::{Element, Kind, Node};
use crate::cel::types::Type;

/// Returns the first mistake in a call of `format` with a list literal. `at` is the position of the call.
pub(super) fn check(at: usize, text: &str, args: &[Element], types: &[Type]) -> Option<ExpressionError> {
    let mut wanted = 0;
    let mut rest = text;
    while let Some((_, clause)) = rest.split_once('%') {
        if let Some(after) = clause.strip_prefix('%') {
            rest = after;
            continue;
        }
        match one_clause(clause, wanted, args, types) {
            Ok(after) => rest = after,
            Err((place, why)) => return Some(ExpressionError::new(place.unwrap_or(at), why)),
        }
        wanted += 1;
    }
    let given = args.len();
    (given > wanted).then(|| {
        let why = format!("too many arguments supplied to string.format (expected {wanted}, got {given})");
        ExpressionError::new(at, why)
    })
}

/// A mistake, with its position if that differs from the position of the call.
type FormatError = (Option<usize>, String);

/// Checks the clause after a `%` and returns the text after it.
fn one_clause<'t>(
    clause: &'t str,
    number: usize,
    args: &[Element],
    types: &[Type],
) -> Result<&'t str, FormatError> {
    if clause.is_empty() {
        return Err((None, "unexpected end of string".to_owned()));
    }
    let Some(arg) = args.get(number) else { return Err((None, format!("index {number} out of range"))) };
    let unparsed = |why: String| (None, format!("could not parse formatting clause: {why}"));
    let verb =
        without_precision(clause).map_err(|why| unparsed(format!("error while parsing precision: {why}")))?;
    let letter = verb.chars().next().unwrap_or_default();
    let takes = AcceptedTypes::for_verb(letter).ok_or_else(|| {
        // The server prints the first byte of a multi-byte character.
        let shown = char::from(verb.bytes().next().unwrap_or_default());
        unparsed(format!("unrecognized formatting clause \"{shown}\""))
    })?;
    takes.check(&arg.value, types)?;
    Ok(verb.get(letter.len_utf8()..).unwrap_or_default())
}

/// Strips the precision, such as `.3`, from the start of a clause.
fn without_precision(clause: &str) -> Result<&str, String> {
    let Some(digits) = clause.strip_prefix('.') else { return Ok(clause) };
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let end = end.ok_or("could not find end of precision specifier")?;
    let (number, verb) = digits.split_at(end);
    let wrong = match number.parse::<i64>() {
        Ok(_) => return Ok(verb),
        Err(_) if number.is_empty() => "invalid syntax",
        Err(_) => "value out of range",
    };
    Err(format!("error while converting precision to integer: strconv.Atoi: parsing \"{number}\": {wrong}"))
}

/// The argument types that a clause accepts.
struct AcceptedTypes {
    clause: &'static str,
    /// Names of types, as [`Type::name`] returns them.
    types: &'static [&'static str],
}

impl AcceptedTypes {
    fn for_verb(letter: char) -> Option<Self> {
        let (clause, types): (_, &[_]) = match letter {
            's' => (
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
                &[
                    "list",
                    "map",
                    "int",
                    "uint",
                    "double",
                    "bool",
                    "string",
                    "google.protobuf.Timestamp",
                    "bytes",
                    "google.protobuf.Duration",
                    "type",
                    "null_type",
                ],
            ),
            'd' => ("decimal clause can only be used on integers", &["int", "uint"]),
            'f' => ("fixed-point clause can only be used on doubles", &["double", "string"]),
            'e' => ("scientific clause can only be used on doubles", &["double", "string"]),
            'b' => ("only integers and bools can be formatted as binary", &["int", "uint", "bool"]),
            'x' | 'X' => (
                "only integers, byte buffers, and strings can be formatted as hex",
                &["int", "uint", "string", "bytes"],
            ),
            'o' => ("octal clause can only be used on integers", &["int", "uint"]),
            _ => return None,
        };
        Some(Self { clause, types })
    }

    fn check(&self, arg: &Node, types: &[Type]) -> Result<(), FormatError> {
        let found = types.get(arg.id).unwrap_or(&Type::Dyn).name();
        if found != "dyn" && !self.types.contains(&found) {
            return Err((
                Some(arg.at),
                format!("error during formatting: {}, was given {found}", self.clause),
            ));
        }
        // Only `%s` accepts lists and maps, and then it must accept their elements too.
        match &arg.kind {
            Kind::List(_) | Kind::Map(_) => {
                arg.children().into_iter().try_for_each(|inner| self.check(inner, types))
            }
            _ => Ok(()),
        }
    }
}
