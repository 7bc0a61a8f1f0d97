//! Places of the templates of pods.

use windtunnel_core::Resource;

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
pub(crate) fn template_path(kind: &Resource) -> Option<&'static [&'static str]> {
    let row = TEMPLATES.iter().find(|(group, plural, _)| kind.group == *group && kind.plural == *plural);
    row.map(|(_, _, path)| *path)
}
