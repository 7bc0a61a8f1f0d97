//! Columns and cells of custom resources.

use std::sync::LazyLock;

use serde_json::{Value, json};
use windtunnel_core::clock::parse_rfc3339;

use super::ages;
use super::columns::{definition, name};
use super::row::{Cells, Row};
use crate::kinds::custom::PrinterColumn;
use crate::kinds::custom::column::Source;

/// The cell of a column.
fn cell(column: &PrinterColumn, row: &Row<'_>) -> Value {
    let found = match &column.source {
        Source::Path(path) => path.find(row.object).first().copied(),
        Source::CriticalCondition => critical(row),
        Source::Unreadable => None,
    };
    let Some(value) = found else { return Value::Null };
    match (column.kind.as_str(), value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => {
            value.clone()
        }
        ("string", Value::Number(number)) => json!(crate::gotext::number(number)),
        ("string", other) if !other.is_null() => json!(other.to_string()),
        ("integer", Value::Number(number)) => {
            // Go truncates the fraction.
            #[expect(clippy::cast_possible_truncation, reason = "as the server does")]
            let whole = number.as_i64().or_else(|| number.as_f64().map(|float| float as i64));
            json!(whole)
        }
        ("date", Value::String(text)) => match parse_rfc3339(text) {
            Some(_) => json!(ages::since(text, row.now)),
            None => json!("<invalid>"),
        },
        _ => Value::Null,
    }
}

/// The message, or else the reason, of the most critical condition.
fn critical<'a>(row: &Row<'a>) -> Option<&'a Value> {
    let found = |condition_type: &str, status: &str| {
        let mut conditions = row.list("/status/conditions").iter();
        conditions.rfind(|condition| condition["type"] == condition_type && condition["status"] == status)
    };
    let condition =
        found("Available", "False").or(found("Degraded", "True")).or(found("Progressing", "True"))?;
    ["message", "reason"]
        .map(|field| &condition[field])
        .into_iter()
        .find(|text| text.as_str().is_some_and(|text| !text.is_empty()))
}

/// The columns to show: those of the definition, by default only the age.
fn shown(columns: &[PrinterColumn]) -> &[PrinterColumn] {
    static AGE: LazyLock<[PrinterColumn; 1]> = LazyLock::new(|| {
        let age = super::columns::created("Age", "date");
        let description = age["description"].as_str().unwrap_or_default().to_owned();
        let path = json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
        [PrinterColumn { description, ..PrinterColumn::read(&path) }]
    });
    if columns.is_empty() { &*AGE } else { columns }
}

pub(super) fn definitions(columns: &[PrinterColumn]) -> Value {
    let own = shown(columns).iter().map(|column| {
        let PrinterColumn { name, kind, format, description, priority, .. } = column;
        definition(name, kind, format, description, *priority)
    });
    std::iter::once(name()).chain(own).collect()
}

pub(super) fn cells(columns: &[PrinterColumn], row: &Row<'_>) -> Cells {
    std::iter::once(row.name()).chain(shown(columns).iter().map(|column| cell(column, row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_type_of_their_column() {
        let object =
            json!({ "i": 3, "n": 1.5, "s": "x", "l": ["a"], "b": true, "t": "2024-01-01T00:00:00Z" });
        let row = Row { object: &object, now: "2024-01-01T01:00:00Z".parse().unwrap(), minor: 36 };
        for (kind, path, cell) in [
            ("string", ".s", json!("x")),
            ("string", ".i", json!("3")),
            ("string", ".l", json!("[\"a\"]")),
            ("string", ".none", Value::Null),
            ("integer", ".n", json!(1)),
            ("integer", ".s", Value::Null),
            ("number", ".i", json!(3)),
            ("boolean", ".b", json!(true)),
            ("date", ".t", json!("60m")),
            ("date", ".s", json!("<invalid>")),
        ] {
            let column = PrinterColumn::read(&json!({ "name": "C", "type": kind, "jsonPath": path }));
            assert_eq!(super::cell(&column, &row), cell, "{kind} {path}");
        }
    }
}
