//! One rule of a role: which requests it allows, which other rules it covers, and its form in messages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::access::attributes::Attributes;
use crate::gotext::quote;

/// Matches every verb, group, resource or path.
const ALL: &str = "*";

/// `rbac.authorization.k8s.io/v1 PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Names of objects. Empty means all objects.
    pub(crate) names: Vec<String>,
    pub(crate) urls: Vec<String>,
}

impl Rule {
    /// Every verb on every resource. `cluster-admin` has this rule and [`Rule::all_urls`].
    pub(crate) fn all_resources() -> Self {
        let all = || vec![ALL.to_owned()];
        Self { verbs: all(), groups: all(), resources: all(), ..Self::default() }
    }

    /// Every verb on every non-resource path.
    pub(crate) fn all_urls() -> Self {
        Self { verbs: vec![ALL.to_owned()], urls: vec![ALL.to_owned()], ..Self::default() }
    }

    /// Reads the rules of a stored role.
    pub(crate) fn read_all(role: &Value) -> Vec<Self> {
        role["rules"].as_array().map(|rules| rules.iter().map(Self::read).collect()).unwrap_or_default()
    }

    fn read(value: &Value) -> Self {
        let list = |field: &str| {
            let items = value[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// The rule as JSON of the API, without empty lists. `verbs` is required and always present.
    pub(crate) fn as_json(&self) -> Value {
        let mut value = json!({ "verbs": self.verbs });
        for (field, list) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !list.is_empty() {
                value[field] = json!(list);
            }
        }
        value
    }

    /// Whether the rule allows a request (`rbac.RuleAllows`).
    pub(crate) fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, &asked.verb) {
            return false;
        }
        if let Some(path) = &asked.path {
            return self.urls.iter().any(|url| url == ALL || url_covers(url, path));
        }
        has_or_all(&self.groups, &asked.group)
            && self.resources.iter().any(|rule| resource_matches(rule, &asked.resource, &asked.subresource))
            && (self.names.is_empty() || has(&self.names, &asked.name))
    }

    /// Splits the rule into rules of one verb, one resource and one name each (`BreakdownRule`).
    pub(crate) fn parts(&self) -> Vec<Self> {
        let single = |text: &String| vec![text.clone()];
        let mut parts = Vec::new();
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let plain = Self {
                        verbs: single(verb),
                        groups: single(group),
                        resources: single(resource),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        parts.push(plain);
                    } else {
                        parts.extend(
                            self.names.iter().map(|name| Self { names: single(name), ..plain.clone() }),
                        );
                    }
                }
            }
        }
        for url in &self.urls {
            let verbs = self.verbs.iter();
            parts.extend(verbs.map(|verb| Self {
                verbs: single(verb),
                urls: single(url),
                ..Self::default()
            }));
        }
        parts
    }

    /// Whether this rule allows everything that `part`, a single permission, allows (`ruleCovers`).
    fn covers(&self, part: &Self) -> bool {
        let covers =
            |mine: &[String], theirs: &[String]| has(mine, ALL) || theirs.iter().all(|text| has(mine, text));
        let names = self.names.is_empty()
            || (!part.names.is_empty() && part.names.iter().all(|name| has(&self.names, name)));
        covers(&self.verbs, &part.verbs)
            && covers(&self.groups, &part.groups)
            && self.covers_resources(part)
            && names
            && part.urls.iter().all(|url| self.urls.iter().any(|mine| url_covers(mine, url)))
    }

    fn covers_resources(&self, part: &Self) -> bool {
        part.resources.iter().all(|resource| {
            let (_, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            has(&self.resources, ALL)
                || has(&self.resources, resource)
                || (!subresource.is_empty()
                    && self.resources.iter().any(|mine| mine.strip_prefix("*/") == Some(subresource)))
        })
    }

    /// The rule as error messages show it (`CompactString`).
    pub(crate) fn text(&self) -> String {
        let list = |name: &str, list: &[String]| {
            let quoted: Vec<String> = list.iter().map(|text| quote(text)).collect();
            (!list.is_empty()).then(|| format!("{name}:[{}]", quoted.join(" ")))
        };
        let parts: Vec<String> = [
            list("APIGroups", &self.groups),
            list("Resources", &self.resources),
            list("NonResourceURLs", &self.urls),
            list("ResourceNames", &self.names),
            list("Verbs", &self.verbs),
        ]
        .into_iter()
        .flatten()
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|item| item == text)
}

fn has_or_all(list: &[String], text: &str) -> bool {
    list.iter().any(|item| item == ALL || item == text)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == ALL {
        return true;
    }
    match rule.split_once('/') {
        None => subresource.is_empty() && rule == resource,
        Some((main, sub)) => {
            !subresource.is_empty() && sub == subresource && (main == ALL || main == resource)
        }
    }
}

