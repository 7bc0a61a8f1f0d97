//! Tables of fragments of pods, and of the errors about them.

mod containers;
mod specs;
mod updates;
mod volumes;
mod warned;

use serde_json::{Value, json};

use super::pod;
use crate::kinds::validation::Errors;
use crate::profile::Profile;

const MINOR: u32 = 36;

/// A valid pod as a server decodes it, with the fields of `spec` in place of its own. Containers get the fields that
/// every container has.
fn pod_with(spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": "p" },
        "spec": {
            "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30, "securityContext": {}, "schedulerName": "default-scheduler",
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let common = [
                ("name", json!("c")),
                ("image", json!("i")),
                ("resources", json!({})),
                ("terminationMessagePolicy", json!("File")),
                ("imagePullPolicy", json!("Always")),
            ];
            for (field, value) in common {
                if container.get(field).is_none() {
                    container[field] = value;
                }
            }
        }
    }
    pod
}

/// The errors about a new pod, on Kubernetes 1.`minor`.
fn errors_on(minor: u32, spec: &Value) -> Vec<String> {
    errors_of(minor, &pod_with(spec), None)
}

fn errors_of(minor: u32, object: &Value, old: Option<&Value>) -> Vec<String> {
    let profile = Profile::of(minor, false);
    let mut errors = Errors::new(&profile);
    pod::pod(object, old, &mut errors);
    errors.found.iter().map(|error| error.text(&profile)).collect()
}

/// Asserts the errors about each specification.
fn assert_errors(rows: Vec<(Value, &[&str])>) {
    for (spec, expected) in rows {
        let mut found = errors_on(MINOR, &spec);
        let mut expected: Vec<String> = expected.iter().map(|text| format!("spec.{text}")).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{spec}");
    }
}

/// Asserts the errors about a container with each of the fields.
fn assert_container_errors(rows: Vec<(Value, &[&str])>) {
    for (container, expected) in rows {
        let spec = json!({ "containers": [container] });
        let mut found = errors_on(MINOR, &spec);
        let mut expected: Vec<String> =
            expected.iter().map(|text| format!("spec.containers[0].{text}")).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{spec}");
    }
}

#[test]
fn the_base_pod_is_valid_on_every_minor() {
    for minor in 23..=MINOR {
        assert_eq!(errors_on(minor, &json!({})), [""; 0], "1.{minor}");
    }
}
