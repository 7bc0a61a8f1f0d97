//! Replaces a text in a document and keeps everything else: comments, indentation, and the style of the text if the new
//! one allows it.

use super::position::block_header;
use super::{Kind, Node, parse_tree, quoted, scalar};

/// Returns the document with another text in place of a scalar of its tree.
///
/// # Errors
/// The scalar is an alias or has an anchor, or no style of YAML holds the text there.
pub fn replace_text(document: &str, node: &Node, text: &str) -> Result<String, String> {
    let start = offset(document, node).ok_or("it has no position in the file")?;
    let first = document[start..].chars().next().unwrap_or_default();
    if first == '*' {
        return Err("it is an alias of a text elsewhere".to_owned());
    }
    let line_start = document[..start].rfind('\n').map_or(0, |at| at + 1);
    let in_line = &document[line_start..start];
    let above: Vec<&str> = document[..line_start].lines().collect();
    let block = if in_line.trim().is_empty() { block_header(&above) } else { None };
    let (head, blanks) = match block {
        Some((line, _)) => (above[line - 1], in_line.chars().count()),
        None => (in_line, 0),
    };
    if has_anchor(head) {
        return Err("it has an anchor, by which other places use it".to_owned());
    }
    let candidates = match block {
        Some((line, style)) => in_block(document, (line, style, blanks), text),
        None => in_line_or_quotes(document, start, first, node, text),
    };
    let (tree, _) = parse_tree(document).map_err(|error| error.to_string())?;
    let is_right = |candidate: &String| {
        parse_tree(candidate).is_ok_and(|(found, _)| differs_only(&tree, &found, node, text))
    };
    candidates
        .into_iter()
        .find(is_right)
        .ok_or_else(|| "no style of YAML holds the new text there".to_owned())
}

/// The offset of a node in its document.
fn offset(document: &str, node: &Node) -> Option<usize> {
    let mut lines = document.split_inclusive('\n');
    let before: usize = lines.by_ref().take(node.line.checked_sub(1)?).map(str::len).sum();
    let line = lines.next()?;
    let column = node.column.checked_sub(1)?;
    let in_line = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)?;
    Some(before + in_line)
}

/// Whether the text in front of a scalar ends with an anchor, such as `key: &name `.
fn has_anchor(before: &str) -> bool {
    before.split_whitespace().next_back().is_some_and(|word| word.starts_with('&'))
        || before.rsplit_once(": ").is_some_and(|(_, value)| value.trim_start().starts_with('&'))
}

/// The new documents for a block of text below a line such as `key: |-`, the best first.
fn in_block(document: &str, (header, style, blanks): (usize, char, usize), text: &str) -> Vec<String> {
    let lines: Vec<&str> = document.split_inclusive('\n').collect();
    let is_inside = |line: &&&str| {
        let content = line.trim_start_matches(' ');
        content.trim().is_empty() || line.len() - content.len() >= blanks
    };
    let mut count = lines.iter().skip(header).take_while(is_inside).count();
    while count > 0 && lines[header + count - 1].trim().is_empty() {
        count -= 1; // They separate what follows.
    }
    let head = lines[header - 1];
    let ending = if head.ends_with("\r\n") { "\r\n" } else { "\n" };
    let (above, below) = (lines[..header - 1].concat(), lines[header + count..].concat());
    let indent = " ".repeat(blanks);
    let between = if style == '>' { format!("{ending}{ending}") } else { ending.to_owned() };
    let body: Vec<String> = text
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { indent.clone() + line })
        .collect();
    let body = body.join(&between) + ending;
    let with_header = |header: &str| format!("{above}{header}{body}{below}");
    let mut found = vec![with_header(head)];
    if let Some(at) = mark(head, style) {
        let end = at + 1 + head[at + 1..].find(|next: char| !"+-0123456789".contains(next)).unwrap_or(0);
        let (before, after) = (&head[..at], &head[end..]);
        found.push(with_header(&format!("{before}{style}-{after}")));
        found.push(format!("{above}{before}{}{after}{below}", quoted(text)));
    }
    found
}

/// The offset of the mark of a block's style in its header.
fn mark(head: &str, style: char) -> Option<usize> {
    head.split(" #").next().unwrap_or_default().rfind(style)
}

