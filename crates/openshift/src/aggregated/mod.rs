//! The kinds that other API servers of an OpenShift cluster serve, as its clients need them.
//!
//! * `metrics.rs`: usage of nodes and pods (`metrics.k8s.io`), for `kubectl top`
//! * `projects.rs`: Projects and requests for them (`project.openshift.io`), for `oc new-project` and `oc get projects`
//! * `own_user.rs`: the User of a request (`users/~`), for `oc whoami`

mod metrics;
mod own_user;
mod projects;

use serde_json::Value;
use windtunnel_core::requests::aggregated::{
    AggregatedKind, AggregatedReply, AggregatedRequest, AggregatedServer,
};
use windtunnel_core::{Rejection, Write};

/// OpenShift's API server and that of metrics.
#[derive(Debug, Clone, Copy)]
pub struct OpenShiftServers;

impl AggregatedServer for OpenShiftServers {
    fn kinds(&self) -> Vec<AggregatedKind> {
        metrics::kinds().into_iter().chain(projects::kinds()).collect()
    }

    fn read(&self, request: &AggregatedRequest<'_>) -> Option<AggregatedReply> {
        match (&*request.resource.group, &*request.resource.plural) {
            ("metrics.k8s.io", "nodes") => Some(AggregatedReply::Objects(metrics::of_nodes(request))),
            ("metrics.k8s.io", "pods") => Some(AggregatedReply::Objects(metrics::of_pods(request))),
            ("project.openshift.io", "projectrequests") => {
                Some(AggregatedReply::Answer(projects::may_request()))
            }
            ("user.openshift.io", "users") => Some(AggregatedReply::Answer(own_user::own_user(request.user))),
            _ => None,
        }
    }

    fn create(&self, request: &AggregatedRequest<'_>, object: &Value) -> Result<Vec<Write>, Rejection> {
        projects::create(request, object)
    }
}
