//! Serves a cluster whose time stands still, for inspection.

use std::path::Path;

use windtunnel_apiserver::https::{self, Settings, random_token};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{ManualClock, Time};

use super::{Signal, route};
use crate::cli::{files, print_output};

/// Serves the state of a cluster at `now`, on a free port, until SIGTERM or SIGINT. It stores writes of
/// clients, but no component reacts to them.
///
/// # Errors
/// The server cannot start, or the kubeconfig cannot be written.
pub(in crate::cli) fn serve_stopped(shared: &Shared, now: Time, kubeconfig: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    runtime.block_on(async {
        let signal = Signal::new()?;
        let address = ([127, 0, 0, 1], 0).into();
        let settings = Settings { address, token: random_token(), ..Settings::default() };
        let shared = shared.with_clock(ManualClock::at(now));
        let serving = https::serve(shared.clone(), settings).await.map_err(|error| error.to_string())?;
        route::create(&shared, &serving);
        files::write_private(kubeconfig, &serving.kubeconfig())?;
        print_output(&format!(
            "serving {} with its clock stopped; kubectl --kubeconfig {}\n",
            serving.url(),
            kubeconfig.display()
        ));
        signal.received().await;
        serving.stop().await;
        Ok(())
    })
}
