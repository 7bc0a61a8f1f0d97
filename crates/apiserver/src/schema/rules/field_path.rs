//! Resolves the path of the field at which a rule reports errors (`fieldPath`).

use crate::schema::structural::{Additional, Structural};

/// Returns the path as errors print it, without a leading dot. The schema must contain each of its parts.
///
/// # Errors
/// The reason why the path is invalid.
pub(crate) fn resolve(path: &str, schema: &Structural) -> Result<String, String> {
    let mut at = Some(schema);
    let mut out = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = next(rest)?;
        let Some(here) = at else { return Err("does not refer to a valid field".to_owned()) };
        if !here.properties.is_empty() {
            at = Some(here.properties.get(&name).ok_or("does not refer to a valid field")?);
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        } else if let Some(additional) = &here.additional {
            out.push_str(&format!("[{name}]"));
            at = match additional {
                Additional::Of(inner) => Some(inner),
                Additional::Anything => None,
            };
        } else {
            return Err("does not refer to a valid field".to_owned());
        }
        rest = after;
    }
    Ok(out)
}

/// The first name of the path, and the rest.
fn next(path: &str) -> Result<(String, &str), String> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        return if name.is_empty() {
            Err("unexpected end of JSON path".to_owned())
        } else {
            Ok((name.to_owned(), after))
        };
    }
    let Some(rest) = path.strip_prefix("['") else {
        return Err(format!("expected [ or . but got: {path}"));
    };
    let mut name = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => {
                let after = rest[at + 1..].strip_prefix(']').ok_or("expected ]")?;
                return Ok((name, after));
            }
            '\\' => {
                let (_, escaped) = chars.next().ok_or("unexpected end of JSON path")?;
                name.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '\'' | '\\' => escaped,
                    _ => return Err(format!("invalid escape char \\{escaped}")),
                });
            }
            other => name.push(other),
        }
    }
    Err("unexpected end of JSON path".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resolves_only_properties_and_keys_of_the_schema() {
        let schema = Structural::read(&json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b.c": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}}}}));
        for (path, resolved) in [
            (".a", Some("a")),
            (".a['b.c']", Some("a.b.c")),
            (".m.k.x", Some("m[k].x")),
            (".m['it\\'s'].x", Some("m[it's].x")),
            (".zzz", None),
            ("a", None),
            (".a.", None),
            (".m['k", None),
        ] {
            assert_eq!(resolve(path, &schema).ok().as_deref(), resolved, "{path}");
        }
    }
}
