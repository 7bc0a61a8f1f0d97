//! What a release installs, and what `oc adm upgrade` prints about a cluster that runs it.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use serde_json::json;
use windtunnel_core::Object;
use windtunnel_openshift::oc::{ClusterView, Command, CommandStep, Gates};
use windtunnel_openshift::release::Release;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let release = Release::find(&"4.18.3".parse()?)?;
    let operators = release.operators().count();
    println!(
        "{} brings Kubernetes 1.{} and {operators} operators",
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
    let command = Command::read(&[], Gates::default()).map_err(|said| said.stderr)?;
    let sight = ClusterView { cluster_version: Some(&cluster_version), alerts: Ok(&[]) };
    if let CommandStep::Done(said) = command.begin(&sight) {
        print!("{}{}", said.stdout, said.stderr);
    }
    Ok(())
}
