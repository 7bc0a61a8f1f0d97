//! The text of `oc adm upgrade status` for objects of a cluster.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use serde_json::json;
use windtunnel_core::Object;
use windtunnel_update_status::status::{Details, Inputs, Moment, render};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster_version = Object::new(json!({ "metadata": { "name": "version" }, "status": {
        "desired": { "version": "4.18.7" },
        "history": [
            { "state": "Partial", "version": "4.18.7", "startedTime": "2024-01-01T00:00:00Z" },
            { "state": "Completed", "version": "4.18.3", "startedTime": "2023-12-01T00:00:00Z",
              "completionTime": "2023-12-01T00:40:00Z" },
        ],
        "conditions": [{ "type": "Progressing", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z" }],
    } }));
    let operator = |name: &str, version: &str| {
        let annotations = json!({ "include.release.openshift.io/self-managed-high-availability": "true" });
        Object::new(json!({ "metadata": { "name": name, "annotations": annotations }, "status": {
            "versions": [{ "name": "operator", "version": version }],
            "conditions": [
                { "type": "Available", "status": "True" },
                { "type": "Progressing", "status": "False", "lastTransitionTime": "2024-01-01T00:00:00Z" },
            ],
        } }))
    };
    let inputs = Inputs::new(cluster_version, vec![operator("etcd", "4.18.7"), operator("dns", "4.18.3")]);
    let report = render(&inputs, Moment::at("2024-01-01T00:30:00Z".parse()?), Details::None)?;
    print!("{}", report.text);
    Ok(())
}
