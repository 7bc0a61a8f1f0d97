//! `windtunnel insights`: the update status controller for any cluster, until a signal ends it.

mod alerts;
pub(super) mod args;
mod endpoint;
mod monitor;

use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};
use kube::Config;
use windtunnel_apiserver::https::random_token;
use windtunnel_core::text::causes;
use windtunnel_update_status::insights;
use windtunnel_update_status::insights::{Election, Parts};

use self::args::InsightsArgs;
use self::endpoint::Endpoint;
use self::monitor::Monitor;
use super::live::clock;
use super::live::connection::Connection;
use super::signal::Signal;
use super::{Exit, complain, hint, say};

/// Runs the controller.
///
/// # Errors
/// The cluster cannot be reached by what is given, or the endpoint cannot be served.
pub(super) fn insights(args: &InsightsArgs) -> Result<Exit, String> {
    let terms = args.terms()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no connection can be made: {error}"))?;
    runtime.block_on(async {
        // Whoever is told that the endpoint answers may end it at once.
        let signal = Signal::new()?;
        let config = config(args).await?;
        let (client, clock) = clock::client(config.clone()).map_err(|error| causes(&error))?;
        let monitor = Arc::new(Monitor::new(terms));
        let mut election =
            Election::new(client.clone(), &args.namespace, identity(), terms, clock.clone(), monitor.clone());
        let alerts = alerts::stream(args, &config, &monitor).await?;
        let parts = Parts { client, clock, alerts, observer: monitor.clone() };
        if args.once {
            let looked = until(signal, Box::pin(look(args, &mut election, parts))).await;
            election.release().await;
            return looked.unwrap_or(Ok(Exit::Failed));
        }
        let endpoint = Endpoint::listen(args.listen, monitor).await?;
        say(&format!("listening on http://{}\n", endpoint.address()));
        let ended = until(signal, Box::pin(lead(&mut election, parts))).await;
        election.release().await;
        Ok(ended.map_or(Exit::Passed, |why| {
            complain(&why);
            Exit::Failed
        }))
    })
}

/// What `work` comes to; nothing where a signal comes first.
async fn until<T>(signal: Signal, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), pin!(signal.received())).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// Runs the controller as long as this process leads, and tells why it does so no longer.
async fn lead(election: &mut Election, parts: Parts) -> String {
    election.won().await;
    match select(pin!(election.lost()), pin!(insights::run(parts))).await {
        Either::Left(_) => "the Lease is lost".to_owned(),
        Either::Right((Err(error), _)) => error.to_string(),
        Either::Right((Ok(()), _)) => "the controller ended".to_owned(),
    }
}

/// Looks at the cluster once, publishes what is found unless another process does, and prints it.
async fn look(args: &InsightsArgs, election: &mut Election, parts: Parts) -> Result<Exit, String> {
    let publishes = !args.dry_run && election.try_once().await;
    if !publishes && !args.dry_run {
        hint("nothing is published: this process does not hold the Lease");
    }
    let look = match insights::once(parts, publishes).await {
        Ok(look) => look,
        Err(error) => {
            complain(&error.to_string());
            return Ok(Exit::Failed);
        }
    };
    say(&args.output.text(&look.insights)?);
    Ok(Exit::Passed)
}

/// How to reach the cluster: by the kubeconfig, else as a pod of the cluster does.
async fn config(args: &InsightsArgs) -> Result<Config, String> {
    let Some(path) = &args.kubeconfig else {
        return Config::incluster().map_err(|error| {
            format!("expected --kubeconfig FILE, or to run in a pod of the cluster: {}", causes(&error))
        });
    };
    let connection = Connection::of(path, args.context.as_deref());
    let said = |said: windtunnel_openshift::oc::Said| {
        said.stderr.trim_start_matches("error: ").trim_end().to_owned()
    };
    connection.config().await.map_err(said)
}

/// A name that no other candidate has: that of the machine, which in a pod is the pod's, and something random.
fn identity() -> String {
    let machine = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    format!("{}_{}", machine.trim(), random_token())
}
