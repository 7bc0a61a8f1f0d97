//! Converts objects of versions that newer API servers removed to the version that replaced them.

use serde_json::{Map, Value, json};

/// Kinds whose fields are the same in the version that replaced the removed ones: group, removed versions, kinds, and the new
/// group and version.
const SAME: &[(&str, &[&str], &[&str], &str)] = &[
    ("admissionregistration.k8s.io", &["v1alpha1", "v1beta1"], &[], "admissionregistration.k8s.io/v1"),
    ("apiregistration.k8s.io", &["v1beta1"], &[], "apiregistration.k8s.io/v1"),
    ("apps", &["v1beta1", "v1beta2"], &[], "apps/v1"),
    ("autoscaling", &["v2beta2"], &[], "autoscaling/v2"),
    ("batch", &["v1beta1"], &[], "batch/v1"),
    ("certificates.k8s.io", &["v1beta1"], &[], "certificates.k8s.io/v1"),
    ("coordination.k8s.io", &["v1beta1"], &[], "coordination.k8s.io/v1"),
    ("extensions", &["v1beta1"], &["DaemonSet", "Deployment", "ReplicaSet"], "apps/v1"),
    ("extensions", &["v1beta1"], &["NetworkPolicy"], "networking.k8s.io/v1"),
    (
        "flowcontrol.apiserver.k8s.io",
        &["v1alpha1", "v1beta1", "v1beta2", "v1beta3"],
        &[],
        "flowcontrol.apiserver.k8s.io/v1",
    ),
    ("networking.k8s.io", &["v1beta1"], &["IngressClass"], "networking.k8s.io/v1"),
    ("node.k8s.io", &["v1beta1"], &[], "node.k8s.io/v1"),
    ("policy", &["v1beta1"], &["PodDisruptionBudget"], "policy/v1"),
    ("rbac.authorization.k8s.io", &["v1alpha1", "v1beta1"], &[], "rbac.authorization.k8s.io/v1"),
    ("scheduling.k8s.io", &["v1alpha1", "v1beta1"], &[], "scheduling.k8s.io/v1"),
    ("storage.k8s.io", &["v1alpha1", "v1beta1"], &[], "storage.k8s.io/v1"),
    ("discovery.k8s.io", &["v1beta1"], &["EndpointSlice"], "discovery.k8s.io/v1"),
    ("apiextensions.k8s.io", &["v1beta1"], &["CustomResourceDefinition"], "apiextensions.k8s.io/v1"),
    ("extensions", &["v1beta1"], &["Ingress"], "networking.k8s.io/v1"),
    ("networking.k8s.io", &["v1beta1"], &["Ingress"], "networking.k8s.io/v1"),
];

/// Returns an object in each version that replaced its removed version, the newest one first. It is empty if its version was not
/// removed, or has no replacement.
pub fn conversions(object: &Value) -> Vec<Value> {
    let Some(replacement) = replacement(object) else { return Vec::new() };
    let newest = converted(object, replacement);
    let previews: &[&str] = if replacement.starts_with(FLOW_CONTROL) { &["v1beta3", "v1beta2"] } else { &[] };
    let mut all = vec![newest];
    for version in previews {
        let mut earlier = converted(object, &format!("{FLOW_CONTROL}/{version}"));
        if *version == "v1beta2"
            && let Some(limited) = earlier.pointer_mut("/spec/limited")
        {
            rename(limited, "nominalConcurrencyShares", "assuredConcurrencyShares");
        }
        all.push(earlier);
    }
    all.retain(|one| one["apiVersion"] != object["apiVersion"]);
    all
}

/// The group whose `v1` is younger than the oldest API server here.
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

/// Returns the group and version that replaced the one of an object.
fn replacement(object: &Value) -> Option<&'static str> {
    let (group, version) = object["apiVersion"].as_str()?.rsplit_once('/')?;
    let kind = object["kind"].as_str()?;
    let is_it = |(of, versions, kinds, _): &&(&str, &[&str], &[&str], &str)| {
        *of == group && versions.contains(&version) && (kinds.is_empty() || kinds.contains(&kind))
    };
    SAME.iter().find(is_it).map(|(_, _, _, replacement)| *replacement)
}

fn converted(object: &Value, replacement: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(replacement);
    match object["kind"].as_str().unwrap_or_default() {
        "CustomResourceDefinition" => definition(&mut object),
        "EndpointSlice" => endpoint_slice(&mut object),
        "Ingress" => ingress(&mut object),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => webhooks(&mut object),
        "PodDisruptionBudget" => budget(&mut object),
        "PriorityLevelConfiguration" => priority_level(&mut object),
        _ => {}
    }
    object
}

/// Renames a field.
fn rename(value: &mut Value, from: &str, to: &str) {
    if let Some(fields) = value.as_object_mut()
        && let Some(value) = fields.remove(from)
    {
        fields.entry(to).or_insert(value);
    }
}

