//! The simulated components of a cluster.

use std::sync::Arc;

use windtunnel_controllers::Actor;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::service_accounts::RootCaPublisher;
use windtunnel_core::rng::Streams;
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::cvo;
use windtunnel_openshift::environment::Environment;

use crate::engine::error::SessionError;
use crate::engine::runtime::{Simulation, UPDATE_STATUS_CONTROLLER};

/// The components of a cluster, apart from those that it is without.
///
/// # Errors
/// It is without a component that no cluster has.
pub(super) fn of(
    environment: &Arc<Environment>,
    streams: Streams,
    cluster: &Simulation,
) -> Result<Vec<Box<dyn Actor>>, SessionError> {
    let mut all = Vec::new();
    if !environment.has_controllers {
        let payload = environment.payload_workloads;
        all.extend(windtunnel_controllers::kubernetes_with(&streams, payload, cluster.server_minor));
        let nodes = Arc::clone(environment) as Arc<dyn NodeEnvironment>;
        for actor in &mut all {
            actor.set_environment(&nodes);
        }
    }
    if let Some(programs) = cluster.connection.programs() {
        let publisher = RootCaPublisher::new(programs.endpoint().authority);
        all.push(Box::new(publisher) as Box<dyn Actor>);
    }
    all.extend(windtunnel_openshift::components(environment, &streams));
    check_names(environment, &all)?;
    all.retain(|actor| !environment.without.contains(actor.name()));
    Ok(all)
}

fn check_names(environment: &Environment, all: &[Box<dyn Actor>]) -> Result<(), SessionError> {
    let in_containers = [cvo::NAME, UPDATE_STATUS_CONTROLLER];
    let known = || all.iter().map(|actor| actor.name()).chain(in_containers);
    match environment.without.iter().find(|name| !known().any(|other| other == name.as_str())) {
        None => Ok(()),
        Some(name) => Err(SessionError::NotThere {
            kind: "component".to_owned(),
            name: name.clone(),
            hint: did_you_mean(name, known()),
        }),
    }
}
