//! Subresources that open a connection into a container: exec, attach and port-forward. No container runs here, so the
//! client gets an error that says so.

use super::container;
use super::log::describe;
use crate::call::Call;
use crate::gotext::quote;
use crate::reply::Reply;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

impl ApiServer {
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
            return Err(Refused::bad_request(format!("pod {name} does not have a host assigned")));
        }
        self.check_node(call, &pod)?;
        if !call.request.upgrade {
            return Err(Refused::bad_request("Upgrade request required"));
        }
        Err(Refused::no_containers(&why))
    }
}