/// The new documents for a text in quotes or without, the best first.
fn in_line_or_quotes(document: &str, start: usize, first: char, node: &Node, text: &str) -> Vec<String> {
    let rest = &document[start..];
    let length = match first {
        '"' => end_of_double(rest),
        '\'' => end_of_single(rest),
        _ => end_of_plain(rest, node),
    };
    let Some(length) = length else { return Vec::new() };
    let (before, after) = (&document[..start], &document[start + length..]);
    let with = |written: &str| format!("{before}{written}{after}");
    let single = || format!("'{}'", text.replace('\'', "''"));
    let mut found = Vec::new();
    if text.contains('\n') {
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let key = before[line_start..].chars().take_while(|letter| [' ', '-'].contains(letter)).count();
        let indent = " ".repeat(key + 2);
        let is_last = after.lines().next().unwrap_or_default().trim().is_empty();
        if is_last {
            let body = text
                .split('\n')
                .map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") });
            found.push(with(&format!("|-\n{}", body.collect::<Vec<_>>().join("\n"))));
        }
    } else if first == '\'' {
        found.push(with(&single()));
    } else if first != '"' {
        found.push(with(text));
        found.push(with(&scalar(text)));
    }
    found.push(with(&quoted(text)));
    found
}

fn end_of_double(rest: &str) -> Option<usize> {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}

fn end_of_single(rest: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        let quote = at + rest.get(at..)?.find('\'')?;
        if !rest[quote + 1..].starts_with('\'') {
            return Some(quote + 1);
        }
        at = quote + 2;
    }
}

/// The length of a text without quotes, which may continue on the lines below.
fn end_of_plain(rest: &str, node: &Node) -> Option<usize> {
    let mut at = 0;
    for word in node.scalar()?.split_whitespace() {
        at += rest[at..].len() - rest[at..].trim_start().len();
        at += rest[at..].starts_with(word).then_some(word.len())?;
    }
    Some(at)
}

/// Whether two trees are equal, except that the second one has `text` where the first one has `node`.
fn differs_only(old: &Node, new: &Node, node: &Node, text: &str) -> bool {
    if (old.line, old.column) == (node.line, node.column) && old.kind == node.kind {
        return new.scalar() == Some(text);
    }
    match (&old.kind, &new.kind) {
        (Kind::List(old), Kind::List(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| differs_only(old, new, node, text))
        }
        (Kind::Map(old), Kind::Map(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|((old_key, old), (new_key, new))| {
                    old_key.to_json() == new_key.to_json() && differs_only(old, new, node, text)
                })
        }
        (Kind::List(_) | Kind::Map(_), _) | (_, Kind::List(_) | Kind::Map(_)) => false,
        _ => old.to_json() == new.to_json() && old.scalar() == new.scalar(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(document: &str, text: &str) -> Result<String, String> {
        let (tree, _) = parse_tree(document).unwrap();
        replace_text(document, tree.get("a").unwrap(), text)
    }

    #[track_caller]
    fn check(document: &str, text: &str, expected: &str) {
        assert_eq!(replaced(document, text).as_deref(), Ok(expected), "{document:?}");
    }

    #[test]
    fn a_text_keeps_its_style_and_its_surroundings() {
        check("# c\na: x # d\nb: 1\n", "y z", "# c\na: y z # d\nb: 1\n");
        check("a: x\nb: 1\n", "y: z", "a: \"y: z\"\nb: 1\n");
        check("{b: 1, a: x, c: 2}\n", "y, z", "{b: 1, a: \"y, z\", c: 2}\n");
        check("a: 'x'\n", "it's", "a: 'it''s'\n");
        check("a: \"x \\\" y\" # d\n", "z\"", "a: \"z\\\"\" # d\n");
        check("a: 4.10\n", "4.20", "a: 4.20\n");
        check("a: x\n  y # d\nb: 1\n", "z", "a: z # d\nb: 1\n");
        check("ä: 1\na: x", "é", "ä: 1\na: é");
    }

    #[test]
    fn a_block_stays_a_block() {
        check("a: |-\n  x\n\n  y\n\n# c\nb: 1\n", "z", "a: |-\n  z\n\n# c\nb: 1\n");
        check("a: |- # d\n    x\nb: 1\n", "y\n\n  z", "a: |- # d\n    y\n\n      z\nb: 1\n");
        check("b: 1\na: |\n  x\n", "y", "b: 1\na: |-\n  y\n");
        check("a: >-\n  x\n  y\nb: 1\n", "z\nw", "a: >-\n  z\n\n  w\nb: 1\n");
        check("a: |-\n  x\nb: 1\n", " y", "a: \" y\"\nb: 1\n");
    }

    #[test]
    fn a_text_with_lines_becomes_a_block_outside_of_flow_style() {
        check("a: x\nb: 1\n", "y\nz", "a: |-\n  y\n  z\nb: 1\n");
        check("{a: x, b: 1}\n", "y\nz", "{a: \"y\\nz\", b: 1}\n");
    }

    #[test]
    fn shared_texts_are_not_replaced() {
        assert_eq!(replaced("b: &t x\na: *t\n", "y"), Err("it is an alias of a text elsewhere".to_owned()));
        let anchor = Err("it has an anchor, by which other places use it".to_owned());
        assert_eq!(replaced("a: &t x\nb: *t\n", "y"), anchor);
        assert_eq!(replaced("a: &t |-\n  x\nb: *t\n", "y"), anchor);
    }
}
