//! Helpers for expressions that create JSON patches (`k8s.io/apiserver/pkg/cel/library/jsonpatch.go`).

use super::{Row, text};
use crate::cel::value::{Outcome, Value};

pub(super) const ROWS: &[Row] = &[(0, "jsonpatch.escapeKey(string) -> string", escape_key)];

/// Escapes a name for a JSON pointer.
fn escape_key<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::text(text(args, 0).replace('~', "~0").replace('/', "~1")))
}
