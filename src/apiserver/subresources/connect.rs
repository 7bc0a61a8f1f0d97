//! Ways into what runs behind an object. Nothing runs here, so nobody answers.

use crate::apiserver::call::Call;
use crate::apiserver::reply::Reply;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

impl ApiServer {
    /// `exec`, `attach`, `portforward` and `proxy` of pods, services and nodes.
    pub(super) fn connect(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let object = self.entry(call)?.served();
        if call.path.subresource.starts_with("proxy") {
            return Err(Refused::unavailable("error trying to reach service: no such host"));
        }
        if object["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
            let name = &call.path.name;
            return Err(Refused::bad_request(format!("pod {name} does not have a host assigned")));
        }
        Err(Refused::bad_request("Upgrade request required"))
    }
}
