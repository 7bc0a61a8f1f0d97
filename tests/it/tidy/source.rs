//! Parses Rust text for the source rules: tokens without comments and literals, paths, and `mod` lines.

/// A word, `::`, or another single character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// Line, from 1.
    pub(super) line: usize,
    pub(super) text: &'t str,
}

/// A path of several names such as `windtunnel_core::View`; a group gives one for each of its members.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path<'t> {
    pub(super) line: usize,
    pub(super) names: Vec<&'t str>,
    /// The number of inline modules that contain it.
    pub(super) depth: usize,
}

/// A line `mod name;`, with the inline modules that contain it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mod<'t> {
    pub(super) inside: Vec<&'t str>,
    pub(super) name: &'t str,
}

/// The tokens of a file. Comments, texts and characters are no tokens.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut rest, mut line) = (Vec::new(), text, 1);
    while !rest.is_empty() {
        let skipped = blank(rest).or_else(|| string(rest)).or_else(|| character(rest));
        let (piece, after) = rest.split_at(skipped.unwrap_or_else(|| word(rest)));
        if skipped.is_none() {
            found.push(Token { line, text: piece });
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    found
}

/// All paths and `mod` lines among the tokens of a file.
pub(super) fn outline<'t>(tokens: &[Token<'t>]) -> (Vec<Path<'t>>, Vec<Mod<'t>>) {
    let (mut paths, mut mods) = (Vec::new(), Vec::new());
    // The inline modules that contain the token, each with the number of braces that were open before it.
    let (mut around, mut braces): (Vec<(&str, usize)>, usize) = (Vec::new(), 0);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut at = 0;
    while at < tokens.len() {
        match (text(at), text(at + 1), text(at + 2)) {
            ("mod", name, "{") => {
                around.push((name, braces));
                at += 1; // The next pass counts the brace.
            }
            ("mod", name, ";") => {
                let inside = around.iter().map(|(name, _)| *name).collect();
                mods.push(Mod { inside, name });
                at += 2;
            }
            ("{", ..) => braces += 1,
            ("}", ..) => {
                braces = braces.saturating_sub(1);
                around.pop_if(|(_, before)| *before == braces);
            }
            (name, "::", _) | (name @ ("crate" | "super"), "as", _) if is_name(name) => {
                let mut found = Vec::new();
                at = flatten(tokens, at, &[], &mut found);
                let depth = around.len();
                paths.extend(found.into_iter().map(|(line, names)| Path { line, names, depth }));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (paths, mods)
}

/// Parses the path that begins at `at`, after the names in `before`. Returns the position of its end.
fn flatten<'t>(
    tokens: &[Token<'t>],
    mut at: usize,
    before: &[&'t str],
    found: &mut Vec<(usize, Vec<&'t str>)>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut names = before.to_vec();
    while let Some(token) = tokens.get(at) {
        at += 1;
        if token.text == "{" {
            while !matches!(text(at), "}" | "") {
                at = if text(at) == "," { at + 1 } else { flatten(tokens, at, &names, found) };
            }
            return at + 1;
        }
        names.push(token.text);
        if text(at) != "::" {
            found.push((token.line, names));
            return if text(at) == "as" { at + 2 } else { at };
        }
        at += 1;
    }
    at
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Length of the token that a text begins with.
fn word(text: &str) -> usize {
    let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let one = if text.starts_with("::") { 2 } else { text.chars().next().map_or(0, char::len_utf8) };
    (text.len() - rest.len()).max(one)
}

/// Length of the white space or the comment that a text begins with.
fn blank(text: &str) -> Option<usize> {
    let spaces = text.len() - text.trim_start().len();
    if spaces > 0 {
        return Some(spaces);
    }
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut rest = text.strip_prefix("/*")?;
    let mut open = 1;
    while open > 0 {
        let Some(next) = rest.find("/*").into_iter().chain(rest.find("*/")).min() else {
            return Some(text.len());
        };
        if rest[next..].starts_with("/*") {
            open += 1;
        } else {
            open -= 1;
        }
        rest = &rest[next + 2..];
    }
    Some(text.len() - rest.len())
}

/// Length of the text literal (`"a"`, `b"a"`, `r#"a"#`) that a text begins with.
fn string(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = &text[..text.len() - body.len()];
    if prefix.contains('r') {
        let inner = body.trim_start_matches('#');
        let end = format!("\"{}", &body[..body.len() - inner.len()]);
        let inner = inner.strip_prefix('"')?;
        let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return Some(text.len() - inner.len() + length);
    }
    let inner = body.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(text.len() - inner.len() + end.map_or(inner.len(), |at| at + 1))
}

/// Length of the character literal that a text begins with; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let escape = usize::from(inner.starts_with('\\'));
    let first = escape + inner[escape..].chars().next()?.len_utf8();
    let end = match escape {
        0 => inner[first..].starts_with('\'').then_some(first)?,
        _ => first + inner[first..].find('\'')?,
    };
    Some(1 + end + 1)
}

#[test]
fn comments_texts_and_characters_are_skipped() {
    let text = r##"a /* b /* c */ d */ "e \" f" // g
'h' '\'' '\u{1f}' b"i" r#"j " k"# &'l m r#n "o
p" q::r"##;
    let found: Vec<(usize, &str)> = tokens(text).into_iter().map(|token| (token.line, token.text)).collect();
    let names = [(1, "a"), (2, "&"), (2, "'"), (2, "l"), (2, "m"), (2, "r"), (2, "#"), (2, "n")];
    assert_eq!(found[..8], names);
    assert_eq!(found[8..], [(3, "q"), (3, "::"), (3, "r")]);
}

#[test]
fn paths_are_found_in_groups_in_code_and_under_other_names() {
    let text = "use crate::{\n    a::{self, B as C},\n    d::*,\n};\nuse super as up;\npub(crate) fn e() { f::<crate::g::H>() }";
    let tokens = tokens(text);
    let (paths, _) = outline(&tokens);
    let found: Vec<String> =
        paths.iter().map(|path| format!("{} {}", path.line, path.names.join("::"))).collect();
    let expected =
        ["2 crate::a::self", "2 crate::a::B", "3 crate::d::*", "5 super", "6 f::<", "6 crate::g::H"];
    assert_eq!(found, expected);
}

#[test]
fn inline_modules_are_counted_and_listed_for_mod_lines() {
    let tokens =
        tokens("mod a; fn f() { {} } mod b { mod c; mod d { use super::X; } use super::Y; } use super::Z;");
    let (paths, mods) = outline(&tokens);
    assert_eq!(paths.iter().map(|path| path.depth).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(mods, [Mod { inside: vec![], name: "a" }, Mod { inside: vec!["b"], name: "c" }]);
}
