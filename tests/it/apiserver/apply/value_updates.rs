//! Updates that only change values. For them the server reuses the owners of the fields.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::{CONFIG_MAP, JSON, MERGE, WIDGETS, ask, config_map, define, entry, owners, widget};
use crate::apiserver::requests::server;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.io";

fn patch(server: &mut ApiServer, value: &str) -> Value {
    let patch = json!({ "spec": { "map": { "a": value } } });
    let (code, patched) = ask(server, Method::Patch, &format!("{WIDGETS}/w"), MERGE, &patch);
    assert_eq!(code, 200, "{patched}");
    patched
}

#[test]
fn a_replaced_schema_changes_the_owned_fields_of_later_updates() {
    let mut server = server(36);
    define(&mut server, &["v1"]);
    ask(&mut server, Method::Post, WIDGETS, "", &widget("v1", &json!({ "map": { "a": "1", "b": "1" } })));
    let map = |fields: Value| {
        [entry("tester", "Update", json!({ "f:spec": { ".": {}, "f:d": {}, "f:map": fields } }))]
    };
    for value in ["2", "3", "4"] {
        let patched = patch(&mut server, value);
        assert_eq!(owners(&patched), map(json!({ ".": {}, "f:a": {}, "f:b": {} })), "{value}");
    }
    let kind = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/map/x-kubernetes-map-type";
    let atomic = json!([{ "op": "add", "path": kind, "value": "atomic" }]);
    let (code, answer) = ask(&mut server, Method::Patch, DEFINITION, JSON, &atomic);
    assert_eq!(code, 200, "{answer}");
    for value in ["5", "6"] {
        assert_eq!(owners(&patch(&mut server, value)), map(json!({})), "{value}");
    }
}

#[test]
fn a_manager_without_fields_is_dropped() {
    let mut server = server(36);
    ask(&mut server, Method::Post, CONFIG_MAPS, "", &config_map(&json!({ "a": "1" })));
    let without_fields = json!({ "manager": "tester", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {}, "time": "2024-01-01T00:00:00Z" });
    let patch = json!({ "metadata": { "managedFields": [without_fields] } });
    let (_, patched) = ask(&mut server, Method::Patch, CONFIG_MAP, MERGE, &patch);
    assert_eq!(owners(&patched), vec![]);
}
