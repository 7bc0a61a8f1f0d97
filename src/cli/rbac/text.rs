//! The report as text.

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
            text += &format!("  {} by {}\n", rule.role, rule.binding);
            role = Some((&rule.binding, &rule.role));
        }
        text += &rule_lines(rule);
    }
    for request in &user.refused {
        let times = request.refused.map_or(String::new(), |count| format!(" {}", times(count)));
        text += &format!("  refused{times}: {}\n", refused_text(request));
    }
    if user.refused_more > 0 {
        text += &format!("  refused: {} others, which the record does not list\n", user.refused_more);
    }
    text
}

/// The first line of a user, with the numbers of its requests if they are known.
fn heading(user: &User) -> String {
    let Some(count) = user.requests else { return format!("{}\n", user.name) };
    let refused: u64 = user.refused.iter().filter_map(|request| request.refused).sum();
    format!("{}: {}, {refused} refused\n", user.name, requests(count))
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
        unused => format!("      unused: {}\n", unused.join(", ")),
    };
    format!("    rule {number}, {used}\n{unused}")
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
