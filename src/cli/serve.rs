//! `windtunnel serve`: the API server over HTTPS, until a signal ends it.

mod kubeconfig;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::select;

use super::args::ServeArgs;
use super::{Exit, files, hint, say};
use crate::apiserver::ApiServer;
use crate::apiserver::https::{self, Serving, Settings, random_token};
use crate::apiserver::service::Shared;
use crate::base::clock::{Clock as _, WallClock};

/// Serves until SIGTERM or SIGINT.
pub(super) fn serve(args: &ServeArgs) -> Result<Exit, String> {
    let token = match &args.token {
        Some(token) => checked(token)?,
        None => random_token(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be started: {error}"))?;
    runtime.block_on(async {
        // Whoever is told that the server answers may end it at once.
        let signal = Signal::new()?;
        let server = ApiServer::builder().kubernetes_minor(args.kubernetes).seed(args.seed);
        let shared = Shared::new(server.build(WallClock.now()), Arc::new(WallClock));
        let address = SocketAddr::new(args.address, args.port);
        let settings = Settings { address, token, ..Settings::default() };
        let serving = https::serve(shared, settings).await.map_err(|error| error.to_string())?;
        announce(args, &serving)?;
        signal.received().await;
        serving.stop().await;
        Ok(Exit::Passed)
    })
}

/// Writes the kubeconfig, then tells that the server answers.
fn announce(args: &ServeArgs, serving: &Serving) -> Result<(), String> {
    match &args.kubeconfig {
        Some(path) if args.merge => {
            files::write_private(path, &kubeconfig::merged(path, &serving.kubeconfig())?)?;
        }
        Some(path) => files::write_private(path, &serving.kubeconfig())?,
        None if args.token.is_none() => hint(&format!("the administrator's token is {}", serving.token())),
        None => {}
    }
    say(&format!("serving {}\n", serving.url()));
    Ok(())
}

/// A token that a header can carry.
fn checked(token: &str) -> Result<String, String> {
    if token.is_empty() || token.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err("--token: expected visible ASCII characters without spaces".to_owned());
    }
    Ok(token.to_owned())
}

/// SIGTERM or SIGINT.
#[cfg(unix)]
struct Signal(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    /// From now on, signals do not end the process by themselves.
    fn new() -> Result<Self, String> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| format!("signals cannot be received: {error}");
        Ok(Self(
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::interrupt()).map_err(failed)?,
        ))
    }

    async fn received(mut self) {
        select(std::pin::pin!(self.0.recv()), std::pin::pin!(self.1.recv())).await;
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Signal;

#[cfg(not(unix))]
impl Signal {
    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    async fn received(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
