//! Columns of custom resources: the `additionalPrinterColumns` of a version.

use serde_json::{Value, json};
use windtunnel_core::clock::parse_rfc3339;
use windtunnel_core::jsonpath::JsonPath;

use super::ages;
use super::columns::{definition, name};
use super::row::{Cells, Row};

/// Group and kind whose Tables have an additional column, because API servers of the distribution add it.
const CARRIED: (&str, &str) = ("config.openshift.io", "ClusterOperator");

/// A column that a CustomResourceDefinition defines.
#[derive(Debug, Clone)]
pub(crate) struct PrinterColumn {
    name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    kind: String,
    format: String,
    description: String,
    priority: i64,
    source: Source,
}

/// The source of the cells of a column.
#[derive(Debug, Clone)]
enum Source {
    Path(JsonPath),
    /// An invalid path: the cell is empty.
    Unreadable,
    /// The message of the most critical condition: not available, then degraded, then progressing.
    CriticalCondition,
}

impl PrinterColumn {
    /// The columns of a version; by default, only the age.
    pub(crate) fn read_all(version: &Value, group: &str, kind: &str) -> Vec<Self> {
        let carried = (group, kind) == CARRIED;
        match version["additionalPrinterColumns"].as_array() {
            Some(columns) if !columns.is_empty() => {
                columns.iter().map(Self::read).chain(carried.then(Self::message)).collect()
            }
            _ => {
                let age = super::columns::created("Age", "date");
                let text = age["description"].as_str().unwrap_or_default().to_owned();
                let path =
                    json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
                vec![Self { description: text, ..Self::read(&path) }]
            }
        }
    }

    fn read(column: &Value) -> Self {
        let text = |field: &str| column[field].as_str().unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let description = match text("description") {
            none if none.is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {path}")
            }
            given => given,
        };
        Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: column["priority"].as_i64().unwrap_or_default(),
            source: JsonPath::parse(&path).map_or(Source::Unreadable, Source::Path),
        }
    }

    /// The column that distributions add.
    fn message() -> Self {
        Self {
            name: "Message".to_owned(),
            kind: "string".to_owned(),
            format: String::new(),
            description: "A message describing the status of the operator".to_owned(),
            priority: 0,
            source: Source::CriticalCondition,
        }
    }

    fn cell(&self, row: &Row<'_>) -> Value {
        let found = match &self.source {
            Source::Path(path) => path.find(row.object).first().copied(),
            Source::CriticalCondition => critical(row),
            Source::Unreadable => None,
        };
        let Some(value) = found else { return Value::Null };
        match (self.kind.as_str(), value) {
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

pub(super) fn definitions(columns: &[PrinterColumn]) -> Value {
    let own = columns.iter().map(|column| {
        let PrinterColumn { name, kind, format, description, priority, .. } = column;
        definition(name, kind, format, description, *priority)
    });
    std::iter::once(name()).chain(own).collect()
}

pub(super) fn cells(columns: &[PrinterColumn], row: &Row<'_>) -> Cells {
    std::iter::once(row.name()).chain(columns.iter().map(|column| column.cell(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_type_of_their_column() {
        let object =
            json!({ "i": 3, "n": 1.5, "s": "x", "l": ["a"], "b": true, "t": "2024-01-01T00:00:00Z" });
        let row = Row { object: &object, now: "2024-01-01T01:00:00Z".parse().unwrap() };
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
            assert_eq!(column.cell(&row), cell, "{kind} {path}");
        }
    }
}
