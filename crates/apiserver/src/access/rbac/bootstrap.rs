//! The roles and bindings that a kube-apiserver creates at its start (`bootstrappolicy`), from `bootstrap.txt`.

use std::sync::OnceLock;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::{Resource, name_of, resources};

use crate::access::Access;
use crate::access::rbac::aggregation::{self, Part};
use crate::access::rbac::policy::Tables;
use crate::access::rbac::rule::Rule;
use crate::store::{FieldOwners, Store, TableId};

const GROUP: &str = "rbac.authorization.k8s.io";

/// An object to create.
#[derive(Debug)]
struct Template {
    resource: Resource,
    object: Value,
}

const TEXT: &str = include_str!("bootstrap.txt");
/// More than the number of any minor.
const MINORS: usize = 64;

/// The objects of a minor, parsed once per process.
fn templates(minor: u32) -> &'static [Template] {
    static TEMPLATES: [OnceLock<Vec<Template>>; MINORS] = [const { OnceLock::new() }; MINORS];
    let index = usize::try_from(minor).unwrap_or(MINORS).min(MINORS - 1);
    TEMPLATES[index].get_or_init(|| parse(TEXT, minor))
}

impl Access {
    /// Creates the default roles and bindings that do not exist.
    pub(crate) fn create_defaults(
        &self,
        store: &mut Store,
        minor: u32,
        mut uid: impl FnMut() -> String,
        now: Time,
    ) {
        let created = json!(rfc3339(now));
        let tables = self.policy.tables();
        for template in templates(minor) {
            let key = template.resource.key_of(&template.object);
            let table = table(tables, &template.resource);
            // A restarted server already has them.
            if store.get(table, &key.namespace, &key.name).is_none() {
                let mut object = template.object.clone();
                object["metadata"]["uid"] = json!(uid());
                object["metadata"]["creationTimestamp"] = created.clone();
                store.put(table, &key, 0, object, FieldOwners::default());
            }
        }
    }
}

fn table(tables: Tables, resource: &Resource) -> TableId {
    match &*resource.plural {
        "roles" => tables.roles,
        "rolebindings" => tables.bindings,
        "clusterroles" => tables.cluster_roles,
        _ => tables.cluster_bindings,
    }
}

fn parse(text: &str, minor: u32) -> Vec<Template> {
    let mut templates: Vec<Template> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some(words) = words(line, minor) else { continue };
        match words.as_slice() {
            [..] if line.starts_with(' ') => {
                if let Some(template) = templates.iter_mut().rev().find(|template| has_rules(template)) {
                    add_rule(&mut template.object, &words);
                }
            }
            ["cluster-role", name, labels @ ..] => {
                templates.push(role(resources::CLUSTER_ROLES, "", name, labels));
            }
            ["role", namespace, name] => templates.push(role(resources::ROLES, namespace, name, &[])),
            ["controller", name] => {
                let role_name = format!("system:controller:{name}");
                let account = format!("account:kube-system/{name}");
                let bound =
                    binding(resources::CLUSTER_ROLE_BINDINGS, "", &role_name, &role_name, &[&account]);
                templates.push(bound);
                templates.push(role(resources::CLUSTER_ROLES, "", &role_name, &[]));
            }
            ["cluster-binding", name, subjects @ ..] => {
                templates.push(binding(resources::CLUSTER_ROLE_BINDINGS, "", name, name, subjects));
            }
            ["binding", namespace, name, role, subjects @ ..] => {
                templates.push(binding(resources::ROLE_BINDINGS, namespace, name, role, subjects));
            }
            _ => {}
        }
    }
    aggregate(&mut templates);
    templates
}

/// The words of a line; `None` if another minor has it.
fn words(line: &str, minor: u32) -> Option<Vec<&str>> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let last = words.last().copied().unwrap_or_default();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let (since, until) = (number(last.strip_prefix("since:")), number(last.strip_prefix("until:")));
    if since.or(until).is_some() {
        words.pop();
    }
    let is_present = since.is_none_or(|since| since <= minor) && until.is_none_or(|until| minor <= until);
    is_present.then_some(words)
}

fn has_rules(template: &Template) -> bool {
    matches!(&*template.resource.plural, "roles" | "clusterroles")
}

fn object(resource: &Resource, namespace: &str, name: &str) -> Value {
    let mut object = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind,
        "metadata": {
            "name": name,
            "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
        },
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn role(resource: Resource, namespace: &str, name: &str, labels: &[&str]) -> Template {
    let mut object = object(&resource, namespace, name);
    for label in labels {
        object["metadata"]["labels"][format!("{GROUP}/{label}")] = json!("true");
    }
    object["rules"] = json!([]);
    Template { resource, object }
}

fn binding(resource: Resource, namespace: &str, name: &str, role: &str, subjects: &[&str]) -> Template {
    let mut object = object(&resource, namespace, name);
    let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
    object["roleRef"] = json!({ "apiGroup": GROUP, "kind": kind, "name": role });
    if !subjects.is_empty() {
        object["subjects"] = subjects.iter().map(|text| subject(text)).collect();
    }
    Template { resource, object }
}

fn subject(text: &str) -> Value {
    match text.split_once(':') {
        Some(("account", account)) => {
            let (namespace, name) = account.split_once('/').unwrap_or_default();
            json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name })
        }
        Some(("user", name)) => json!({ "kind": "User", "apiGroup": GROUP, "name": name }),
        Some((_, name)) => json!({ "kind": "Group", "apiGroup": GROUP, "name": name }),
        None => Value::Null,
    }
}

