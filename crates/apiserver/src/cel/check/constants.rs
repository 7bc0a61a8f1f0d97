//! Calls with constants that cel-go runs when it makes a program of a checked expression (`OptOptimize`): conversions of
//! literals, and regular expressions.

use crate::cel::eval;
use crate::cel::syntax::{Kind, Node};
use crate::gotext::regexp;

/// Conversions of types (`IsTypeConversionFunction`).
const CONVERSIONS: [&str; 9] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"];

/// Runs the calls with constants below a node.
///
/// # Errors
/// The message of the first one that fails.
pub(in crate::cel) fn check(node: &Node) -> Result<(), String> {
    for child in node.children() {
        check(child)?;
    }
    let Kind::Apply(apply) = &node.kind else { return Ok(()) };
    match (&*apply.function.name, &*apply.args) {
        (name, [Node { kind: Kind::Literal(_), .. }]) if CONVERSIONS.contains(&name) => {
            eval::run(node, &[], u64::MAX).outcome.map(drop).map_err(|error| error.text().to_owned())
        }
        ("find" | "findAll", [_, pattern, ..]) => {
            pattern.literal_text().map_or(Ok(()), |text| regexp::compile(text).map(drop))
        }
        _ => Ok(()),
    }
}
