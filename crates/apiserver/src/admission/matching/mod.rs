//! Selects the writes that a webhook or policy applies to: rules, scope and selectors.

pub(in crate::admission) mod check;

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::resources;

use crate::admission::{Admitter, Attributes, Operation};
use crate::kinds::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::selector::LabelSelector;

/// The rules and selectors of a webhook or policy.
#[derive(Debug, Clone)]
pub(in crate::admission) struct Matching {
    rules: Vec<Rule>,
    /// Whether rules for another version of the kind match as well (`matchPolicy: Equivalent`).
    equivalent: bool,
    namespaces: LabelSelector,
    objects: LabelSelector,
}

/// `RuleWithOperations`; `*` matches everything.
#[derive(Debug, Clone)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: String,
}

impl Matching {
    pub(in crate::admission) fn read(webhook: &Value) -> Self {
        let rules = webhook["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            rules: rules.iter().map(Rule::read).collect(),
            equivalent: webhook["matchPolicy"] != "Exact",
            namespaces: LabelSelector::from_object(&webhook["namespaceSelector"]),
            objects: LabelSelector::from_object(&webhook["objectSelector"]),
        }
    }

    /// The version of the kind in which the webhook takes the write; `None` if the webhook does not apply.
    ///
    /// # Errors
    /// 404 if the namespace does not exist.
    pub(in crate::admission) fn choose(
        &self,
        admitter: &Admitter<'_>,
        kind: &Arc<Kind>,
        subresource: &str,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<Option<Arc<Kind>>> {
        let Some(chosen) = self.matching_kind(admitter, kind, subresource, attributes.operation) else {
            return Ok(None);
        };
        let labels = |object: Option<&Value>| {
            object.is_some_and(|object| self.objects.matches(&object["metadata"]["labels"]))
        };
        let selected = self.objects.is_everything() || labels(object) || labels(attributes.old);
        if !selected || !self.namespace_matches(admitter, kind, subresource, attributes, object)? {
            return Ok(None);
        }
        Ok(Some(chosen))
    }

    fn matching_kind(
        &self,
        admitter: &Admitter<'_>,
        kind: &Arc<Kind>,
        subresource: &str,
        operation: Operation,
    ) -> Option<Arc<Kind>> {
        let matches = |kind: &Kind| self.rules.iter().any(|rule| rule.matches(kind, subresource, operation));
        if matches(kind) {
            return Some(Arc::clone(kind));
        }
        let others = admitter.catalog.versions(&kind.resource.group, &kind.resource.plural);
        others.iter().filter(|_| self.equivalent).find(|other| matches(other)).cloned()
    }

    /// Whether the namespace selector matches. It always matches cluster-scoped objects. For a namespace it looks at the
    /// namespace's own labels.
    fn namespace_matches(
        &self,
        admitter: &Admitter<'_>,
        kind: &Kind,
        subresource: &str,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<bool> {
        if self.namespaces.is_everything() {
            return Ok(true);
        }
        let is_namespace = kind.table == admitter.namespaces;
        if !kind.resource.namespaced && !is_namespace {
            return Ok(true);
        }
        if let Some(object) = object.filter(|_| is_namespace && subresource.is_empty()) {
            return Ok(self.namespaces.matches(&object["metadata"]["labels"]));
        }
        let name = if is_namespace { attributes.name } else { attributes.namespace };
        let Some(found) = admitter.store.get(admitter.namespaces, "", name) else {
            return Err(BoxedRejection::not_found(&resources::NAMESPACES, name));
        };
        Ok(self.namespaces.matches(&found.served()["metadata"]["labels"]))
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let texts = |name: &str| -> Vec<String> {
            let list = rule[name].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            scope: rule["scope"].as_str().unwrap_or("*").to_owned(),
        }
    }

    fn matches(&self, kind: &Kind, subresource: &str, operation: Operation) -> bool {
        let resource = &kind.resource;
        // Namespaces count as cluster-scoped objects.
        let in_scope = match self.scope.as_str() {
            "Namespaced" => resource.namespaced,
            "Cluster" => !resource.namespaced,
            _ => true,
        };
        in_scope
            && has(&self.operations, operation.name())
            && has(&self.groups, &resource.group)
            && has(&self.versions, &resource.version)
            && self.resources.iter().any(|rule| covers(rule, &resource.plural, subresource))
    }
}

fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|item| item == "*" || item == name)
}

/// Whether a rule such as `pods`, `pods/*`, `*/status`, `*` (no subresource) or `*/*` covers a resource.
fn covers(rule: &str, plural: &str, subresource: &str) -> bool {
    let (resource, sub) = rule.split_once('/').unwrap_or((rule, ""));
    let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
    fits(resource, plural) && (rule == "*/*" || fits(sub, subresource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_covers_resources_and_subresources() {
        for (rule, plural, subresource, covered) in [
            ("pods", "pods", "", true),
            ("pods", "pods", "status", false),
            ("pods/*", "pods", "status", true),
            ("*/status", "pods", "status", true),
            ("*", "pods", "", true),
            ("*", "pods", "status", false),
            ("*/*", "pods", "", true),
            ("*/*", "nodes", "status", true),
            ("nodes", "pods", "", false),
        ] {
            assert_eq!(covers(rule, plural, subresource), covered, "{rule} {plural}/{subresource}");
        }
    }
}
