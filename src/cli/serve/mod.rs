//! `windtunnel serve`: the API server over HTTPS, until a signal.
//!
//! * `clock/`: the time of a served cluster, and the path `/windtunnel/clock`
//! * `simulated.rs`: a simulated cluster (`--version`, `--scenario`); `continued.rs` one that a run has left
//! * `dumped.rs` and `replay.rs`: dumps (`--from`) and records of live clusters
//! * `controllers.rs`: controllers beside a bare server (`--controllers`)
//! * `update_service.rs`: the socket of the update service
//! * `requests.rs`: the requests that `windtunnel rbac` reads

pub(super) mod admission;
pub(super) mod beside;
mod clock;
mod continued;
pub(super) mod controllers;
mod dumped;
mod import;
mod kinds;
mod kubeconfig;
mod open_cluster;
pub(super) mod replay;
mod requests;
mod route;
pub(in crate::cli) mod runtime;
mod simulated;
mod timeline;
mod update_service;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use futures::future::select;
use tokio::runtime::Handle;
use tokio::sync::watch;
use windtunnel_apiserver::https::{self, Authority, Serving, Settings, Webhooks, random_token};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::storage::{DataDir, StorageError};
use windtunnel_apiserver::{AdmissionPlugins, ApiServer};
use windtunnel_core::clock::{Clock as _, WallClock};

use self::beside::Beside;
use self::controllers::ServerProperties;
use super::args::{Listening, ServeArgs};
use super::faults::log::FaultLog;
use super::terminal::signal::Signal;
use super::{Exit, files, print_notice, print_output};
use crate::plan::KUBERNETES_MINORS;
pub(super) use continued::serve_session;
use dumped::Files;
use simulated::Simulated;
use timeline::TimelineState;

pub(super) fn serve(args: &ServeArgs) -> Result<Exit, String> {
    serve_until_end(&args.listening, args.update_service_port, args.exit, || {
        let mut started = start_server(args).map_err(|error| error.to_string())?;
        let authority = started.authority.as_ref().map(Authority::certificate_pem).unwrap_or_default();
        // A copy of the authority, whose certificates the server accepts. A simulated cluster has none.
        let key = started.authority.as_ref().map(Authority::key_pem);
        let signer = key.map_or_else(Authority::generate, |key| Authority::from_key_pem(&key));
        let signer = Arc::new(signer.map_err(|error| error.to_string())?);
        let properties = ServerProperties { minor: minor(args), authority, signer };
        let options = beside::Options {
            seed: args.seed,
            stays_at_version: args.kubernetes.is_some(),
            runtime: Handle::current(),
        };
        let mut controllers = controllers::of_kubernetes(&args.controllers);
        if let Some((beside, shared)) =
            beside::start(&started.shared, &args.controllers, &properties, options)?
        {
            started.shared = shared;
            started.beside = Some(beside);
            controllers.clear();
        }
        let shared = started.shared.clone();
        let log = match args.faults.random_faults() {
            Some(random_faults) => {
                print_notice(&format!("faults: {random_faults}"));
                Some(FaultLog::begin(&shared, random_faults, args.faults.fault_log.as_deref())?)
            }
            None => None,
        };
        let controllers = controllers::run(shared, controllers, properties);
        let background = async move {
            let faults = async {
                match log {
                    Some(log) => log.follow().await,
                    None => std::future::pending().await,
                }
            };
            futures::future::join(controllers, faults).await;
        };
        Ok((started, background))
    })
}

/// Returns the Kubernetes minor of a plain API server.
fn minor(args: &ServeArgs) -> u32 {
    args.kubernetes.unwrap_or(*KUBERNETES_MINORS.end())
}

/// As [`serve_until_end`], without an end of its own.
fn serve_until_signal<Background: Future<Output = ()> + Send + 'static>(
    args: &Listening,
    begin: impl FnOnce() -> Result<(StartedServer, Background), String>,
) -> Result<Exit, String> {
    serve_until_end(args, 0, false, begin)
}

/// Serves the result of `begin` until SIGTERM or SIGINT, or with `ends` until its timeline has ended; its future
/// runs in the background once the server answers.
fn serve_until_end<Background: Future<Output = ()> + Send + 'static>(
    args: &Listening,
    update_service_port: u16,
    ends: bool,
    begin: impl FnOnce() -> Result<(StartedServer, Background), String>,
) -> Result<Exit, String> {
    let given_token = args.token.as_deref().map(checked_token).transpose()?;
    let client_authorities = args.client_ca_file.as_deref().map(files::read).transpose()?;
    let runtime = runtime::start(None)?;
    runtime.block_on(async {
        // A user may send a signal as soon as the server answers, so the handler must be installed before.
        let signal = Signal::new()?;
        let (started, background) = begin()?;
        let StartedServer { shared, token, authority, simulated, dumped, beside } = started;
        let shared = requests::counted(&shared);
        let stored = shared.clone();
        let address = SocketAddr::new(args.address, args.port);
        let bare = simulated.is_none() && dumped.is_none();
        let token = given_token.unwrap_or(token);
        // The controller that signs requests for certificates uses the server's own authority.
        let own = authority.as_ref().map(Authority::certificate_pem).unwrap_or_default();
        let client_authorities = client_authorities.map(|given| format!("{}\n{own}", given.trim_end()));
        let settings = Settings { address, token, authority, client_authorities, ..Settings::default() };
        let serving = https::serve(shared.clone(), settings).await.map_err(|error| error.to_string())?;
        if bare {
            let now = shared.now();
            shared.with(|server| server.advertise(serving.endpoint(), now));
        }
        if let Some(dumped) = dumped {
            dumped.route_alerts(&shared, &serving);
        }
        let service = match &simulated {
            None => None,
            Some(simulated) => {
                kinds::create(&shared);
                route::create(&shared, &serving);
                Some(update_service::listen(update_service_port, Arc::clone(&simulated.environment)).await?)
            }
        };
        announce(args, &serving)?;
        if let Some(service) = &service {
            print_output(&format!(
                "update service {}\nPrometheus {}/api/v1/query (Route {})\n",
                update_service::url(service),
                serving.url(),
                route::NAME
            ));
        }
        if let Some(notice) = simulated.as_ref().and_then(|simulated| simulated.notice.as_deref()) {
            print_notice(notice);
        }
        let background = tokio::spawn(background);
        let timeline = simulated.as_ref().map(|simulated| simulated.timeline.clone());
        let ended = end_of(timeline.clone(), ends);
        select(pin!(signal.received()), pin!(ended)).await;
        background.abort();
        serving.stop().await;
        if let Some(beside) = beside {
            let _ = tokio::task::spawn_blocking(|| beside.stop()).await;
        }
        if let Some(simulated) = simulated {
            let _ = tokio::task::spawn_blocking(|| simulated.stop()).await;
        }
        // A closed file needs no crash recovery at the next start.
        let _ = tokio::task::spawn_blocking(move || stored.close()).await;
        let has_failed = |state| matches!(state, TimelineState::Failed | TimelineState::Stopped);
        let is_failed = timeline.is_some_and(|timeline| has_failed(*timeline.borrow()));
        Ok(if is_failed { Exit::Failed } else { Exit::Passed })
    })
}

