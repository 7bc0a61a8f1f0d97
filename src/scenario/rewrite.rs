//! `--update`: replaces an expected text in the file of a scenario, in its place.

use windtunnel_core::yaml::{self, Kind, Node};

use super::parameters;
use crate::plan::{TextDifference, TextPlace};

/// A file with another text in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole file.
    pub text: String,
    /// The line of the text, from 1.
    pub line: usize,
}

/// Replaces the expected text of the step at `line` and `column` in the text of a scenario.
///
/// # Errors
/// Why the text cannot be replaced in this file.
pub fn with_text(
    document: &str,
    (line, column): (usize, usize),
    difference: &TextDifference,
) -> Result<Rewritten, String> {
    let TextDifference { place, seen, .. } = difference;
    if seen.starts_with('/') {
        return Err("the new text begins with `/`, as a regular expression does: write one".to_owned());
    }
    let (tree, _) = yaml::parse_tree(document).map_err(|error| error.to_string())?;
    let has_parameters = tree.get(parameters::KEY).is_some();
    let step = step_at(&tree, line, column)?.ok_or_else(|| {
        if has_parameters {
            "the step is a parameter".to_owned()
        } else {
            "the step is not in this file".to_owned()
        }
    })?;
    let (mut found, mut others) = (Vec::new(), Vec::new());
    collect(step, difference, &mut found, &mut others);
    match found.as_slice() {
        [node] => {
            let text = yaml::replace_text(document, node, seen)?;
            let text = if place.ignores_end() { with_old_header(document, text) } else { text };
            Ok(Rewritten { text, line: node.line })
        }
        [] => Err(why_not_found(&others, has_parameters, place)),
        _ => Err(format!("the step has this text {} times", found.len())),
    }
}

/// Returns a changed document with the old header of a block, such as `prints: |`, in place of `prints: |-`. The line break at
/// the end of the block is ignored.
fn with_old_header(old: &str, new: String) -> String {
    let mut start = 0;
    for (old, line) in old.split_inclusive('\n').zip(new.split_inclusive('\n')) {
        if old != line {
            let is_header = line.replacen("|-", "|", 1) == *old;
            let end = start + line.len();
            return if is_header { format!("{}{old}{}", &new[..start], &new[end..]) } else { new };
        }
        start += line.len();
    }
    new
}

/// Returns the step at a place.
///
/// # Errors
/// The step is in an included file.
fn step_at(tree: &Node, line: usize, column: usize) -> Result<Option<&Node>, String> {
    let Some(Kind::List(steps)) = tree.get("timeline").map(|timeline| &timeline.kind) else {
        return Ok(None);
    };
    let is_there = |node: &Node| (node.line, node.column) == (line, column);
    for step in steps {
        if let Some(include) = step.get("include").filter(|include| is_there(include)) {
            let file = include.get("steps").unwrap_or(include).scalar().unwrap_or_default();
            return Err(format!(
                "the text is in the included file {file}, which others may share: edit it there"
            ));
        }
        if is_there(step) {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Collects the texts of a step in the place of a difference: those that are as expected, and the others.
fn collect<'n>(
    node: &'n Node,
    difference: &TextDifference,
    found: &mut Vec<&'n Node>,
    others: &mut Vec<&'n Node>,
) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| collect(item, difference, found, others)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                if is_in_place(node, key.scalar().unwrap_or_default(), &difference.place) {
                    let items = if let Kind::List(items) = &value.kind {
                        items.as_slice()
                    } else {
                        std::slice::from_ref(value)
                    };
                    for item in items {
                        let is_wanted = item.scalar().is_some_and(|text| is_wanted(text, difference));
                        if is_wanted { found.push(item) } else { others.push(item) }
                    }
                }
                collect(value, difference, found, others);
            }
        }
        _ => {}
    }
}

/// Whether a key of a map names the place.
fn is_in_place(map: &Node, key: &str, place: &TextPlace) -> bool {
    let is_of = |kind: &str| map.get("type").and_then(Node::scalar) == Some(kind);
    match place {
        TextPlace::Reason(kind) | TextPlace::Message(kind) => key == place.name() && is_of(kind),
        TextPlace::Field(path) => key == path || path.starts_with("impact.") && key == place.name(),
        _ => key == place.name(),
    }
}

fn is_wanted(text: &str, TextDifference { place, wanted, .. }: &TextDifference) -> bool {
    if place.ignores_end() { text.trim_end() == wanted.trim_end() } else { text == wanted }
}

/// Why none of the texts in the place is the expected one.
fn why_not_found(others: &[&Node], has_parameters: bool, place: &TextPlace) -> String {
    let has = |part: &str| others.iter().filter_map(|node| node.scalar()).any(|text| text.contains(part));
    if has("$(") {
        return "the text has a placeholder such as `$(kept NAME)`".to_owned();
    }
    if has_parameters {
        return "the text comes from `parameters`".to_owned();
    }
    format!("the step has no {place} with this text")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name: n\ncluster: {version: 4.18.3}\n";

    /// Replaces `old` by `new` in the step on the first line of the timeline.
    fn replaced(timeline: &str, place: TextPlace) -> Result<String, String> {
        let difference = TextDifference { place, wanted: "old".to_owned(), seen: "new".to_owned() };
        let document = format!("{HEAD}timeline:\n{timeline}");
        let line = if timeline.contains("include") { (4, 12) } else { (4, 3) };
        with_text(&document, line, &difference)
            .map(|found| found.text.trim_start_matches(HEAD).trim_start_matches("timeline:\n").to_owned())
    }

    #[test]
    fn a_text_is_replaced_in_its_place_only() {
        let message = || TextPlace::Message("Failing".to_owned());
        let conditions = "- expect: {object: a, conditions: [{type: Progressing, message: old}, {type: Failing, message: old}]}\n";
        assert_eq!(
            replaced(conditions, message()).unwrap(),
            conditions.replace("Failing, message: old", "Failing, message: new")
        );
        let run =
            "- run:\n    command: old # c\n    prints: |\n      old\n- run: {command: a, prints: old}\n";
        assert_eq!(replaced(run, TextPlace::Prints).unwrap(), run.replace("      old", "      new"));
        let list = "- run: {command: a, prints: [{contains: old}, old]}\n";
        assert_eq!(replaced(list, TextPlace::Prints).unwrap(), list.replace(", old]", ", new]"));
    }

    #[test]
    fn what_cannot_be_replaced_is_refused_with_the_reason() {
        let why = |timeline: &str| replaced(timeline, TextPlace::Prints).unwrap_err();
        assert_eq!(why("- run: {command: a, prints: [old, old]}\n"), "the step has this text 2 times");
        assert!(why("- run: {command: a, prints: $(kept x)}\n").contains("placeholder"));
        assert!(why("- include: steps.yaml\n").contains("included file steps.yaml"));
        assert!(why("- run: {command: a, prints: <x>}\nparameters: [{x: old}]\n").contains("`parameters`"));
    }
}
