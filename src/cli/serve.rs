//! `windtunnel serve`: the API server over HTTPS, until a signal ends it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::ServeArgs;
use super::{Exit, files, hint, say};
use crate::apiserver::ApiServer;
use crate::apiserver::https::{self, Serving, Settings, random_token};
use crate::apiserver::service::Shared;
use crate::base::clock::{Clock as _, WallClock};
use crate::base::yaml;

/// Serves until SIGTERM or SIGINT.
pub(super) fn serve(args: &ServeArgs) -> Result<Exit, String> {
    let token = match &args.token {
        Some(token) => checked_token(token)?,
        None => random_token(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be started: {error}"))?;
    runtime.block_on(async {
        let mut signals = signals()?;
        let server = ApiServer::builder().kubernetes_minor(args.kubernetes).seed(args.seed);
        let shared = Shared::new(server.build(WallClock.now()), Arc::new(WallClock));
        let address = SocketAddr::new(args.address, args.port);
        let settings = Settings { address, token, ..Settings::default() };
        let serving = https::serve(shared, settings).await.map_err(|error| error.to_string())?;
        announce(args, &serving)?;
        signals.wait().await;
        serving.stop().await;
        Ok(Exit::Passed)
    })
}

/// Writes the kubeconfig, then tells that the server answers.
fn announce(args: &ServeArgs, serving: &Serving) -> Result<(), String> {
    match &args.kubeconfig {
        Some(path) if args.merge => files::write(path, &merged(path, &serving.kubeconfig())?)?,
        Some(path) => files::write_private(path, &serving.kubeconfig())?,
        None if args.token.is_none() => hint(&format!("the administrator's token: {}", serving.token())),
        None => {}
    }
    say(&format!("serving {}\n", serving.url()));
    Ok(())
}