/// Whether a rule's path, which may end in `*`, covers a path.
fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

/// The permissions in `wanted` that no rule in `granted` covers (`Covers`). Permissions on the same resource become
/// one rule (`CompactRules`).
pub(crate) fn missing<'a>(granted: &(impl Iterator<Item = &'a Rule> + Clone), wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(Rule::parts);
    let uncovered = parts.filter(|part| !granted.clone().any(|rule| rule.covers(part)));
    let mut compacted = Vec::new();
    let mut simple: BTreeMap<(Vec<String>, Vec<String>), Rule> = BTreeMap::new();
    for part in uncovered {
        if part.names.is_empty() && part.urls.is_empty() {
            let key = (part.groups.clone(), part.resources.clone());
            let rule = simple.entry(key).or_insert_with(|| Rule { verbs: Vec::new(), ..part.clone() });
            rule.verbs.extend(part.verbs);
        } else {
            compacted.push(part);
        }
    }
    compacted.extend(simple.into_values());
    compacted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `VERBS GROUPS RESOURCES [NAMES]` or `VERBS urls PATHS`, with comma-separated lists.
    fn rule(text: &str) -> Rule {
        let words: Vec<&str> = text.split(' ').collect();
        let list = |at: usize| {
            let word: &&str = words.get(at).unwrap_or(&"");
            word.split(',').filter(|item| !item.is_empty()).map(|item| item.replace("core", "")).collect()
        };
        if words[1] == "urls" {
            return Rule { verbs: list(0), urls: list(2), ..Rule::default() };
        }
        Rule { verbs: list(0), groups: list(1), resources: list(2), names: list(3), urls: Vec::new() }
    }

    #[test]
    fn rule_allows_its_verbs_groups_resources_and_names() {
        for (text, verb, group, resource, subresource, name, allowed) in [
            ("get core pods", "get", "", "pods", "", "a", true),
            ("get core pods", "list", "", "pods", "", "", false),
            ("get core pods", "get", "apps", "pods", "", "a", false),
            ("get core pods", "get", "", "pods", "log", "a", false),
            ("get core pods/log", "get", "", "pods", "log", "a", true),
            ("get core pods/log", "get", "", "pods", "", "a", false),
            ("get core */log", "get", "", "pods", "log", "a", true),
            ("get core */log", "get", "", "pods", "", "a", false),
            ("get core pods/*", "get", "", "pods", "log", "a", false),
            ("get core *", "get", "", "pods", "log", "a", true),
            ("* * *", "impersonate", "x.io", "things", "", "", true),
            ("get,list core pods a,b", "get", "", "pods", "", "b", true),
            ("get,list core pods a,b", "get", "", "pods", "", "c", false),
            ("get,list core pods a,b", "list", "", "pods", "", "", false),
        ] {
            let asked = Attributes {
                verb: verb.into(),
                group: group.into(),
                resource: resource.into(),
                subresource: subresource.into(),
                name: name.into(),
                ..Attributes::default()
            };
            assert_eq!(rule(text).allows(&asked), allowed, "{text}: {verb} {resource}/{subresource} {name}");
        }
    }

    #[test]
    fn url_rule_matches_exact_path_or_trailing_star() {
        for (text, path, allowed) in [
            ("get urls /metrics", "/metrics", true),
            ("get urls /metrics", "/metricsx", false),
            ("get urls /logs/*", "/logs/a/b", true),
            ("get urls /logs/*", "/logs", false),
            ("get urls *", "/anything", true),
            ("post urls *", "/anything", false),
            ("get core pods", "/pods", false),
        ] {
            let asked = Attributes { verb: "get".into(), path: Some(path.into()), ..Attributes::default() };
            assert_eq!(rule(text).allows(&asked), allowed, "{text}: {path}");
        }
    }

    #[test]
    fn missing_groups_permissions_by_resource() {
        let texts = |granted: &[&str], wanted: &[&str]| -> Vec<String> {
            let granted: Vec<Rule> = granted.iter().map(|text| rule(text)).collect();
            let wanted: Vec<Rule> = wanted.iter().map(|text| rule(text)).collect();
            missing(&granted.iter(), &wanted).iter().map(Rule::text).collect()
        };
        assert!(texts(&["* * *"], &["get core pods", "get apps deployments/scale a"]).is_empty());
        assert!(texts(&["get core */scale"], &["get core pods/scale"]).is_empty());
        assert!(texts(&["get urls /a/*"], &["get urls /a/b"]).is_empty());
        assert_eq!(
            texts(&["get core pods a"], &["get core pods", "get core pods a,b", "get,list core secrets"]),
            [
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
            ]
        );
        assert_eq!(texts(&["* * *"], &["* urls *"]), [r#"{NonResourceURLs:["*"], Verbs:["*"]}"#]);
    }
}
