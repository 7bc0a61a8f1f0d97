//! CustomResourceDefinitions that go.

use serde_json::json;
use windtunnel::apiserver::ApiServer;
use windtunnel::model::{Write, resources};

use super::requests::{VERSIONS, ask, define, definition, server};

const KIND: &windtunnel::model::Resource = &resources::CUSTOM_RESOURCE_DEFINITIONS;

/// The reason of the condition `Terminating`.
fn terminating(definition: &serde_json::Value) -> String {
    let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == "Terminating");
    found.and_then(|condition| condition["reason"].as_str()).unwrap_or_default().to_owned()
}

fn stored(server: &ApiServer) -> Option<String> {
    let found = server.object(KIND, "", "versions.example.io")?;
    Some(terminating(&found.to_value()))
}

#[test]
fn a_deleted_definition_says_how_far_it_is_and_goes_with_its_last_object() {
    let mut server = server(36);
    define(&mut server, definition(&["a"], false));
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version",
        "metadata": { "name": "held", "finalizers": ["x.io/y"] } });
    ask(&mut server, &Write::create(&VERSIONS, object)).unwrap();
    let answer = ask(&mut server, &Write::delete(KIND, "", "versions.example.io")).unwrap();
    assert_eq!(terminating(&answer.to_value()), "InstanceDeletionPending");
    assert_eq!(stored(&server).as_deref(), Some("InstanceDeletionInProgress"));
    let free = json!({ "metadata": { "finalizers": null } });
    ask(&mut server, &Write::merge_patch(&VERSIONS, "", "held", free)).unwrap();
    assert_eq!(stored(&server), None);
}
