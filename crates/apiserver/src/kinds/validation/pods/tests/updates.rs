//! Rules of updates.

use serde_json::{Value, json};

use super::{MINOR, errors_of, pod_with};
use crate::kinds::validation::Errors;
use crate::kinds::validation::pods::{resize, status};
use crate::profile::Profile;

/// The errors about an update from one specification to another.
fn update(old: &Value, new: &Value) -> Vec<String> {
    errors_of(MINOR, &pod_with(new), Some(&pod_with(old)))
}

#[test]
fn images_deadlines_and_tolerations_may_change() {
    let seconds = |seconds: i64| {
        json!({ "tolerations": [
            { "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds },
        ] })
    };
    assert_eq!(update(&seconds(1), &seconds(2)), [""; 0]);
    assert_eq!(
        update(&seconds(1), &json!({})),
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    );
    assert_eq!(update(&json!({}), &json!({ "containers": [{ "image": "j" }] })), [""; 0]);
    assert_eq!(
        update(&json!({ "activeDeadlineSeconds": 5 }), &json!({ "activeDeadlineSeconds": 6 })),
        ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"]
    );
    let grace = |seconds: i64| json!({ "terminationGracePeriodSeconds": seconds });
    assert_eq!(update(&grace(-1), &grace(1)), [""; 0]);
}

#[test]
fn values_that_a_later_minor_accepted_stay() {
    let pause = |image: &str, seconds: i64| {
        pod_with(&json!({ "containers": [
            { "image": image, "lifecycle": { "preStop": { "sleep": { "seconds": seconds } } } },
        ] }))
    };
    assert_eq!(errors_of(32, &pause("j", 0), Some(&pause("i", 0))), [""; 0]);
    assert_eq!(errors_of(32, &pause("j", 31), Some(&pause("i", 31))).len(), 1);
    assert_eq!(errors_of(32, &pause("j", 0), None).len(), 1);
}

#[test]
fn other_changes_are_shown_as_a_difference() {
    let found = update(&json!({}), &json!({ "hostname": "h" }));
    let difference = " \"SecurityContext\": {\n  \"HostNetwork\": false,";
    assert!(
        found[0].starts_with("spec: Forbidden: pod updates may not change fields other than"),
        "{found:?}"
    );
    assert!(found[0].contains("\n- \"Hostname\": \"\",\n+ \"Hostname\": \"h\",\n"), "{found:?}");
    assert!(!found[0].contains(difference), "{found:?}");
}

#[test]
fn gated_pods_may_get_stricter_selectors() {
    let gated = |selector: Value| json!({ "schedulingGates": [{ "name": "g" }], "nodeSelector": selector });
    assert_eq!(update(&gated(json!({ "a": "1" })), &gated(json!({ "a": "1", "b": "2" }))), [""; 0]);
    assert_eq!(
        update(&gated(json!({ "a": "1" })), &gated(json!({ "b": "2" }))),
        [
            "spec.nodeSelector: Invalid value: {\"b\":\"2\"}: only additions to spec.nodeSelector are allowed (no \
          mutations or deletions)"
        ]
    );
    let more = json!({ "schedulingGates": [{ "name": "g" }, { "name": "h" }] });
    assert_eq!(
        update(&json!({ "schedulingGates": [{ "name": "g" }] }), &more),
        [
            "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"
        ]
    );
}

/// The errors about a status.
fn status_errors(spec: &Value, old: &Value, new: &Value) -> Vec<String> {
    let (mut before, mut after) = (pod_with(spec), pod_with(spec));
    before["status"] = old.clone();
    after["status"] = new.clone();
    let profile = Profile::of(MINOR, false);
    let mut errors = Errors::new(&profile);
    status::status(&after, Some(&before), &mut errors);
    errors.found.iter().map(|error| error.text(&profile)).collect()
}

#[test]
fn a_status_has_valid_addresses_and_conditions() {
    let found = status_errors(
        &json!({}),
        &json!({ "qosClass": "BestEffort" }),
        &json!({
            "qosClass": "Burstable", "podIPs": [{ "ip": "1.1.1.1" }, { "ip": "1.1.1.2" }],
            "hostIP": "1.1.1.1", "hostIPs": [{ "ip": "x" }], "conditions": [{ "type": "a b" }, { "type": "Ready" }],
            "observedGeneration": -1,
        }),
    );
    let expected = [
        "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', \
         '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
         '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
        "status.qosClass: Invalid value: \"Burstable\": field is immutable",
        "status.podIPs: Invalid value: [{\"IP\":\"1.1.1.1\"},{\"IP\":\"1.1.1.2\"}]: may specify no more than one IP \
         for each IP family",
        "status.hostIPs[0].ip: Invalid value: \"x\": must be equal to `hostIP`",
        "status.hostIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn containers_start_again_only_by_their_policy() {
    let ended = |code: i64| json!({ "containerStatuses": [{ "name": "c", "state": { "terminated": { "exitCode": code } } }] });
    let running = json!({ "containerStatuses": [{ "name": "c", "state": { "running": {} } }] });
    let with = |policy: &str| json!({ "restartPolicy": policy });
    let forbidden =
        ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"];
    assert_eq!(status_errors(&with("Always"), &ended(0), &running), [""; 0]);
    assert_eq!(status_errors(&with("OnFailure"), &ended(1), &running), [""; 0]);
    assert_eq!(status_errors(&with("OnFailure"), &ended(0), &running), forbidden);
    assert_eq!(status_errors(&with("Never"), &ended(1), &running), forbidden);
    let own = json!({ "restartPolicy": "Never", "containers": [{ "restartPolicy": "Always" }] });
    assert_eq!(status_errors(&own, &ended(1), &running), [""; 0]);
}

#[test]
fn a_resize_keeps_the_class_and_the_limits() {
    let pod = |resources: Value| {
        let mut pod = pod_with(&json!({ "containers": [{ "resources": resources }] }));
        pod["status"] = json!({ "qosClass": "Burstable" });
        pod
    };
    let old = pod(json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "2" } }));
    let errors = |new: &Value| {
        let profile = Profile::of(MINOR, false);
        let mut errors = Errors::new(&profile);
        resize(new, Some(&old), &mut errors);
        errors.found.iter().map(|error| error.text(&profile)).collect::<Vec<String>>()
    };
    assert_eq!(errors(&pod(json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "3" } }))), [""; 0]);
    assert_eq!(
        errors(&pod(json!({ "requests": { "cpu": "1" } }))),
        ["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"]
    );
    assert_eq!(
        errors(&pod(
            json!({ "requests": { "cpu": "1", "ephemeral-storage": "1" }, "limits": { "cpu": "2" } })
        )),
        ["spec: Forbidden: only cpu and memory resources are mutable"]
    );
}
