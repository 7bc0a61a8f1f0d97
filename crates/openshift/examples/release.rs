//! Prints facts of a release, and the output of `oc adm upgrade` for a cluster of this release.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use serde_json::json;
use windtunnel_core::Object;
use windtunnel_openshift::oc::{ClusterView, Command, CommandStep, Gates};
use windtunnel_openshift::release::Release;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let release = Release::find(&"4.18.3".parse()?)?;
    let operators = release.operators().count();
    println!(
        "{} contains Kubernetes 1.{} and {operators} operators",
        release.version, release.kubernetes_minor
    );

    let version = release.version.to_string();
    let cluster_version = Object::new(json!({ "metadata": { "name": "version" }, "status": {
        "desired": { "version": version, "image": release.image },
        "history": [{ "state": "Completed", "version": version, "image": release.image }],
        "conditions": [
            { "type": "Progressing", "status": "False", "message": format!("Cluster version is {version}") },
        ],
    } }));
    let command = Command::read(&[], Gates::default()).map_err(|output| output.stderr)?;
    let view = ClusterView { cluster_version: Some(&cluster_version), alerts: Ok(&[]) };
    if let CommandStep::Done(output) = command.begin(&view) {
        print!("{}{}", output.stdout, output.stderr);
    }
    Ok(())
}
