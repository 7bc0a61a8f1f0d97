//! Defaults of CustomResourceDefinitions.

use serde_json::{Value, json};

use super::{Fields, object_in, set_default};

/// `SetDefaults_CustomResourceDefinitionSpec`.
pub(super) fn definition(definition: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(definition, "spec") else { return };
    set_default(spec, "conversion", json!({ "strategy": "None" }));
    let webhook = object_in(spec, "conversion").and_then(|conversion| object_in(conversion, "webhook"));
    let client = webhook.and_then(|webhook| object_in(webhook, "clientConfig"));
    if let Some(service) = client.and_then(|client| object_in(client, "service")) {
        set_default(service, "port", 443);
    }
    let Some(names) = object_in(spec, "names") else { return };
    let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) else { return };
    for (field, default) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if names.get(field).and_then(Value::as_str).is_none_or(str::is_empty) {
            names.insert(field.to_owned(), json!(default));
        }
    }
}
