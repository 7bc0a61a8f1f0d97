//! Ways into a container that need a connection of their own. Nothing runs here that could keep one up, so nobody answers.

use crate::apiserver::call::Call;
use crate::apiserver::reply::Reply;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

impl ApiServer {
    /// `exec`, `attach` and `portforward` of pods.
    pub(super) fn connect(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let object = self.entry(call)?.served();
        if object["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
            let name = &call.path.name;
            return Err(Refused::bad_request(format!("pod {name} does not have a host assigned")));
        }
        Err(Refused::bad_request("Upgrade request required"))
    }
}
