//! CustomResourceDefinitions: their names, acceptance and deletion.

use serde_json::{Value, json};
use windtunnel_apiserver::ApiServer;
use windtunnel_core::{Identity, Resource, Write, resources};

use super::requests::{VERSIONS, ask, define, definition, now, server};

const KIND: &Resource = &resources::CUSTOM_RESOURCE_DEFINITIONS;

/// The reason of the condition `Terminating`.
fn terminating(definition: &Value) -> String {
    let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == "Terminating");
    found.and_then(|condition| condition["reason"].as_str()).unwrap_or_default().to_owned()
}

fn stored_reason(server: &ApiServer) -> Option<String> {
    let found = server.object(KIND, "", "versions.example.io")?;
    Some(terminating(&found.to_value()))
}

#[test]
fn a_deleted_crd_reports_its_progress_and_disappears_with_its_last_object() {
    let mut server = server(36);
    define(&mut server, definition(&["a"], false));
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version",
        "metadata": { "name": "blocked", "finalizers": ["x.io/y"] } });
    ask(&mut server, &Write::create(&VERSIONS, object)).unwrap();
    let answer = ask(&mut server, &Write::delete(KIND, "", "versions.example.io")).unwrap();
    assert_eq!(terminating(&answer.to_value()), "InstanceDeletionPending");
    assert_eq!(stored_reason(&server).as_deref(), Some("InstanceDeletionInProgress"));
    let free = json!({ "metadata": { "finalizers": null } });
    ask(&mut server, &Write::merge_patch(&VERSIONS, "", "blocked", free)).unwrap();
    assert_eq!(stored_reason(&server), None);
}

/// A CRD with this plural, kind and short name.
fn named(plural: &str, kind: &str, short: &str) -> Value {
    let mut crd = definition(&["a"], false);
    crd["metadata"]["name"] = json!(format!("{plural}.example.io"));
    crd["spec"]["names"] = json!({ "plural": plural, "kind": kind, "shortNames": [short] });
    crd
}

