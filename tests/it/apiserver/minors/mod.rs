//! Differences between Kubernetes minors, row by row of the table of minors. `pace` tests the rows about lists
//! that are rejected while a CRD takes effect, `views` the row about discovery.

mod rows;

use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_core::Write;

use super::requests::{VERSIONS, ask, define, definition, now, put_status, rolled_back, server, set_message};

#[test]
fn before_ratcheting_an_unchanged_bad_status_blocks_every_write() {
    for minor in [26, 27] {
        let mut server = rolled_back(minor, true);
        let expected = "Version.example.io \"version\" is invalid: status.capabilities.enabled[2]: Unsupported value: \
                        \"new\": supported values: \"b\", \"a\"";
        assert_eq!(put_status(&mut server, set_message), expected, "1.{minor}");
        let patch =
            Write::merge_patch(&VERSIONS, "", "version", json!({ "metadata": { "labels": { "x": "y" } } }));
        let rejection = ask(&mut server, &patch).unwrap_err();
        assert_eq!((rejection.code, rejection.message.as_str()), (422, expected));
        assert_eq!(
            rejection.details,
            json!({ "name": "version", "group": "example.io", "kind": "Version", "causes": [{
                "reason": "FieldValueNotSupported", "field": "status.capabilities.enabled[2]",
                "message": "Unsupported value: \"new\": supported values: \"b\", \"a\"" }] })
        );
    }
}

#[test]
fn several_errors_are_in_brackets() {
    let mut server = rolled_back(27, false);
    let text = put_status(&mut server, |object| {
        object["status"]["capabilities"]["enabled"] = json!(["new", "a", "newer"]);
    });
    assert_eq!(
        text,
        "Version.example.io \"version\" is invalid: [status.capabilities.enabled[0]: Unsupported value: \"new\": \
         supported values: \"b\", \"a\", status.capabilities.enabled[2]: Unsupported value: \"newer\": supported \
         values: \"b\", \"a\"]"
    );
}

#[test]
fn a_status_write_validates_the_whole_object_up_to_1_27() {
    for (minor, blocked) in [(27, true), (28, false)] {
        let mut server = server(minor);
        define(&mut server, definition(&["a", "new"], false));
        let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" },
            "spec": { "wanted": ["new"] } });
        ask(&mut server, &Write::create(&VERSIONS, object)).unwrap();
        define(&mut server, definition(&["a"], false));
        assert_eq!(!put_status(&mut server, set_message).is_empty(), blocked, "1.{minor}");
    }
}

#[test]
fn ratcheting_on_status_comes_with_1_33_and_validates_a_changed_list_as_a_whole() {
    let mut server = rolled_back(33, true);
    assert_eq!(put_status(&mut server, set_message), "");
    let text = put_status(&mut server, |object| {
        object["status"]["capabilities"]["enabled"] = json!(["b", "a", "new"]);
    });
    assert_eq!(
        text,
        "Version.example.io \"version\" is invalid: [status.capabilities.enabled[2]: Unsupported value: \"new\": \
         supported values: \"b\", \"a\", <nil>: Invalid value: \"null\": some validation rules were not checked \
         because the object was invalid; correct the existing errors to complete validation]"
    );
}

#[test]
fn enum_violation_stops_cel_from_1_29_on() {
    let bad = |object: &mut Value| object["status"]["capabilities"]["enabled"] = json!(["new"]);
    for (minor, remark) in [(28, false), (29, true)] {
        let text = put_status(&mut rolled_back(minor, true), bad);
        assert_eq!(text.contains("some validation rules were not checked"), remark, "1.{minor}: {text}");
    }
}

#[test]
fn the_minor_can_change_under_a_running_server() {
    let mut server = rolled_back(27, true);
    assert_ne!(put_status(&mut server, set_message), "");
    server.set_kubernetes_minor(33);
    assert_eq!(put_status(&mut server, set_message), "");
}

#[test]
fn ratcheting_on_status_can_be_backported_to_1_31() {
    for (backports, accepted) in [(false, false), (true, true)] {
        let mut server =
            ApiServer::builder().kubernetes(31).status_ratcheting_backports(backports).build(now());
        define(&mut server, definition(&["new"], false));
        let object =
            json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" } });
        ask(&mut server, &Write::create(&VERSIONS, object)).unwrap();
        put_status(&mut server, |object| {
            object["status"] = json!({ "capabilities": { "enabled": ["new"] } });
        });
        define(&mut server, definition(&["a"], false));
        assert_eq!(put_status(&mut server, set_message).is_empty(), accepted);
    }
}

#[test]
fn ratcheting_on_the_main_endpoint_comes_with_1_30() {
    for (minor, accepted) in [(29, false), (30, true)] {
        let mut server = rolled_back(minor, true);
        let label = json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "channel": "other" } });
        // Up to 1.29 the unchanged stored status is validated as well.
        let answer = ask(&mut server, &Write::merge_patch(&VERSIONS, "", "version", label));
        assert_eq!(answer.is_ok(), accepted, "1.{minor}");
    }
}

#[test]
fn zero_uint64_is_hexadecimal_before_1_34() {
    for (minor, zero) in [(33, "0x0"), (34, "0")] {
        let mut server = rolled_back(minor, false);
        let body =
            json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" } });
        let rejection = ask(&mut server, &Write::update(&VERSIONS, body)).unwrap_err();
        assert_eq!(
            rejection.message,
            format!(
                "versions.example.io \"version\" is invalid: metadata.resourceVersion: Invalid value: {zero}: must be \
                 specified for an update"
            )
        );
    }
}

#[test]
fn selectable_fields_are_stored_and_served_from_1_31_on() {
    for (minor, served) in [(30, false), (31, true)] {
        let mut server = server(minor);
        let mut crd = definition(&["a"], false);
        crd["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.channel" }]);
        define(&mut server, crd);
        let kind = &windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
        let stored = server.object(kind, "", "versions.example.io").unwrap().to_value();
        assert_eq!(stored["spec"]["versions"][0]["selectableFields"].is_array(), served, "1.{minor}");
        let path = "/apis/example.io/v1/versions?fieldSelector=spec.channel%3Dfast";
        let who = windtunnel_core::Identity::admin();
        let request = windtunnel_apiserver::Request::new(windtunnel_apiserver::Method::Get, path, &who);
        assert_eq!(server.handle(&request, now()).code, if served { 200 } else { 400 }, "1.{minor}");
    }
}

#[test]
fn crd_status_has_no_observed_generation_on_1_35_and_1_36() {
    for minor in [35, 36] {
        let mut server = server(minor);
        define(&mut server, definition(&["a"], false));
        let kind = &windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
        let status = server.object(kind, "", "versions.example.io").unwrap().to_value()["status"].take();
        assert!(!status.to_string().contains("observedGeneration"), "1.{minor}: {status}");
    }
}
