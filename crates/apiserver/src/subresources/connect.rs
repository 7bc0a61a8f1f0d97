//! Subresources that open a connection into a container: exec, attach and port-forward. No container runs here, so the
//! client gets an error that says so.

use serde_json::{Value, json};
use windtunnel_core::Resource;

use super::container;
use super::log::describe;
use crate::call::Call;
use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::Query;
use crate::server::ApiServer;

impl ApiServer {
    /// Runs admission on the options of a connection.
    ///
    /// # Errors
    /// Admission rejects the connection.
    pub(super) fn admit_connecting(&mut self, call: &mut Call<'_>) -> Outcome<()> {
        let (subresource, path) = match call.path.subresource.split_once('/') {
            Some((subresource, path)) => (subresource, Some(path)),
            None => (&*call.path.subresource, None),
        };
        let kind = format!("{}{}Options", call.kind.resource.kind, connection(subresource));
        let unnamed = Resource::namespaced("", "v1", "", "");
        let options_type = Resource { kind: kind.clone().into(), ..unnamed };
        let mut options = json!({ "kind": kind, "apiVersion": "v1" });
        set_options(&mut options, &call.request.query, subresource, path);
        self.admit_connection(call, &options_type, &mut options)
    }

    /// `exec`, `attach` and `portforward` of pods.
    pub(super) fn connect(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let pod = self.entry(call)?.served();
        let (name, query) = (&*call.path.name, &call.request.query);
        let why = match &*call.path.subresource {
            "portforward" => format!("no port of pod {} can be forwarded", quote(name)),
            verb => {
                let container = container::choose(&pod, query.get("container"))?;
                format!("{} cannot be reached by {verb}", describe(container, &pod))
            }
        };
        if !container::has_node(&pod) {
            return Err(BoxedRejection::bad_request(format!("pod {name} does not have a host assigned")));
        }
        self.check_node(call, &pod)?;
        if !call.request.upgrade {
            return Err(BoxedRejection::bad_request("Upgrade request required"));
        }
        Err(BoxedRejection::no_containers(&why))
    }
}

/// The word for a connection in the kind of its options.
fn connection(subresource: &str) -> &'static str {
    match subresource {
        "exec" => "Exec",
        "attach" => "Attach",
        "portforward" => "PortForward",
        _ => "Proxy",
    }
}

/// Sets the options of a connection from its query, or from the path behind a proxy.
fn set_options(options: &mut Value, query: &Query, subresource: &str, path: Option<&str>) {
    match subresource {
        "portforward" => {
            let ports: Vec<i32> = query.all("ports").filter_map(|port| port.parse().ok()).collect();
            if !ports.is_empty() {
                options["ports"] = json!(ports);
            }
        }
        "exec" | "attach" => {
            for stream in ["stdin", "stdout", "stderr", "tty"] {
                if query.is_true(stream) {
                    options[stream] = json!(true);
                }
            }
            let (container, command) = (query.get("container"), query.all("command").collect::<Vec<_>>());
            if !container.is_empty() {
                options["container"] = json!(container);
            }
            if subresource == "exec" && !command.is_empty() {
                options["command"] = json!(command);
            }
        }
        _ => {
            if let Some(path) = path {
                options["path"] = json!(format!("/{path}"));
            }
        }
    }
}
