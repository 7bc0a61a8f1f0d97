//! The files of a must-gather: objects, logs and alerts at the paths where `oc adm must-gather` puts them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::Key;
use windtunnel_core::log::LogLine;
use windtunnel_core::resources::{NAMESPACES, PODS};
use windtunnel_core::yaml::{self, YamlError};

use super::Source;
use super::layout::PROMETHEUS;
use super::place::{CLUSTER, NAMESPACED};

/// Returns the files of objects: one per cluster-scoped object, namespace and custom resource; one list per namespace
/// for each built-in kind. Pods have a file of their own as well, beside their logs.
///
/// # Errors
/// An object cannot be represented in YAML.
pub fn object_files(objects: impl Iterator<Item = (Key, Value)>) -> Result<Vec<Source>, YamlError> {
    let mut files = Vec::new();
    let mut lists: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (key, object) in objects {
        let Key { namespace, name, plural, .. } = &key;
        let group = if key.group.is_empty() { "core" } else { &key.group };
        if key.is_kind(&NAMESPACES) {
            files.push(file(format!("{NAMESPACED}/{name}/{name}.yaml"), &object)?);
        } else if namespace.is_empty() {
            files.push(file(format!("{CLUSTER}/{group}/{plural}/{name}.yaml"), &object)?);
        } else if is_listed(&key.group) {
            if key.is_kind(&PODS) {
                files.push(file(format!("{NAMESPACED}/{namespace}/pods/{name}/{name}.yaml"), &object)?);
            }
            lists.entry(format!("{NAMESPACED}/{namespace}/{group}/{plural}.yaml")).or_default().push(object);
        } else {
            files.push(file(format!("{NAMESPACED}/{namespace}/{group}/{plural}/{name}.yaml"), &object)?);
        }
    }
    for (path, items) in lists {
        files.push(file(path, &list(&items))?);
    }
    Ok(files)
}

/// Whether `oc adm inspect` writes the objects of a group as one list per namespace: those of Kubernetes' own groups
/// and of OpenShift's aggregated ones.
fn is_listed(group: &str) -> bool {
    let aggregated = ["apps.openshift.io", "build.openshift.io", "image.openshift.io", "route.openshift.io"];
    !group.contains('.') || group.ends_with(".k8s.io") || aggregated.contains(&group)
}

fn list(items: &[Value]) -> Value {
    let first = &items[0];
    let kind = format!("{}List", first["kind"].as_str().unwrap_or_default());
    json!({ "apiVersion": first["apiVersion"], "kind": kind, "items": items })
}

fn file(path: String, object: &Value) -> Result<Source, YamlError> {
    Ok(Source { path, text: format!("---\n{}", yaml::to_string(object)?) })
}

/// Returns the file of a log, by namespace, pod and container. Each line has its time, as in a real must-gather.
/// `instance` is `current` or `previous`.
pub fn log_file([namespace, pod, container]: [&str; 3], instance: &str, lines: &[LogLine]) -> Source {
    let path = format!("{NAMESPACED}/{namespace}/pods/{pod}/{container}/{container}/logs/{instance}.log");
    let text =
        lines.iter().fold(String::new(), |text, line| text + &format!("{:.9} {}\n", line.at, line.text));
    Source { path, text }
}

/// Returns the file of Prometheus' answer about alerts.
pub fn alerts_file(answer: &Value) -> Source {
    Source { path: PROMETHEUS[0].to_owned(), text: answer.to_string() }
}
