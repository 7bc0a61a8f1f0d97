//! The columns of built-in kinds, parsed once from `columns.txt`, whose header documents its format.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::row::Cells;

static TEXT: &str = include_str!("columns.txt");

/// The columns of one kind in all minors.
pub(super) struct Columns(Vec<Column>);

struct Column {
    name: &'static str,
    first_minor: u32,
    last_minor: u32,
    kind: &'static str,
    format: &'static str,
    priority: i32,
    description: String,
}

struct Tables {
    kinds: BTreeMap<&'static str, Columns>,
    /// Descriptions that many columns share, by the word that refers to them.
    shared: BTreeMap<&'static str, String>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| read(TEXT));

/// The columns of a kind, given its plural and group.
pub(super) fn find(resource: &str) -> Option<&'static Columns> {
    TABLES.kinds.get(resource)
}

/// The definition of the name column.
pub(super) fn name() -> Value {
    definition("Name", "string", "name", shared("@name"), 0)
}

/// The definition of a creation time column.
pub(super) fn created(name: &str, kind: &str) -> Value {
    definition(name, kind, "", shared("@age"), 0)
}

fn shared(word: &str) -> &'static str {
    TABLES.shared.get(word).map_or("", String::as_str)
}

/// The definitions of the columns of a Scale.
pub(super) fn scale(is_custom: bool) -> Value {
    let number = |name: &str, description: &str| definition(name, "integer", "", description, 0);
    let (format, age) = if is_custom { ("name", "date") } else { ("", "string") };
    json!([
        definition("Name", "string", format, shared("@name"), 0),
        number("Desired", "The number of replicas that should run."),
        number("Available", "The number of replicas that were last observed."),
        created("Age", age),
    ])
}

/// A column definition in the API.
pub(super) fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

impl Columns {
    /// The definitions of the columns in Kubernetes 1.`minor`.
    pub(super) fn definitions(&self, minor: u32) -> Value {
        let shown = self.0.iter().filter(|column| column.is_of(minor));
        shown
            .map(|column| {
                let Column { name, kind, format, priority, description, .. } = column;
                definition(name, kind, format, description, i64::from(*priority))
            })
            .collect()
    }

    /// The cells of the columns in Kubernetes 1.`minor`.
    pub(super) fn shown(&self, cells: Cells, minor: u32) -> Cells {
        let shown = self.0.iter().zip(cells).filter(|(column, _)| column.is_of(minor));
        shown.map(|(_, cell)| cell).collect()
    }
}

impl Column {
    fn is_of(&self, minor: u32) -> bool {
        (self.first_minor..=self.last_minor).contains(&minor)
    }
}

fn read(text: &'static str) -> Tables {
    let mut tables = Tables { kinds: BTreeMap::new(), shared: BTreeMap::new() };
    let mut current: Vec<&'static str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(kinds) = line.strip_prefix("= ") {
            current = kinds.split(' ').collect();
            continue;
        }
        let parts: Vec<&'static str> = line.splitn(5, " | ").collect();
        match parts[..] {
            [word, text] => {
                tables.shared.insert(word, text.replace("\\n", "\n"));
            }
            [name, minors, kind, priority, description] => {
                for resource in &current {
                    let text = tables.shared.get(description).cloned();
                    let description = text.unwrap_or_else(|| description.replace("\\n", "\n"));
                    let column = read_column(name, minors, kind, priority, description);
                    tables.kinds.entry(resource).or_insert_with(|| Columns(Vec::new())).0.push(column);
                }
            }
            _ => {}
        }
    }
    tables
}

fn read_column(
    name: &'static str,
    minors: &str,
    kind: &'static str,
    priority: &str,
    description: String,
) -> Column {
    let (first, last) = minors.split_once('-').unwrap_or_default();
    let (kind, format) = kind.split_once('/').unwrap_or((kind, ""));
    Column {
        name,
        first_minor: first.parse().unwrap_or(0),
        last_minor: last.parse().unwrap_or(u32::MAX),
        kind,
        format,
        priority: priority.parse().unwrap_or_default(),
        description,
    }
}

#[cfg(test)]
mod tests {
    use super::super::BUILTIN;
    use super::super::row::Row;
    use super::*;

    #[test]
    fn every_printer_has_a_cell_for_each_of_its_columns() {
        let object = json!({});
        let row = Row { object: &object, now: windtunnel_core::clock::Time::UNIX_EPOCH, minor: 36 };
        for (resource, cells) in BUILTIN {
            let columns = find(resource).unwrap_or_else(|| panic!("{resource} has no columns"));
            assert_eq!(cells(&row).len(), columns.0.len(), "{resource}");
        }
        assert_eq!(TABLES.kinds.len(), BUILTIN.len());
    }

    #[test]
    fn columns_exist_only_in_their_minors() {
        let names = |resource: &str, minor: u32| {
            let definitions = find(resource).unwrap().definitions(minor);
            let names: Vec<String> =
                definitions.as_array().unwrap().iter().map(|it| it["name"].to_string()).collect();
            names.join(" ").replace('"', "")
        };
        assert_eq!(names("serviceaccounts", 34), "Name Secrets Age");
        assert_eq!(names("serviceaccounts", 36), "Name Age");
        assert!(!names("jobs.batch", 30).contains("Status"));
        assert!(names("jobs.batch", 31).contains("Name Status Completions Duration Age"));
    }
}
