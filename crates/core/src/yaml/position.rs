//! Positions within the text of a scalar.

use super::Node;

/// Returns the position in `document` of a line and column in the text of a scalar; all count from 1. In
/// folded and escaped text, lines of the document and of the text differ; then this is the position of the
/// scalar.
pub fn position_of_text(document: &str, scalar: &Node, line: usize, column: usize) -> (usize, usize) {
    let place = (scalar.line, scalar.column);
    let lines: Vec<&str> = document.lines().take(scalar.line).collect();
    let Some((first, above)) = lines.split_last() else { return place };
    let start = first.char_indices().nth(scalar.column.saturating_sub(1)).map_or(first.len(), |(at, _)| at);
    let (before, written) = first.split_at(start);
    if before.trim().is_empty()
        && let Some((header, style)) = block_header(above)
    {
        let is_literal = style == '|';
        return if is_literal { (header + line, scalar.column - 1 + column) } else { place };
    }
    match written.chars().next() {
        _ if line > 1 => place,
        Some('"' | '\'') => (scalar.line, scalar.column + column),
        _ => (scalar.line, scalar.column + column - 1),
    }
}

/// Returns number and style of the line that begins a block of text, such as `key: |-`: the last line that is
/// not blank. `None` if it begins none.
pub(super) fn block_header(above: &[&str]) -> Option<(usize, char)> {
    let number = above.iter().rposition(|line| !line.trim().is_empty())?;
    let text = above[number].split(" #").next().unwrap_or_default().trim_end();
    let style =
        text.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '-' || letter == '+');
    style.chars().next_back().filter(|style| ['|', '>'].contains(style)).map(|style| (number + 1, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_tree;

    #[track_caller]
    fn check(document: &str, line: usize, column: usize, expected: (usize, usize)) {
        let (tree, _) = parse_tree(document).unwrap();
        let found = position_of_text(document, tree.get("a").unwrap(), line, column);
        assert_eq!(found, expected, "{document:?}");
    }

    #[test]
    fn positions_in_text_are_those_of_the_document() {
        check("a: x y\n", 1, 3, (1, 6));
        check("a: 'x y'\n", 1, 3, (1, 7));
        check("b: 1\na: |\n  x\n\n    y\n", 3, 3, (5, 5));
        check("b: 1\na: |-\n    x\n", 1, 1, (3, 5));
        check("b: 1\na: |2 # ä\n\n    x\n", 2, 3, (4, 5));
        check("a: >\n  x\n  y\n", 1, 3, (2, 3));
        check("a: \"x\\ny\"\n", 2, 1, (1, 4));
    }
}
