//! Polls a Prometheus for alerts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::text::error_chain;
use windtunnel_update_status::controller::AlertStream;

use super::monitor::Monitor;
use crate::cli::args::insights::InsightsArgs;
use crate::cli::files::input;
use crate::cli::live::thanos;
use crate::cli::output::Shown as _;
use crate::cli::print_notice;

/// The polling interval, which equals the interval of rule evaluations in Prometheus.
const PERIOD: Duration = Duration::from_secs(30);
/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns a stream of the alerts of the Prometheus that the arguments name; `None` if they name none. After
/// a failed request, the previous alerts stay.
///
/// # Errors
/// The connection settings are invalid.
pub(super) async fn stream(
    args: &InsightsArgs,
    config: &Config,
    monitor: &Arc<Monitor>,
) -> Result<Option<AlertStream>, String> {
    let Some(url) = &args.prometheus else {
        print_notice("no --prometheus: there are no insights on alerts");
        return Ok(None);
    };
    let mut config = config.clone();
    config.cluster_url = url.clone();
    if let Some(path) = &args.prometheus_ca {
        config.root_cert.get_or_insert_default().extend(certificates(path).await?);
        // Otherwise the client would use this file alone.
        config.root_cert_file = None;
    }
    let client =
        Client::try_from(config).map_err(|error| format!("--prometheus {url}: {}", error_chain(&error)))?;
    let monitor = Arc::clone(monitor);
    let start = (client, monitor, Instant::now());
    let alerts = stream::unfold(start, async |(client, monitor, mut due)| {
        sleep_until(due).await;
        due = Instant::now() + PERIOD;
        let answer = timeout(TIMEOUT, thanos::fetch_alerts(&client)).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer".to_owned())).and_then(|body| read(&body));
        monitor.note_alert_request(answer.as_ref().err());
        Some((answer, (client, monitor, due)))
    });
    Ok(Some(alerts.boxed()))
}

/// Reads the certificates in a file, as those of a kubeconfig are read.
async fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    input::check(path).map_err(|error| format!("{}: {error}", path.shown()))?;
    let kubeconfig = json!({
        "clusters": [{"name": "", "cluster": {"server": "https://prometheus", "certificate-authority": path}}],
        "users": [{"name": "", "user": {}}],
        "contexts": [{"name": "", "context": {"cluster": "", "user": ""}}],
        "current-context": "",
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).map_err(|error| error.to_string())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| format!("{}: {}", path.shown(), error_chain(&error)))?;
    Ok(config.root_cert.unwrap_or_default())
}

fn read(body: &str) -> Result<Vec<ActiveAlert>, String> {
    let answer: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let alerts = answer["data"]["alerts"].as_array().ok_or("expected `data.alerts` in the answer")?;
    Ok(alerts.iter().map(ActiveAlert::parse).collect())
}