fn condition(server: &ApiServer, name: &str, kind: &str) -> (String, String, String) {
    let crd = server.object(KIND, "", name).unwrap().to_value();
    let found = crd["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

#[test]
fn a_crd_waits_for_names_that_another_crd_of_its_group_has() {
    let mut server = server(36);
    define(&mut server, named("things", "Thing", "th"));
    define(&mut server, named("others", "Thing", "th"));
    let texts = |status: &str, reason: &str, message: &str| {
        (status.to_owned(), reason.to_owned(), message.to_owned())
    };
    assert_eq!(
        condition(&server, "others.example.io", "NamesAccepted"),
        texts("False", "ListKindConflict", "\"ThingList\" is already in use")
    );
    assert_eq!(
        condition(&server, "others.example.io", "Established"),
        texts("False", "NotAccepted", "not all names are accepted")
    );
    let others = Resource::cluster("example.io", "v1", "Thing", "others");
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Thing", "metadata": { "name": "x" } });
    assert_eq!(ask(&mut server, &Write::create(&others, object.clone())).unwrap_err().code, 404);
    ask(&mut server, &Write::delete(KIND, "", "things.example.io")).unwrap();
    assert_eq!(
        condition(&server, "others.example.io", "Established"),
        texts("True", "InitialNamesAccepted", "the initial names have been accepted")
    );
    ask(&mut server, &Write::create(&others, object)).unwrap();
}

#[test]
fn crds_of_protected_groups_report_their_approval() {
    let mut server = server(36);
    let mut crd = definition(&["a"], false);
    crd["metadata"] = json!({ "name": "versions.example.k8s.io",
        "annotations": { "api-approved.kubernetes.io": "unapproved, a test" } });
    crd["spec"]["group"] = json!("example.k8s.io");
    define(&mut server, crd);
    assert_eq!(
        condition(&server, "versions.example.k8s.io", "KubernetesAPIApprovalPolicyConformant"),
        (
            "False".to_owned(),
            "UnapprovedAnnotation".to_owned(),
            "not approved: \"unapproved, a test\"".to_owned()
        )
    );
}

/// The Kubernetes minor of an OpenShift release: 4.11 is 1.24, 5.0 follows 4.22.
fn kubernetes_minor(release: &str) -> u32 {
    match release.split_once('.') {
        Some(("4", minor)) => minor.parse::<u32>().unwrap() + 13,
        _ => 36,
    }
}

#[test]
fn openshift_crds_are_accepted_by_their_own_minor_and_by_the_newest() {
    let Some(folder) = crate::recordings::shared_or_skip("crds") else { return };
    let releases = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    for release in releases.filter(|entry| entry.path().is_dir()) {
        let minor = kubernetes_minor(&release.file_name().to_string_lossy());
        for file in std::fs::read_dir(release.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let text = std::fs::read_to_string(&file).unwrap();
            let crd: Value = windtunnel_core::yaml::from_str(&text).unwrap();
            for minor in [minor, 36] {
                let mut server = server(minor);
                let answer = ask(&mut server, &Write::create(KIND, crd.clone()));
                assert_eq!(
                    answer.err().map(|rejection| rejection.message),
                    None,
                    "{} on 1.{minor}",
                    file.display()
                );
                let name = crd["metadata"]["name"].as_str().unwrap();
                assert_eq!(condition(&server, name, "Established").0, "True", "{name} on 1.{minor}");
            }
        }
    }
}

/// The CRDs of a folder, by file name.
fn shipped(folder: &std::path::Path) -> Vec<(String, Value)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let definitions = files.map(|file| {
        let text = std::fs::read_to_string(&file).unwrap();
        (file.display().to_string(), windtunnel_core::yaml::from_str(&text).unwrap())
    });
    let mut definitions: Vec<(String, Value)> = definitions.collect();
    definitions.sort_by(|a, b| a.0.cmp(&b.0));
    definitions
}

#[test]
fn every_openshift_api_crd_is_accepted_by_the_minor_of_its_release() {
    let Some(folder) = crate::recordings::shared_or_skip("openshift-api-crds") else { return };
    let releases = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut rejected = Vec::new();
    for release in releases.filter(|entry| entry.path().is_dir()) {
        let minor = kubernetes_minor(&release.file_name().to_string_lossy());
        let previews = release.file_name() == "previews";
        let mut server = self::server(minor);
        for (file, definition) in shipped(&release.path()) {
            // Several previews define the same kind.
            if previews {
                server = self::server(minor);
            }
            if let Err(rejection) = ask(&mut server, &Write::create(KIND, definition)) {
                rejected.push(format!("{file} on 1.{minor}: {}", rejection.message));
            }
        }
    }
    assert!(rejected.is_empty(), "{}", rejected.join("\n"));
}

#[test]
fn a_null_is_dropped_when_the_schema_stops_allowing_it() {
    let mut server = server(36);
    let with = |nullable: bool| {
        let mut crd = definition(&["a"], false);
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"]["channel"]["nullable"] = json!(nullable);
        crd
    };
    define(&mut server, with(true));
    let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" },
        "spec": { "channel": null } });
    server.write(&Write::create(&VERSIONS, object), &Identity::admin(), now()).unwrap();
    let spec = |server: &ApiServer| server.object(&VERSIONS, "", "v").unwrap().to_value()["spec"].clone();
    assert_eq!(spec(&server), json!({ "channel": null, "mode": "Fast" }));
    define(&mut server, with(false));
    assert_eq!(spec(&server), json!({ "mode": "Fast" }));
}

#[test]
fn an_object_without_a_newly_required_field_can_be_read_but_not_updated() {
    for minor in [29, 36] {
        let mut server = server(minor);
        define(&mut server, definition(&["a"], false));
        let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" } });
        let old = ask(&mut server, &Write::create(&VERSIONS, object)).unwrap().to_value();
        let mut crd = definition(&["a"], false);
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["d.e"] = json!({ "type": "number", "minimum": 2 });
        schema["required"] = json!(["d.e"]);
        define(&mut server, crd);
        let stored = server.object(&VERSIONS, "", "v").unwrap().to_value();
        assert_eq!(stored, old, "1.{minor}");
        let rejection = ask(&mut server, &Write::update(&VERSIONS, stored.clone())).unwrap_err();
        let message = "Version.example.io \"v\" is invalid: d.e: Required value";
        assert_eq!((rejection.code, rejection.message.as_str()), (422, message), "1.{minor}");
        // A status write does not check the required field.
        ask(&mut server, &Write::merge_patch_status(&VERSIONS, "", "v", json!({ "status": {} }))).unwrap();
        let whole = json!({ "d.e": 2 });
        ask(&mut server, &Write::merge_patch(&VERSIONS, "", "v", whole)).unwrap();
    }
}
