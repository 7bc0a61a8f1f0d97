//! `windtunnel serve`: the API server over HTTPS, until a signal ends it.

mod kubeconfig;
mod simulated;

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::select;

use super::args::ServeArgs;
use super::{Exit, files, hint, say};
use crate::apiserver::ApiServer;
use crate::apiserver::https::{self, Authority, Serving, Settings, Webhooks, random_token};
use crate::apiserver::service::Shared;
use crate::apiserver::storage::DataDir;
use crate::base::clock::{Clock as _, WallClock};
use crate::scenario::plan::KUBERNETES_MINORS;
use simulated::Simulated;
use tokio::runtime::Handle;

/// Serves until SIGTERM or SIGINT.
pub(super) fn serve(args: &ServeArgs) -> Result<Exit, String> {
    let given = args.token.as_deref().map(checked).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be started: {error}"))?;
    runtime.block_on(async {
        // Whoever is told that the server answers may end it at once.
        let signal = Signal::new()?;
        let Begun { shared, token, authority, simulated } = begin(args).map_err(|error| error.to_string())?;
        let address = SocketAddr::new(args.address, args.port);
        let settings = Settings { address, token: given.unwrap_or(token), authority, ..Settings::default() };
        let serving = https::serve(shared, settings).await.map_err(|error| error.to_string())?;
        announce(args, &serving)?;
        signal.received().await;
        serving.stop().await;
        if let Some(simulated) = simulated {
            let _ = tokio::task::spawn_blocking(|| simulated.stop()).await;
        }
        Ok(Exit::Passed)
    })
}

/// What is served, and the secrets that stay the same as long as its data.
struct Begun {
    shared: Shared,
    token: String,
    authority: Option<Authority>,
    simulated: Option<Simulated>,
}

/// Makes the server: a new one, or the one that the data folder holds.
fn begin(args: &ServeArgs) -> Result<Begun, Box<dyn std::error::Error>> {
    let (clock, now) = (Arc::new(WallClock), WallClock.now());
    let begun = |shared| Begun { shared, token: random_token(), authority: None, simulated: None };
    if let Some(plan) = simulated::plan(args)? {
        let simulated = Simulated::start(plan, args.seed, args.speed, &Handle::current())?;
        let shared = simulated.shared.clone();
        return Ok(Begun { simulated: Some(simulated), ..begun(shared) });
    }
    let minor = args.kubernetes.unwrap_or(*KUBERNETES_MINORS.end());
    let server = ApiServer::builder().kubernetes_minor(minor).hooks(Webhooks);
    let Some(folder) = &args.data_dir else {
        return Ok(begun(Shared::new(server.seed(args.seed).build(now), clock)));
    };
    let data = DataDir::open(folder)?;
    let new = Authority::generate()?;
    let authority = Authority::from_key_pem(&data.setting("authority", || new.key_pem())?)?;
    let token = data.setting("token", random_token)?;
    // What was drawn from one seed cannot go on with another.
    let seed = data.setting("seed", || args.seed.to_string())?.parse()?;
    let server = server.seed(seed).saved(data.begin()?).build(now);
    let shared = Shared::stored(server, clock, Box::new(data))?;
    Ok(Begun { shared, token, authority: Some(authority), simulated: None })
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