fn add_rule(role: &mut Value, words: &[&str]) {
    let rule = match words {
        ["aggregate", label] => {
            let selector = json!({ "matchLabels": { format!("{GROUP}/{label}"): "true" } });
            role["aggregationRule"] = json!({ "clusterRoleSelectors": [selector] });
            return;
        }
        ["events"] => Rule {
            verbs: list("create,patch,update"),
            groups: list("core,events.k8s.io"),
            resources: list("events"),
            ..Rule::default()
        },
        [verbs, "urls", urls] => Rule { verbs: list(verbs), urls: list(urls), ..Rule::default() },
        [verbs, resources, groups, names @ ..] => Rule {
            verbs: list(verbs),
            groups: list(groups),
            resources: list(resources),
            names: names.iter().flat_map(|names| list(names)).collect(),
            urls: Vec::new(),
        },
        _ => return,
    };
    if let Value::Array(rules) = &mut role["rules"] {
        rules.push(rule.as_json());
    }
}

/// The items of a list without duplicates, sorted like those of the server's rule builder.
fn list(text: &str) -> Vec<String> {
    let words = text.split(',').flat_map(|word| match word {
        "core" => vec![""],
        "read" => vec!["get", "list", "watch"],
        "write" => vec!["create", "update", "patch", "delete", "deletecollection"],
        word => vec![word],
    });
    let mut items: Vec<String> = words.map(str::to_owned).collect();
    items.sort();
    items.dedup();
    items
}

/// Fills in the rules of aggregated roles. Three rounds are enough for the chain `view`, `edit`, `admin`.
fn aggregate(templates: &mut [Template]) {
    for _ in 0..3 {
        let roles = templates.iter().filter(|template| template.resource.plural == "clusterroles");
        let mut roles: Vec<(String, Value, Vec<Rule>)> = roles
            .map(|template| {
                let metadata = &template.object["metadata"];
                let name = metadata["name"].as_str().unwrap_or_default().to_owned();
                (name, metadata["labels"].clone(), Rule::read_all(&template.object))
            })
            .collect();
        roles.sort_by(|one, other| one.0.cmp(&other.0));
        let parts = roles.iter().map(|(name, labels, rules)| Part { name, labels, rules });
        for template in templates.iter_mut() {
            let Some(selectors) = aggregation::selectors(&template.object) else { continue };
            let name = name_of(&template.object);
            let rules = aggregation::rules(name, &selectors, &parts);
            template.object["rules"] = rules.iter().map(Rule::as_json).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest minor.
    const NEWEST: u32 = 36;

    #[test]
    fn parser_reads_every_line() {
        let lines: Vec<&str> = TEXT.lines().filter(|line| words(line, NEWEST).is_some()).collect();
        let lines = |prefix: &str| lines.iter().filter(|line| line.starts_with(prefix)).count();
        let all = templates(NEWEST);
        let count = |plural: &str| all.iter().filter(|template| template.resource.plural == plural).count();
        assert_eq!(count("clusterroles"), lines("cluster-role ") + lines("controller "));
        assert_eq!(count("clusterrolebindings"), lines("cluster-binding ") + lines("controller "));
        assert_eq!(count("roles"), lines("role "));
        assert_eq!(count("rolebindings"), lines("binding "));
        let rules = all.iter().filter(|template| template.object["aggregationRule"].is_null());
        let rules: usize = rules.map(|template| Rule::read_all(&template.object).len()).sum();
        assert_eq!(rules, lines("  ") - lines("  aggregate "));
        for template in all {
            let empty = Rule::read_all(&template.object)
                .iter()
                .any(|rule| rule.verbs.is_empty() || (rule.resources.is_empty() && rule.urls.is_empty()));
            assert!(!empty, "{}", template.object);
            let subjects = template.object["subjects"].as_array().into_iter().flatten();
            assert!(subjects.into_iter().all(|subject| subject["name"] != ""), "{}", template.object);
        }
    }

    #[test]
    fn roles_depend_on_the_minor() {
        let has = |minor: u32, name: &str| {
            templates(minor).iter().any(|template| template.object["metadata"]["name"] == name)
        };
        let name = "system:controller:device-taint-eviction-controller";
        assert!(has(36, name) && !has(35, name));
        assert!(templates(23).iter().all(|template| !template.object.to_string().contains("since:")));
    }

    #[test]
    fn admin_includes_rules_of_edit_and_view() {
        let rules = |name: &str| {
            let role = templates(NEWEST).iter().find(|template| {
                template.resource.plural == "clusterroles" && template.object["metadata"]["name"] == name
            });
            Rule::read_all(&role.unwrap().object)
        };
        let admin = rules("admin");
        for other in ["edit", "view", "system:aggregate-to-admin", "system:aggregate-to-view"] {
            assert!(rules(other).iter().all(|rule| admin.contains(rule)), "{other}");
        }
        assert!(rules("view").len() > 5 && rules("edit").len() > rules("view").len());
    }
}
