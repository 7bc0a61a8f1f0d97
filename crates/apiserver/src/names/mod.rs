//! Rules for names of objects and ports, with the messages of `k8s.io/apimachinery/pkg/util/validation`.

pub(crate) mod labels;
pub(crate) mod selector;

use std::borrow::Cow;
use std::net::IpAddr;

use crate::profile::{Profile, since};

/// The rule for the names of a kind's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// DNS-1123 subdomain.
    Subdomain,
    /// DNS-1123 label.
    Label,
    /// Any valid segment of a URL path.
    PathSegment,
    /// DNS-1123 label (`RelaxedServiceNameValidation`).
    Service,
    /// DNS-1035 label, for services before `RelaxedServiceNameValidation`.
    StrictService,
    /// DNS-1123 label, or a subdomain in early minors.
    StatefulSet,
    /// DNS-1123 subdomain, without a rule for prefixes of generated names (`ValidateObjectMetaWithOpts`).
    GeneratedSubdomain,
    /// The canonical form of an IP address.
    Address,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

impl NameRule {
    /// The problems of a name.
    pub(crate) fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain | Self::GeneratedSubdomain => subdomain(name),
            Self::Label | Self::Service | Self::StatefulSet => label(name),
            Self::StrictService => dns1035_label(name),
            Self::PathSegment => path_segment(name),
            Self::Address => address(name),
        }
    }

    /// The problems of a prefix of generated names, which may end with a dash.
    pub(crate) fn check_prefix(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment | Self::GeneratedSubdomain => path_segment_prefix(prefix),
            Self::Address => address(prefix),
            _ => self.check(&masked(prefix)),
        }
    }

    /// The rule of the same kind in that Kubernetes minor.
    pub(crate) fn of_minor(self, profile: &Profile) -> Self {
        match self {
            Self::Service if !profile.relaxed_service_names => Self::StrictService,
            Self::StatefulSet if profile.minor < since::LABELS_OF_STATEFUL_SETS => Self::Subdomain,
            rule => rule,
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().all(|b| inner(b) || b == b'-')
        && text.bytes().next().is_some_and(inner)
        && text.bytes().last().is_some_and(inner)
}

/// The problems of a DNS-1123 subdomain.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_label) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// The problems of a DNS-1123 label.
pub(crate) fn label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        let dotted = name.contains('.') && name.split('.').all(is_label);
        problems.push(if dotted { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    problems
}

/// The problems of a DNS-1035 label.
pub(crate) fn dns1035_label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) || name.bytes().next().is_some_and(|b| b.is_ascii_digit()) {
        problems.push(LABEL_1035.to_owned());
    }
    problems
}

/// A prefix of which the last letter and a dash after it are replaced with a letter (`maskTrailingDash`).
fn masked(prefix: &str) -> Cow<'_, str> {
    match prefix.strip_suffix('-').and_then(|rest| rest.char_indices().next_back()) {
        Some((last, _)) => Cow::Owned(format!("{}a", &prefix[..last])),
        None => Cow::Borrowed(prefix),
    }
}

/// The problems of an IP address (`IsValidIP`).
fn address(text: &str) -> Vec<String> {
    match text.parse::<IpAddr>() {
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            vec!["must not be an IPv4-mapped IPv6 address".to_owned()]
        }
        Ok(ip) if ip.to_string() != text => vec![format!("must be in canonical form ({:?})", ip.to_string())],
        Ok(_) => Vec::new(),
    }
}

/// The problems of a segment of a URL path.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    path_segment_prefix(name)
}

fn path_segment_prefix(name: &str) -> Vec<String> {
    ["/", "%"].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// The problems of the name of a port (`IsValidPortName`).
pub(crate) fn port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    let is_known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || !name.bytes().all(is_known) {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        for (rule, name, problems) in [
            (NameRule::Subdomain, "a.b-1", ""),
            (NameRule::Subdomain, "Bad_Name", SUBDOMAIN),
            (NameRule::Label, "a.b", "must not contain dots"),
            (NameRule::PathSegment, "we:ird", ""),
            (NameRule::PathSegment, "a/b", "may not contain '/'"),
            (NameRule::Address, "2001:db8::1", ""),
            (NameRule::Address, "2001:DB8::1", "must be in canonical form (\"2001:db8::1\")"),
            (NameRule::StatefulSet, "a.b", "must not contain dots"),
        ] {
            assert_eq!(rule.check(name).join("; "), problems, "{name}");
        }
    }

    #[test]
    fn prefixes_of_generated_names_may_end_with_a_dash() {
        for (rule, prefix, problems) in [
            (NameRule::Subdomain, "web-", ""),
            (NameRule::Subdomain, "-", SUBDOMAIN),
            (NameRule::Subdomain, "Web-", SUBDOMAIN),
            (NameRule::Label, "a.b-", "must not contain dots"),
            (NameRule::PathSegment, "..", ""),
            (NameRule::GeneratedSubdomain, "Web-", ""),
        ] {
            assert_eq!(rule.check_prefix(prefix).join("; "), problems, "{prefix}");
        }
    }

    #[test]
    fn names_of_stateful_sets_are_labels_from_1_27() {
        let rule = |minor| NameRule::StatefulSet.of_minor(&Profile::of(minor, false));
        assert_eq!((rule(26), rule(27)), (NameRule::Subdomain, NameRule::StatefulSet));
    }
}
