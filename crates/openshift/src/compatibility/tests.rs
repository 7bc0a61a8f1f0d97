//! Tests of the comparison of definitions, and of the status of a requirement.

use serde_json::{Map, Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Change, ChangeKind, Object, View, condition};

use super::{check_requirement, controller, incompatibilities};

/// A definition with these served versions, and these fields in the spec of each.
pub(crate) fn definition(versions: &[&str], fields: &[&str]) -> Value {
    let fields: Map<String, Value> =
        fields.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let schema =
        json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": fields } } });
    let version = |name: &&str| json!({ "name": name, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com", "uid": "u", "generation": 3 },
        "spec": { "versions": versions },
    })
}

/// The requirement `r` for a definition.
pub(crate) fn requirement(action: &str, required: &Value, excluded: &Value) -> Object {
    let schema = json!({
        "customResourceDefinition": { "type": "YAML", "data": required.to_string() },
        "excludedFields": excluded,
    });
    Object::new(json!({
        "metadata": { "name": "r", "generation": 2 },
        "spec": { "compatibilitySchema": schema, "customResourceDefinitionSchemaValidation": { "action": action } },
    }))
}

#[test]
fn a_definition_must_have_all_fields_and_serve_all_versions() {
    let required = definition(&["v1", "v2"], &["size", "color"]);
    assert_eq!(
        incompatibilities(&required, &definition(&["v1", "v2", "v3"], &["size", "color", "x"])),
        [""; 0]
    );
    assert_eq!(
        incompatibilities(&required, &definition(&["v1"], &["size"])),
        ["removed field : v1.^.spec.color", "served versions removed : v2"]
    );
    let nested = |schema: Value| json!({ "spec": { "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": schema } }] } });
    let list = |items: Value| nested(json!({ "properties": { "a": { "type": "array", "items": items } } }));
    let found = incompatibilities(&list(json!({ "properties": { "b": {} } })), &list(json!({})));
    assert_eq!(found, ["removed field : v1.^.a[*].b"]);
}

#[test]
fn a_requirement_must_contain_a_definition() {
    let check = |data: &str| {
        let schema = json!({ "customResourceDefinition": { "type": "YAML", "data": data } });
        check_requirement(&json!({ "spec": { "compatibilitySchema": schema } })).unwrap_err()
    };
    let what = "expected a valid CustomResourceDefinition in YAML format";
    assert!(check("a: [").contains(what));
    assert!(check("{apiVersion: v1, kind: Pod}").ends_with("to be CustomResourceDefinition, got v1/Pod"));
}

#[test]
fn the_status_reports_the_current_definition() {
    let object = requirement("Deny", &definition(&["v1"], &["size"]), &Value::Null);
    let report = |current: Option<Value>| {
        let mut view = View::default();
        if let Some(current) = current {
            let object = Object::new(current);
            let key = CUSTOM_RESOURCE_DEFINITIONS.key("", "things.example.com");
            view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
        }
        let status = controller::status(&object, &view, Time::UNIX_EPOCH);
        let compatible =
            condition::find(status["conditions"].as_array().unwrap(), "Compatible").unwrap().clone();
        let text = |field: &str| compatible[field].as_str().unwrap().to_owned();
        assert_eq!(status["crdName"], "things.example.com");
        assert_eq!(compatible["observedGeneration"], 2);
        (format!("{} {}: {}", text("status"), text("reason"), text("message")), status["observedCRD"].clone())
    };
    let observed = json!({ "uid": "u", "generation": 3 });
    let well = "True Compatible: The CRD is compatible with this requirement".to_owned();
    assert_eq!(report(Some(definition(&["v1"], &["size"]))), (well, observed.clone()));
    let ill = "False RequirementsNotMet: removed field : v1.^.spec.size".to_owned();
    assert_eq!(report(Some(definition(&["v1"], &[]))), (ill, observed));
    let gone = "False CRDNotFound: The target CRD was not found".to_owned();
    assert_eq!(report(None), (gone, Value::Null));
}
