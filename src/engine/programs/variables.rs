//! The variables of a container, as kubelets make them (`env` and `envFrom`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use windtunnel_core::resources::{CONFIG_MAPS, SECRETS};
use windtunnel_core::{Object, Resource, View};

/// The variables of a container with this spec. A variable whose source does not exist is left out.
pub(super) fn of_container(view: &View, pod: &Object, spec: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for source in spec["envFrom"].as_array().into_iter().flatten() {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (resource, field) in [(CONFIG_MAPS, "configMapRef"), (SECRETS, "secretRef")] {
            let Some(name) = source[field]["name"].as_str() else { continue };
            let entries = entries(view, &resource, pod.namespace(), name);
            all.extend(entries.into_iter().map(|(key, value)| (format!("{prefix}{key}"), text(&value))));
        }
    }
    for variable in spec["env"].as_array().into_iter().flatten() {
        let Some(name) = variable["name"].as_str() else { continue };
        let value = match &variable["valueFrom"] {
            Value::Null => Some(expanded(variable["value"].as_str().unwrap_or_default(), &all)),
            source => from_source(view, pod, source),
        };
        all.extend(value.map(|value| (name.to_owned(), value)));
    }
    all
}

fn from_source(view: &View, pod: &Object, source: &Value) -> Option<String> {
    if let Some(path) = source["fieldRef"]["fieldPath"].as_str() {
        return field(pod, path);
    }
    let references = [(CONFIG_MAPS, &source["configMapKeyRef"]), (SECRETS, &source["secretKeyRef"])];
    references.into_iter().find_map(|(resource, reference)| {
        let (name, key) = (reference["name"].as_str()?, reference["key"].as_str()?);
        entries(view, &resource, pod.namespace(), name).remove(key).map(|value| text(&value))
    })
}

/// A field of a pod, as in `fieldRef`: `metadata.labels['name']`, or a path such as `spec.nodeName`.
pub(super) fn field(pod: &Object, path: &str) -> Option<String> {
    let entry = path.strip_suffix("']").and_then(|path| path.split_once("['"));
    let value = match entry {
        Some((map, key)) => pod.pointer(&format!("/{}", map.replace('.', "/")))?.get(key)?,
        None => pod.pointer(&format!("/{}", path.replace('.', "/")))?,
    };
    match value {
        Value::String(text) => Some(text.clone()),
        // As in the files of the downward API.
        Value::Object(map) => {
            let lines = map.iter().map(|(key, value)| format!("{key}={value}"));
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The entries of a ConfigMap or Secret; none if it does not exist.
pub(super) fn entries(
    view: &View,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> BTreeMap<String, Vec<u8>> {
    let Some(object) = view.get(resource, namespace, name) else { return BTreeMap::new() };
    let map = |field: &str| object[field].as_object().into_iter().flatten();
    let decoded =
        |(key, value): (&String, &Value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?));
    if *resource == SECRETS {
        return map("data").filter_map(decoded).collect();
    }
    let plain = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.as_bytes().to_vec()));
    map("data").filter_map(plain).chain(map("binaryData").filter_map(decoded)).collect()
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Replaces `$(NAME)` by the variable of that name, if there is one; `$$` means `$`.
pub(super) fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result += before;
        let reference = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        rest = match (after.strip_prefix('$'), reference) {
            (Some(after), _) => {
                result.push('$');
                after
            }
            (None, Some((name, after))) if variables.contains_key(name) => {
                result += &variables[name];
                after
            }
            _ => {
                result.push('$');
                after
            }
        };
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::{Change, ChangeKind};

    use super::*;

    fn view() -> View {
        let mut view = View::default();
        let objects = [
            (CONFIG_MAPS, json!({ "metadata": { "namespace": "ns", "name": "c" }, "data": { "a": "1" } })),
            (SECRETS, json!({ "metadata": { "namespace": "ns", "name": "s" }, "data": { "p": "c2VjcmV0" } })),
        ];
        for (resource, object) in objects {
            let object = Object::new(object);
            let key = resource.key("ns", object.name());
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }

    #[test]
    fn variables_come_from_values_fields_and_objects() {
        let pod = Object::new(json!({
            "metadata": { "namespace": "ns", "name": "p", "labels": { "app.kubernetes.io/name": "web" } },
            "spec": { "nodeName": "node-a" },
        }));
        let spec = json!({
            "envFrom": [{ "prefix": "C_", "configMapRef": { "name": "c" } }, { "secretRef": { "name": "none" } }],
            "env": [
                { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
                { "name": "APP", "valueFrom": { "fieldRef": { "fieldPath": "metadata.labels['app.kubernetes.io/name']" } } },
                { "name": "PASSWORD", "valueFrom": { "secretKeyRef": { "name": "s", "key": "p" } } },
                { "name": "NONE", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "b" } } },
                { "name": "ALL", "value": "$(NODE)-$(C_a) $(UNKNOWN) $$(NODE)" },
            ],
        });
        let variables = of_container(&view(), &pod, &spec);
        let expected = [
            ("ALL", "node-a-1 $(UNKNOWN) $(NODE)"),
            ("APP", "web"),
            ("C_a", "1"),
            ("NODE", "node-a"),
            ("PASSWORD", "secret"),
        ];
        let found: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }
}