/// Waits until the cluster cannot go on or, with `ends`, for the end of its timeline; for ever without one.
async fn end_of(timeline: Option<watch::Receiver<TimelineState>>, ends: bool) {
    let is_end = |state: &TimelineState| match state {
        TimelineState::Running => false,
        TimelineState::Passed | TimelineState::Failed => ends,
        TimelineState::Stopped => true,
    };
    if let Some(mut timeline) = timeline
        && timeline.wait_for(is_end).await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// The server, and the secrets that stay the same as long as its data.
struct StartedServer {
    shared: Shared,
    token: String,
    authority: Option<Authority>,
    simulated: Option<Simulated>,
    dumped: Option<Files>,
    beside: Option<Beside>,
}

/// Creates the server: a new one, or the one in the data folder.
fn start_server(args: &ServeArgs) -> Result<StartedServer, Box<dyn std::error::Error>> {
    let (clock, now) = (Arc::new(WallClock), WallClock.now());
    let started = |shared| StartedServer {
        shared,
        token: random_token(),
        authority: None,
        simulated: None,
        dumped: None,
        beside: None,
    };
    if let Some(plan) = simulated::plan(args)? {
        // Pods of the cluster must know this authority.
        let authority = Authority::generate()?;
        let simulated = Simulated::start(plan, args, &authority, &Handle::current())?;
        let shared = simulated.shared.clone();
        return Ok(StartedServer {
            simulated: Some(simulated),
            authority: Some(authority),
            ..started(shared)
        });
    }
    if let Some(path) = &args.from {
        let (dumped, shared) = dumped::read(path, args)?;
        return Ok(StartedServer { dumped: Some(dumped), ..started(shared) });
    }
    // As with a real server, a controller writes the limits of quotas, or nobody does.
    let server = ApiServer::builder()
        .kubernetes(minor(args))
        .hooks(Webhooks)
        .quota_controller(true)
        .own_admission_plugins(admission_plugins(args)?)
        .authorization_mode(args.authorization_mode);
    let Some(folder) = &args.data_dir else {
        let shared = Shared::new(server.seed(args.seed).build(now), clock);
        return Ok(StartedServer { authority: Some(Authority::generate()?), ..started(shared) });
    };
    files::check_links(folder)?;
    let mut data = DataDir::open(folder)?;
    let new = Authority::generate()?;
    let authority = Authority::from_key_pem(&data.setting("authority", || new.key_pem())?)?;
    let token = data.setting("token", random_token)?;
    // Uids are distinct across starts only with the same seed, so a later `--seed` is ignored.
    let seed = data.setting("seed", || args.seed.to_string())?.parse()?;
    let server = server.seed(seed).saved(data.begin()?).build(now);
    let report = |why: &StorageError| {
        print_notice(&format!(
            "cannot write to the data folder: {why}; from now on clients get 500 for writes: fix the cause, then restart"
        ));
    };
    let shared = Shared::stored(server, clock, Box::new(data), Box::new(report))?;
    Ok(StartedServer { token, authority: Some(authority), ..started(shared) })
}

/// Returns the admission plug-ins of a plain API server.
fn admission_plugins(args: &ServeArgs) -> Result<AdmissionPlugins, String> {
    let lists = (&*args.enable_admission_plugins, &*args.disable_admission_plugins);
    admission::plugins(lists, args.admission_control_config_file.as_deref(), minor(args), "windtunnel")
}

/// Writes the kubeconfig, then prints the URL.
fn announce(args: &Listening, serving: &Serving) -> Result<(), String> {
    match &args.kubeconfig {
        Some(path) if args.merge => {
            files::write_private(path, &kubeconfig::merged(path, &serving.kubeconfig())?)?;
        }
        Some(path) => files::write_private(path, &serving.kubeconfig())?,
        None if args.token.is_none() => {
            print_notice(&format!("the administrator's token is {}", serving.token()));
        }
        None => {}
    }
    print_output(&format!("serving {}\n", serving.url()));
    Ok(())
}

/// Checks that a header can contain the token.
fn checked_token(token: &str) -> Result<String, String> {
    if token.is_empty() || token.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err("--token: expected visible ASCII characters without spaces".to_owned());
    }
    Ok(token.to_owned())
}
