//! `windtunnel insights`: runs the update status controller for any cluster until a signal.

mod alerts;
mod certificate;
mod deliveries;
mod endpoint;
mod monitor;

use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};
use kube::Config;
use windtunnel_apiserver::https::random_token;
use windtunnel_core::text::error_chain;
use windtunnel_update_status::controller::deliveries::Deliveries;
use windtunnel_update_status::controller::{self, Election, Parts};

use self::deliveries::DeliveryEndpoint;
use self::monitor::Monitor;
use super::args::insights::InsightsArgs;
use super::endpoint::Endpoint;
use super::live::connection::Connection;
use super::live::{clock, error_message};
use super::terminal::signal::Signal;
use super::{Exit, print_errors, print_notice, print_output};

/// Runs the controller.
///
/// # Errors
/// The connection settings are invalid, or the endpoint cannot be served.
pub(super) fn insights(args: &InsightsArgs) -> Result<Exit, String> {
    let terms = args.terms()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot connect: {error}"))?;
    runtime.block_on(async {
        // A user may send a signal as soon as the endpoint answers, so the handler must be installed before.
        let signal = Signal::new()?;
        let config = config(args).await?;
        let (client, clock) = clock::client(config.clone()).map_err(|error| error_chain(&error))?;
        let monitor = Arc::new(Monitor::new(terms));
        let mut election =
            Election::new(client.clone(), &args.namespace, identity(), terms, clock.clone(), monitor.clone());
        let alerts = alerts::stream(args, &config, &monitor).await?;
        let deliveries = Deliveries::new(client.clone(), clock.clone(), monitor.clone());
        let parts = Parts { client, clock, alerts, observer: monitor.clone() };
        if args.once {
            let exit = until(signal, Box::pin(assess_once(args, &mut election, parts))).await;
            election.release().await;
            return exit.unwrap_or(Ok(Exit::Failed));
        }
        let answer = move |request: &http::Request<hyper::body::Incoming>| {
            Some(endpoint::answer(request.method(), request.uri().path(), &monitor))
        };
        let endpoint = Endpoint::listen("--listen", args.listen, Arc::new(answer)).await?;
        print_output(&format!("listening on http://{}\n", endpoint.address()));
        let deliveries = DeliveryEndpoint::listen(args, deliveries).await?;
        if let Some(deliveries) = &deliveries {
            print_output(&format!("taking deliveries on https://{}\n", deliveries.address()));
        }
        let ended = until(signal, Box::pin(controller::run_leading(&mut election, parts))).await;
        election.release().await;
        let Some(Err(why)) = ended else { return Ok(Exit::Passed) };
        print_errors(&why.to_string());
        Ok(Exit::Failed)
    })
}

/// Returns the result of `work`, or `None` after a signal.
async fn until<T>(signal: Signal, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), pin!(signal.received())).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Reads the cluster once, publishes the insights unless another process is the leader, and prints them.
async fn assess_once(args: &InsightsArgs, election: &mut Election, parts: Parts) -> Result<Exit, String> {
    let publishes = !args.dry_run && election.try_once().await;
    if !publishes && !args.dry_run {
        print_notice("nothing is published: this process does not hold the Lease");
    }
    let outcome = match controller::run_once(parts, publishes).await {
        Ok(outcome) => outcome,
        Err(error) => {
            print_errors(&error.to_string());
            return Ok(Exit::Failed);
        }
    };
    print_output(&args.output.text(&outcome.insights)?);
    Ok(Exit::Passed)
}

/// Returns the connection settings: from the kubeconfig, or else those of a pod in the cluster.
async fn config(args: &InsightsArgs) -> Result<Config, String> {
    let Some(path) = &args.kubeconfig else {
        return Config::incluster().map_err(|error| {
            format!("expected --kubeconfig FILE, or to run in a pod of the cluster: {}", error_chain(&error))
        });
    };
    let connection = Connection::from_kubeconfig(path, args.context.as_deref());
    connection.config().await.map_err(|output| error_message(&output))
}

/// Returns a unique name for the election: the host name, which in a pod is the pod's name, with a random
/// suffix.
fn identity() -> String {
    let machine = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    format!("{}_{}", machine.trim(), random_token())
}