/// Returns the items of a list; none if there is no such list.
fn items<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

/// In `v1beta1` an empty selector selected no pod; in `v1` it selects all.
fn budget(object: &mut Value) {
    let selector = object.pointer_mut("/spec/selector");
    if let Some(selector) = selector.filter(|selector| selector.as_object().is_some_and(Map::is_empty)) {
        let key = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
        *selector = json!({ "matchExpressions": [{ "key": key, "operator": "Exists" }] });
    }
}

fn priority_level(object: &mut Value) {
    if let Some(limited) = object.pointer_mut("/spec/limited") {
        rename(limited, "assuredConcurrencyShares", "nominalConcurrencyShares");
    }
}

/// Adds the fields that `v1` requires.
fn webhooks(object: &mut Value) {
    for webhook in items(object, "/webhooks") {
        let Some(fields) = webhook.as_object_mut() else { continue };
        fields.entry("admissionReviewVersions").or_insert_with(|| json!(["v1beta1"]));
        fields.entry("sideEffects").or_insert_with(|| json!("Unknown"));
        // The defaults of `v1beta1`.
        fields.entry("failurePolicy").or_insert_with(|| json!("Ignore"));
        fields.entry("matchPolicy").or_insert_with(|| json!("Exact"));
        fields.entry("timeoutSeconds").or_insert_with(|| json!(30));
    }
}

fn endpoint_slice(object: &mut Value) {
    for endpoint in items(object, "/endpoints") {
        let topology = endpoint["topology"].clone();
        if !topology.is_object() {
            if let Some(fields) = endpoint.as_object_mut() {
                fields.remove("topology");
            }
            continue;
        }
        rename(endpoint, "topology", "deprecatedTopology");
        for (label, field) in
            [("kubernetes.io/hostname", "nodeName"), ("topology.kubernetes.io/zone", "zone")]
        {
            if let Some(fields) = endpoint.as_object_mut()
                && let Some(value) = topology.get(label)
            {
                fields.entry(field).or_insert_with(|| value.clone());
            }
        }
    }
}

fn ingress(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        rename(spec, "backend", "defaultBackend");
        spec.get_mut("defaultBackend").into_iter().for_each(backend);
    }
    for rule in items(object, "/spec/rules") {
        for path in items(rule, "/http/paths") {
            if let Some(fields) = path.as_object_mut() {
                fields.entry("pathType").or_insert_with(|| json!("ImplementationSpecific"));
            }
            path.get_mut("backend").into_iter().for_each(backend);
        }
    }
}

fn backend(backend: &mut Value) {
    let Some(fields) = backend.as_object_mut() else { return };
    let (Some(name), port) = (fields.remove("serviceName"), fields.remove("servicePort")) else { return };
    let port = match port {
        Some(Value::String(name)) => json!({ "name": name }),
        Some(number) => json!({ "number": number }),
        None => json!({}),
    };
    fields.insert("service".to_owned(), json!({ "name": name, "port": port }));
}

/// In `v1` each version has a schema, subresources and columns of its own. Without a schema, all fields are kept.
fn definition(object: &mut Value) {
    let Some(spec) = object["spec"].as_object_mut() else { return };
    let schema = spec.remove("validation").map(|validation| validation["openAPIV3Schema"].clone());
    let subresources = spec.remove("subresources");
    let columns = spec.remove("additionalPrinterColumns");
    let keeps_fields = spec.remove("preserveUnknownFields").is_none_or(|keeps| keeps == true);
    let single = spec.remove("version");
    let versions = spec.entry("versions").or_insert_with(|| json!([]));
    if versions.as_array().is_none_or(Vec::is_empty) {
        *versions = json!([{ "name": single, "served": true, "storage": true }]);
    }
    let of_all = [("subresources", subresources), ("additionalPrinterColumns", columns)];
    for version in versions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let own = version.get("schema").map(|schema| schema["openAPIV3Schema"].clone());
        let schema = own.filter(Value::is_object).or_else(|| schema.clone()).filter(Value::is_object);
        let mut schema = schema.unwrap_or_else(|| json!({}));
        schema["type"] = json!("object");
        if keeps_fields {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        version.insert("schema".to_owned(), json!({ "openAPIV3Schema": schema }));
        for (field, value) in &of_all {
            if let Some(value) = value {
                version.entry(*field).or_insert_with(|| value.clone());
            }
        }
        let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut);
        columns.into_iter().flatten().for_each(|column| rename(column, "JSONPath", "jsonPath"));
    }
    let conversion = spec.remove("conversion");
    if let Some(conversion) = conversion.filter(|conversion| conversion["strategy"] == "Webhook") {
        spec.insert(
            "conversion".to_owned(),
            json!({ "strategy": "Webhook", "webhook": {
                "clientConfig": conversion["webhookClientConfig"],
                "conversionReviewVersions": conversion["conversionReviewVersions"],
            } }),
        );
    }
}
