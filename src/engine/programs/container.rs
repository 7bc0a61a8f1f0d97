//! The order for the program of a container: its command, its variables, its files.

use std::path::PathBuf;

use serde_json::{Value, json};
use windtunnel_core::{Identity, Object, pod};
use windtunnel_openshift::environment;
use windtunnel_openshift::release::version_in;

use super::{variables, volumes};
use crate::backends::programs::{Endpoint, ProgramOrder};
use crate::engine::runtime::{Simulation, account_of};
use crate::plan::ProgramPlan;

/// The user of this name. The name of a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`.
pub(super) fn user(name: &str) -> Identity {
    let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    match (account, name) {
        (Some((namespace, name)), _) => Identity::service_account(namespace, name),
        (None, "system:admin") => Identity::admin(),
        (None, name) => Identity::new(name, &[]),
    }
}

/// The order for a program in a container of `pod`.
pub(super) fn order(
    cluster: &Simulation,
    plan: &ProgramPlan,
    id: String,
    pod: &Object,
    container: &str,
    endpoint: &Endpoint,
) -> ProgramOrder {
    let spec = environment::container(pod, container);
    let mut env = variables::of_container(&cluster.view, pod, spec);
    // Programs in real pods find the API server by these.
    env.insert("KUBERNETES_SERVICE_HOST".to_owned(), endpoint.host.clone());
    env.insert("KUBERNETES_SERVICE_PORT".to_owned(), endpoint.port.to_string());
    let texts = |field: &str| {
        let list = spec[field].as_array().into_iter().flatten();
        list.filter_map(|word| Some(variables::expanded(word.as_str()?, &env))).collect::<Vec<_>>()
    };
    let mut command = plan.command.clone();
    let is_isolated = command.is_empty();
    if is_isolated {
        command = texts("command").into_iter().chain(texts("args")).collect();
    } else if let Some(at) = command.iter().position(|word| word == "{args}") {
        command.splice(at..=at, texts("args"));
    }
    let fill = |text: &String| {
        let text = named_ports(spec, text);
        placeholders(cluster, pod, spec["image"].as_str().unwrap_or_default(), &text)
    };
    let command = command.iter().map(fill).collect();
    env.extend(plan.env.iter().map(|(name, value)| (name.clone(), fill(value))));
    let copies =
        plan.files.iter().map(|(path, source)| (path.clone(), PathBuf::from(fill(source)))).collect();
    let volumes = volumes::of_container(&cluster.view, pod, spec);
    ProgramOrder {
        id,
        command,
        inherited: plan.permission.inherited(),
        env,
        folder: if is_isolated { Some(working_folder(spec)) } else { plan.folder.clone() },
        is_isolated,
        user: account_of(pod),
        name: plan.name.clone(),
        speed: plan.time.speed(),
        files: volumes.files,
        copies,
        mounts: volumes.mounts,
        shared: volumes.shared,
        account_folder: volumes.account_folder,
    }
}

/// The folder in which the command of a container starts.
fn working_folder(spec: &Value) -> PathBuf {
    PathBuf::from(spec["workingDir"].as_str().filter(|folder| !folder.is_empty()).unwrap_or("/"))
}

/// Replaces the names of ports in placeholders such as `{port:metrics}` by their numbers.
fn named_ports(spec: &Value, text: &str) -> String {
    let ports = spec["ports"].as_array().into_iter().flatten();
    let names = ports.filter_map(|port| Some((port["name"].as_str()?, port["containerPort"].as_u64()?)));
    names.fold(text.to_owned(), |text, (name, number)| {
        text.replace(&format!("{{port:{name}}}"), &format!("{{port:{number}}}"))
    })
}

/// Fills in the placeholders that depend on the pod. The backend fills in the others.
fn placeholders(cluster: &Simulation, pod: &Object, image: &str, text: &str) -> String {
    let release = cluster.environment.release_of(image);
    let version = release.map_or_else(|| version_of_operator(pod), |release| release.version.to_string());
    text.replace("{image}", image)
        .replace("{release-image}", image)
        .replace("{version}", &version)
        .replace("{node}", pod::node_name(pod))
        .replace("{namespace}", pod.namespace())
        .replace("{pod}", pod.name())
}

/// The release that the pod of an operator names in a variable; empty if it names none.
fn version_of_operator(pod: &Object) -> String {
    let workload = json!({ "spec": { "template": { "spec": pod["spec"] } } });
    version_in(&workload).unwrap_or_default().to_owned()
}
