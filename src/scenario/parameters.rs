//! `parameters`: a table of values that turns one text into several scenarios. Each row's values replace
//! `<name>` in the text.

use windtunnel_core::yaml::{Kind, Node};

use super::reader::Reader;

pub(super) const KEY: &str = "parameters";

/// Returns the scenarios of a text: one for each row of the table, or the text itself without a table.
pub(super) fn expand(reader: &mut Reader<'_>, tree: &Node) -> Vec<Node> {
    let Some(table) = tree.get(KEY) else { return vec![tree.clone()] };
    let rows = rows(reader, table);
    let mut used = vec![false; rows.first().map_or(0, |row| row.len())];
    let expanded: Vec<Node> = rows.iter().map(|row| filled(tree, row, &mut used)).collect();
    if let Some(first) = rows.first() {
        report_unused(reader, first, &used);
    }
    expanded
}

/// Replaces `<name>` in the tree of an included file, and returns which values were used.
pub(super) fn fill_in(tree: &mut Node, values: Row<'_>) -> Vec<bool> {
    let mut used = vec![false; values.len()];
    fill(tree, values, &mut used);
    used
}

/// Reports values that no `<name>` uses.
pub(super) fn report_unused(reader: &mut Reader<'_>, values: Row<'_>, used: &[bool]) {
    for ((name, _), _) in values.iter().zip(used).filter(|(_, used)| !**used) {
        let place = format!("<{}>", name.scalar().unwrap_or_default());
        reader
            .error(name, format!("{} is not used: write `{place}` where its value belongs", name.describe()));
    }
}

/// Names and values of one row.
pub(super) type Row<'n> = &'n [(Node, Node)];

/// Parses the rows; each must have the names of the first.
fn rows<'n>(reader: &mut Reader<'_>, table: &'n Node) -> Vec<Row<'n>> {
    let items = reader.list(table, "rows, each a map of values by name");
    if items.is_empty() && matches!(table.kind, Kind::List(_)) {
        reader.error(table, "there are no rows of parameters: expected at least one");
    }
    let rows: Vec<Row<'n>> =
        items.iter().filter_map(|row| reader.entries(row, "a row of parameters")).collect();
    let names = |row: Row<'n>| row.iter().filter_map(|(name, _)| name.scalar()).collect::<Vec<_>>();
    let Some(first) = rows.first().map(|row| names(row)) else { return rows };
    for (row, item) in rows.iter().zip(items).skip(1) {
        let found = names(row);
        if let Some(missing) = first.iter().find(|name| !found.contains(name)) {
            reader.error(item, format!("this row of parameters lacks `{missing}`, which the first has"));
        }
        for (name, _) in
            row.iter().filter(|(name, _)| !name.scalar().is_some_and(|name| first.contains(&name)))
        {
            reader.error(name, format!("the first row of parameters has no {}", name.describe()));
        }
    }
    rows
}

/// Returns the scenario with the values of a row, and marks in `used` those that occur in it.
fn filled(tree: &Node, row: Row<'_>, used: &mut [bool]) -> Node {
    let mut tree = tree.clone();
    if let Kind::Map(entries) = &mut tree.kind {
        entries.retain(|(key, _)| key.scalar() != Some(KEY));
        for (key, value) in entries {
            let before = value.clone();
            fill(value, row, used);
            if key.scalar() == Some("name") && *value == before {
                append_values(value, row);
            }
        }
    }
    tree
}

/// Appends the row's values to a name that contains no parameter, so that the names differ.
fn append_values(name: &mut Node, row: Row<'_>) {
    if let Kind::Text(text) = &mut name.kind {
        let values: Vec<&str> = row.iter().filter_map(|(_, value)| value.scalar()).collect();
        *text = format!("{text} ({})", values.join(", "));
    }
}

fn fill(node: &mut Node, row: Row<'_>, used: &mut [bool]) {
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| fill(item, row, used)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                fill(key, row, used);
                fill(value, row, used);
            }
        }
        Kind::Text(text) => {
            for ((name, value), used) in row.iter().zip(used) {
                let place = format!("<{}>", name.scalar().unwrap_or_default());
                if *text == place {
                    // A value that replaces the whole text keeps its type, such as number or list, and its
                    // own position.
                    *used = true;
                    *node = value.clone();
                    return;
                }
                if let Some(value) = value.scalar().filter(|_| text.contains(&place)) {
                    *used = true;
                    *text = text.replace(&place, value);
                }
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}
