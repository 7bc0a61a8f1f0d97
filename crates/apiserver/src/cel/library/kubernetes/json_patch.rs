//! Helpers for expressions that create JSON patches (`k8s.io/apiserver/pkg/cel/library/jsonpatch.go`).

use crate::cel::library::{Row, text};
use crate::cel::value::{Outcome, Value};

pub(in crate::cel::library) const ROWS: &[Row] = &[(0, "jsonpatch.escapeKey(string) -> string", escape_key)];

/// Escapes a name for a JSON pointer.
fn escape_key<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(text(args, 0).replace('~', "~0").replace('/', "~1")))
}
