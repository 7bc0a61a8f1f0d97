//! Updates that change values alone, whose owners the server need not find out anew.

use serde_json::{Value, json};
use windtunnel::apiserver::{ApiServer, Method};

use super::{JSON, MERGE, WIDGETS, ask, define, entry, owners, widget};
use crate::apiserver::requests::server;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.io";

fn patch(server: &mut ApiServer, value: &str) -> Value {
    let patch = json!({ "spec": { "map": { "a": value } } });
    let (code, patched) = ask(server, Method::Patch, &format!("{WIDGETS}/w"), MERGE, &patch);
    assert_eq!(code, 200, "{patched}");
    patched
}

#[test]
fn a_schema_that_is_replaced_between_updates_changes_what_is_owned() {
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
fn updates_find_out_anew_who_owns_what_where_somebody_is_said_to_own_nothing() {
    let mut server = server(36);
    define(&mut server, &["v1"]);
    ask(&mut server, Method::Post, WIDGETS, "", &widget("v1", &json!({ "map": { "a": "1" } })));
    let nothing = json!({ "manager": "tester", "operation": "Update", "apiVersion": "example.io/v1",
        "fieldsType": "FieldsV1", "fieldsV1": {} });
    let given = json!({ "metadata": { "managedFields": [nothing] } });
    for merge in [given, json!({})] {
        let (code, answer) = ask(&mut server, Method::Patch, &format!("{WIDGETS}/w"), MERGE, &merge);
        assert_eq!((code, &answer["spec"]["map"]["a"]), (200, &json!("1")), "{answer}");
    }
    let owned = json!({ "f:spec": { "f:map": { "f:a": {} } } });
    assert_eq!(owners(&patch(&mut server, "2")), [entry("tester", "Update", owned)]);
}
