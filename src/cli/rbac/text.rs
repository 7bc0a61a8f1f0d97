//! The report as text.

use windtunnel_core::text::one_line;

use super::{RefusedRequest, Report, Rule, User};

/// Returns the report: a paragraph for each user.
pub(super) fn report(report: &Report) -> String {
    if report.users.is_empty() {
        return "no user except administrators has sent a request\n".to_owned();
    }
    report.users.iter().map(user).collect::<Vec<_>>().join("\n")
}

fn user(user: &User) -> String {
    let mut text = heading(user);
    if user.is_privileged {
        return text + "  may do everything, without a rule\n";
    }
    if user.rules.is_empty() {
        text += "  has no rules except those of every user\n";
    }
    let mut role = None;
    for rule in &user.rules {
        if role != Some((&rule.binding, &rule.role)) {
            text += &line(&format!("  {} by {}", rule.role, rule.binding));
            role = Some((&rule.binding, &rule.role));
        }
        text += &rule_lines(rule);
    }
    for request in &user.refused {
        let times = request.refused.map_or(String::new(), |count| format!(" {}", times(count)));
        text += &line(&format!("  refused{times}: {}", refused_text(request)));
    }
    if user.refused_more > 0 {
        text += &format!("  refused: {} others, which the record does not list\n", user.refused_more);
    }
    text
}

/// A line of the report: no name begins another one.
fn line(text: &str) -> String {
    one_line(text).into_owned() + "\n"
}

/// The first line of a user, with the numbers of its requests if they are known.
fn heading(user: &User) -> String {
    let Some(count) = user.requests else { return line(&user.name) };
    let refused: u64 = user.refused.iter().filter_map(|request| request.refused).sum();
    line(&format!("{}: {}, {refused} refused", user.name, requests(count)))
}

fn rule_lines(rule: &Rule) -> String {
    let number = rule.index + 1;
    let used = match rule.requests {
        _ if rule.used.is_empty() => "not used".to_owned(),
        Some(count) => format!("{}: {}", requests(count), rule.used.join(", ")),
        None => format!("used: {}", rule.used.join(", ")),
    };
    let unused = match &rule.unused[..] {
        [] => String::new(),
        unused => line(&format!("      unused: {}", unused.join(", "))),
    };
    line(&format!("    rule {number}, {used}")) + &unused
}

fn refused_text(request: &RefusedRequest) -> String {
    let RefusedRequest { verb, group, resource, subresource, namespace, name, path, .. } = request;
    if !path.is_empty() {
        return format!("{verb} {path}");
    }
    let part =
        |before: &str, text: &str| if text.is_empty() { String::new() } else { format!("{before}{text}") };
    let (subresource, group) = (part("/", subresource), part(".", group));
    let (name, namespace) = (part(" ", name), part(" in ", namespace));
    format!("{verb} {resource}{subresource}{group}{name}{namespace}")
}

fn requests(count: u64) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{count} requests") }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
