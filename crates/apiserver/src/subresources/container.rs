//! Chooses the container of a pod for log and connect requests.

use serde_json::Value;
use windtunnel_core::resources::NODES;

use crate::call::Call;
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::server::ApiServer;

/// The container that the request names, or else the only one (`validateContainer`).
///
/// # Errors
/// 400 if the container does not exist, or if the request names none of several.
pub(super) fn choose<'a>(pod: &'a Value, asked: &'a str) -> Outcome<&'a str> {
    let name = metadata::text(pod, "name");
    if !asked.is_empty() {
        let why = || BoxedRejection::bad_request(format!("container {asked} is not valid for pod {name}"));
        return if all(pod).any(|known| known == asked) { Ok(asked) } else { Err(why()) };
    }
    match names(pod, "containers").collect::<Vec<_>>().as_slice() {
        [only] => Ok(only),
        [] => Err(BoxedRejection::bad_request(format!("a container name must be specified for pod {name}"))),
        _ => {
            let all = all(pod).collect::<Vec<_>>().join(" ");
            let why = format!("a container name must be specified for pod {name}, choose one of: [{all}]");
            Err(BoxedRejection::bad_request(why))
        }
    }
}

/// The names of all containers, in the order of `VisitContainers`.
fn all(pod: &Value) -> impl Iterator<Item = &str> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| names(pod, list))
}

fn names<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let items = pod["spec"][list].as_array().into_iter().flatten();
    items.filter_map(|container| container["name"].as_str())
}

impl ApiServer {
    /// Checks that the node of a pod exists, before a request that its kubelet would answer.
    ///
    /// # Errors
    /// 404. Like that of the real server, it calls the node a pod.
    pub(super) fn check_node(&self, call: &Call<'_>, pod: &Value) -> Outcome<()> {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        match self.object(&NODES, "", node) {
            Some(_) => Ok(()),
            None => Err(BoxedRejection::not_found(&call.kind.resource, node)),
        }
    }
}

/// Whether a pod is bound to a node, whose kubelet could run its containers.
pub(super) fn has_node(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty())
}
