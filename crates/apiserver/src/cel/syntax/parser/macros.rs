//! Calls that are macros: `has`, `all`, `map` and others.

use crate::cel::expression_error::ExpressionError;
use crate::cel::syntax::parser::Parser;
use crate::cel::syntax::{Access, Kind, Loop, LoopKind, Node};

/// Builds the node of a call without receiver: `has`, or a function.
pub(in crate::cel::syntax) fn global(
    parser: &mut Parser,
    at: usize,
    function: String,
    mut args: Vec<Node>,
) -> Result<Node, ExpressionError> {
    if function != "has" || args.len() != 1 {
        return Ok(parser.node(at, Kind::Call { function, target: None, args }));
    }
    match args.remove(0) {
        Node { kind: Kind::Select { operand, field, how: Access::Value }, .. } => {
            Ok(parser.node(at, Kind::Select { operand, field, how: Access::Presence }))
        }
        other => Err(ExpressionError::new(other.at, "invalid argument to has() macro")),
    }
}

/// Builds the node of a call with receiver: a macro if its name and number of arguments match one.
pub(in crate::cel::syntax) fn member(
    parser: &mut Parser,
    at: usize,
    target: Node,
    function: String,
    args: Vec<Node>,
) -> Result<Node, ExpressionError> {
    let Some((kind, vars)) = macro_loop(&function, args.len()) else {
        return Ok(parser.node(at, Kind::Call { function, target: Some(Box::new(target)), args }));
    };
    let mut args = args.into_iter();
    let names = names(args.by_ref().take(vars).collect())?;
    let mut rest: Vec<Node> = args.collect();
    let body = rest.pop();
    let mut filter = rest.pop();
    let body = match (function.as_str(), body) {
        ("filter", Some(predicate)) => {
            filter = Some(predicate);
            parser.node(at, Kind::Ident(names.first().cloned().unwrap_or_default()))
        }
        (_, Some(body)) => body,
        (_, None) => return Err(ExpressionError::new(at, "argument must be a simple name")),
    };
    let inner = Loop { kind, range: target, vars: names, filter, body };
    Ok(parser.node(at, Kind::Loop(Box::new(inner))))
}

/// The loop kind of a macro, and its number of variables.
fn macro_loop(function: &str, args: usize) -> Option<(LoopKind, usize)> {
    Some(match (function, args) {
        ("all", 2) => (LoopKind::All, 1),
        ("all", 3) => (LoopKind::All, 2),
        ("exists", 2) => (LoopKind::Exists, 1),
        ("exists", 3) => (LoopKind::Exists, 2),
        ("exists_one" | "existsOne", 2) => (LoopKind::ExistsOne, 1),
        ("exists_one" | "existsOne", 3) => (LoopKind::ExistsOne, 2),
        ("map", 2 | 3) | ("filter", 2) => (LoopKind::List, 1),
        ("transformList", 3 | 4) => (LoopKind::List, 2),
        ("transformMap", 3 | 4) => (LoopKind::Values, 2),
        ("transformMapEntry", 3 | 4) => (LoopKind::Entries, 2),
        ("sortBy", 2) => (LoopKind::Sort, 1),
        ("optMap", 2) => (LoopKind::OptionalMap, 1),
        ("optFlatMap", 2) => (LoopKind::OptionalFlatMap, 1),
        _ => return None,
    })
}

fn names(args: Vec<Node>) -> Result<Vec<String>, ExpressionError> {
    let mut names = Vec::new();
    for arg in args {
        match arg.kind {
            Kind::Ident(name) => names.push(name),
            _ => return Err(ExpressionError::new(arg.at, "argument must be a simple name")),
        }
    }
    Ok(names)
}
