//! Serves the cluster of a run from the moment at which the run stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windtunnel_apiserver::https::{self, Serving, Settings, random_token};
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::service_accounts::RootCaPublisher;

use super::clock::{self, ClockEndpoint, ClusterClock};
use super::{Signal, kinds, route, runtime};
use crate::cli::output::Shown as _;
use crate::cli::{files, print_output};
use crate::engine::Session;

/// Serves the cluster on a free port until SIGTERM or SIGINT. Its time passes at `speed`. Without a speed its clock is
/// stopped: the server stores writes of clients, and no component reacts to them before a client resumes the clock.
///
/// # Errors
/// The server cannot start, the kubeconfig cannot be written, or a component makes no progress.
pub(in crate::cli) fn serve_session(
    mut session: Session,
    shared: &Shared,
    speed: Option<f64>,
    kubeconfig: &Path,
) -> Result<(), String> {
    let runtime = runtime::start(None)?;
    let now = session.now();
    let cluster_clock = Arc::new(match speed {
        Some(speed) => ClusterClock::starting_at(now, speed),
        None => ClusterClock::paused_at(now),
    });
    let served = shared.with_clock(cluster_clock.clone());
    let endpoint = ClockEndpoint::new(Arc::clone(&cluster_clock), served.clone());
    let (signal, serving) = runtime.block_on(async {
        let signal = Signal::new()?;
        let serving = serve(&served.with_endpoint(Arc::new(endpoint))).await?;
        files::write_private(kubeconfig, &serving.kubeconfig())?;
        Ok::<_, String>((signal, serving))
    })?;
    let time = speed.map_or_else(|| "its clock stopped".to_owned(), |speed| format!("time at {speed}x"));
    print_output(&format!(
        "serving {} with {time}; kubectl --kubeconfig {}\n",
        serving.url(),
        kubeconfig.shown()
    ));
    session.continue_after_halt();
    session.add(Box::new(RootCaPublisher::new(serving.authority().certificate_pem())));
    session.scrape_now();
    let stopping = Arc::new(AtomicBool::new(false));
    let (stop, woken) = (Arc::clone(&stopping), served.clone());
    runtime.spawn(async move {
        signal.received().await;
        stop.store(true, Ordering::Relaxed);
        // The cluster may wait until something is due.
        woken.wake();
    });
    let ended = clock::run(&mut session, &cluster_clock, &served, &stopping, runtime.handle());
    runtime.block_on(serving.stop());
    ended.map_err(|error| format!("the simulated cluster stopped: {error}"))
}

/// Serves the cluster, with the kinds that only clients need and the Route to its Prometheus.
async fn serve(shared: &Shared) -> Result<Serving, String> {
    let settings =
        Settings { address: ([127, 0, 0, 1], 0).into(), token: random_token(), ..Settings::default() };
    let serving = https::serve(shared.clone(), settings).await.map_err(|error| error.to_string())?;
    kinds::create(shared);
    route::create(shared, &serving);
    Ok(serving)
}
