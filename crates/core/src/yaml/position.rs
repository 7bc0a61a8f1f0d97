//! Positions within the text of a scalar.

use super::Node;

/// Returns the position in `document` of a line and column in the text of a scalar; all count from 1. In
/// folded and escaped text, lines of the document and of the text differ; then this is the position of the
/// scalar.
pub fn position_of_text(document: &str, scalar: &Node, line: usize, column: usize) -> (usize, usize) {
    let place = (scalar.line, scalar.column);
    let mut lines = document.lines().skip(scalar.line.saturating_sub(1));
    let Some(first) = lines.next() else { return place };
    let written: String = first.chars().skip(scalar.column.saturating_sub(1)).collect();
    match written.chars().next() {
        Some('|') => {
            let is_text = |line: &&str| !line.trim().is_empty();
            let indent =
                lines.find(is_text).map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
            (scalar.line + line, indent + column)
        }
        Some('>') => place,
        _ if line > 1 => place,
        Some('"' | '\'') => (scalar.line, scalar.column + column),
        _ => (scalar.line, scalar.column + column - 1),
    }
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
        check("a: >\n  x\n  y\n", 1, 3, (1, 4));
        check("a: \"x\\ny\"\n", 2, 1, (1, 4));
    }
}
