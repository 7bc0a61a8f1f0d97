//! Templates of pods within objects of other kinds.

use serde_json::Value;

use super::pod;
use crate::kinds::Kind;

/// The kinds with templates, and the paths of the templates.
const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("", "podtemplates", &["template"]),
    ("", "replicationcontrollers", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("batch", "cronjobs", &["spec", "jobTemplate", "spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
];

/// The path of the template in objects of a kind.
pub(in crate::kinds) fn template_path(kind: &Kind) -> Option<&'static [&'static str]> {
    let row = TEMPLATES.iter().find(|(group, plural, _)| kind.is_resource(group, plural));
    row.map(|(_, _, path)| *path)
}

/// Removes fields of a template that need gates which are off by default (`DropDisabledTemplateFields`).
pub(super) fn drop_disabled(kind: &Kind, object: &mut Value, old: Option<&Value>) {
    let Some(path) = template_path(kind) else { return };
    let before = old.map(|old| path.iter().fold(old, |value, field| &value[*field]));
    let template = path.iter().try_fold(object, |value, field| value.get_mut(*field));
    if let Some(template) = template {
        pod::drop_disabled(template, before);
    }
}
