//! Columns of custom resources: the `additionalPrinterColumns` of a version.

use serde_json::Value;
use windtunnel_core::jsonpath::JsonPath;

/// Group and kind whose Tables have an additional column, because API servers of the distribution add it.
const CARRIED: (&str, &str) = ("config.openshift.io", "ClusterOperator");

/// A column that a CustomResourceDefinition defines.
#[derive(Debug, Clone)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) source: Source,
}

/// The source of the cells of a column.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Path(JsonPath),
    /// An invalid path: the cell is empty.
    Unreadable,
    /// The message of the most critical condition: not available, then degraded, then progressing.
    CriticalCondition,
}

impl PrinterColumn {
    /// The columns of a version; empty if its definition has none.
    pub(crate) fn read_all(version: &Value, group: &str, kind: &str) -> Vec<Self> {
        match version["additionalPrinterColumns"].as_array() {
            Some(columns) if !columns.is_empty() => {
                let carried = (group, kind) == CARRIED;
                columns.iter().map(Self::read).chain(carried.then(Self::message)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// One of the columns of a version.
    pub(crate) fn read(column: &Value) -> Self {
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
}
