//! A cluster of which time stands still, for who wants to look at it.

use std::path::Path;

use windtunnel_apiserver::https;
use windtunnel_apiserver::https::{Settings, random_token};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{SetClock, Time};

use super::Signal;
use crate::cli::{files, say};

/// Serves a cluster as it is at `now`, on a port that is free, until SIGTERM or SIGINT. What clients write is kept; nobody
/// reacts to it.
///
/// # Errors
/// It cannot be served, or the kubeconfig cannot be written.
pub(in crate::cli) fn still(shared: &Shared, now: Time, kubeconfig: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be started: {error}"))?;
    runtime.block_on(async {
        let signal = Signal::new()?;
        let address = ([127, 0, 0, 1], 0).into();
        let settings = Settings { address, token: random_token(), ..Settings::default() };
        let shared = shared.with_clock(SetClock::at(now));
        let serving = https::serve(shared, settings).await.map_err(|error| error.to_string())?;
        files::write_private(kubeconfig, &serving.kubeconfig())?;
        say(&format!("serving {} as it was; kubectl --kubeconfig {}\n", serving.url(), kubeconfig.display()));
        signal.received().await;
        serving.stop().await;
        Ok(())
    })
}
