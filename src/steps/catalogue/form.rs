//! Renders the pattern of a step for people: `I update to <version>[ by force]`.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, RepetitionKind};

/// Combinations of placeholders, and the one that replaces each of them.
const TOGETHER: &[(&str, &str)] = &[("<number>.<number>.<name>", "<version>"), ("<number> <name>", "<time>")];

/// Returns the readable form of a pattern: `<...>` is a value, `[...]` is optional, `a|b` is a choice, and
/// `...` follows a part that may repeat. An invalid pattern is returned unchanged.
pub(super) fn form(pattern: &str) -> String {
    let Ok(ast) = Parser::new().parse(pattern) else { return pattern.to_owned() };
    let form = TOGETHER.iter().fold(render(&ast), |form, (parts, whole)| form.replace(parts, whole));
    form.trim().to_owned()
}

fn render(ast: &Ast) -> String {
    match ast {
        Ast::Literal(literal) => literal.c.to_string(),
        Ast::Dot(_) => "<text>".to_owned(),
        Ast::ClassPerl(_) => "<name>".to_owned(),
        Ast::Group(group) => match &*group.ast {
            Ast::Alternation(_) => format!("({})", render(&group.ast)),
            inner => render(inner),
        },
        Ast::Alternation(one_of) => one_of.asts.iter().map(render).collect::<Vec<_>>().join("|"),
        Ast::Concat(parts) => parts.asts.iter().map(render).collect(),
        Ast::Repetition(repeated) => match (&repeated.op.kind, &*repeated.ast) {
            (RepetitionKind::ZeroOrOne, inner) => format!("[{}]", bare(inner)),
            (RepetitionKind::ZeroOrMore, Ast::Group(group)) => format!("[{}]...", render(&group.ast)),
            (_, inner) => value(inner),
        },
        // Anchors and classes of single letters would not help a reader.
        _ => String::new(),
    }
}

/// Renders the content of an optional part, without the parentheses of a choice.
fn bare(ast: &Ast) -> String {
    match ast {
        Ast::Group(group) => render(&group.ast),
        other => render(other),
    }
}

/// Renders a repetition as a placeholder.
fn value(ast: &Ast) -> String {
    match ast {
        Ast::ClassPerl(class) if class.kind == regex_syntax::ast::ClassPerlKind::Digit => {
            "<number>".to_owned()
        }
        Ast::ClassBracketed(_) => "<text>".to_owned(),
        other => render(other),
    }
}

#[cfg(test)]
mod tests {
    use super::form;

    #[test]
    fn renders_values_choices_and_optional_parts() {
        for (pattern, expected) in [
            (r"^I update to (\d+\.\d+\.\S+)( by force)?$", "I update to <version>[ by force]"),
            (r"^I (pause|unpause) pool (\S+)$", "I (pause|unpause) pool <name>"),
            (
                r#"^(within \d+ \w+ )?alert "(\w+)" is( not)? (pending|firing)$"#,
                r#"[within <time> ]alert "<name>" is[ not] (pending|firing)"#,
            ),
            (
                r"^updates lead from (\S+) to (\S+(?:, \S+)*)$",
                "updates lead from <name> to <name>[, <name>]...",
            ),
            (r#"^the channel "([^"]*)" has (\d+) nodes?$"#, r#"the channel "<text>" has <number> node[s]"#),
            (r"^([A-Z]\w+(?:/\S+)?) exists$", "<name>[/<name>] exists"),
        ] {
            assert_eq!(form(pattern), expected);
        }
    }
}
