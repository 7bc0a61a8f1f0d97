//! `windtunnel adm upgrade`: `oc adm upgrade` against any cluster, printed and ended as `oc` does it.

mod status;

use clap::Parser as _;
use http::{Method, Request};
use kube::Client;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::text::causes;
use windtunnel_openshift::oc::{Alert, Command, Gates, Patch, Said, Sight, Turn};

use super::args::AdmCommand;
use super::live::connection::{self, Connection};
use super::live::{block_on, get, plain, thanos};
use super::{Exit, repeat};

/// Where the ClusterVersion is.
const CLUSTER_VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";

/// Runs the command.
///
/// # Errors
/// A flag that leads to the cluster is no good.
pub(super) fn adm(command: &AdmCommand) -> Result<Exit, String> {
    let AdmCommand::Upgrade { words } = command;
    let (ours, words) = connection::divided(words);
    let connection = Connection::try_parse_from(ours)
        .map_err(|error| error.to_string().trim_start_matches("error: ").to_owned())?;
    if let Some((first, words)) = words.split_first()
        && first == "status"
    {
        return match status::details(words) {
            Err(said) => Ok(repeat(&said)),
            Ok(details) => super::status::ask(&connection, details),
        };
    }
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let gates = Gates::of(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let said = match Command::read(&words, gates) {
        Err(said) => said,
        Ok(command) => play(&connection, &command)?,
    };
    Ok(repeat(&said))
}

fn play(connection: &Connection, command: &Command) -> Result<Said, String> {
    let played = block_on(async {
        let config = connection.config().await?;
        let client = Client::try_from(config.clone()).map_err(|error| plain(&error.to_string()))?;
        let cluster_version = get(&client, CLUSTER_VERSION).await?.map(Object::new);
        let alerts = if command.reads_alerts() {
            thanos::alerts(&client, &config).await.and_then(|body| alerts_in(&body))
        } else {
            Ok(Vec::new())
        };
        let alerts = alerts.as_deref().map_err(String::as_str);
        Ok(match command.begin(&Sight { cluster_version: cluster_version.as_ref(), alerts }) {
            Turn::Done(said) => said,
            Turn::Patch(patch) => send(&client, patch).await,
        })
    })?;
    Ok(played.unwrap_or_else(|said: Said| said))
}

/// The alerts in an answer of Prometheus.
fn alerts_in(body: &str) -> Result<Vec<Alert>, String> {
    let answer: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    Ok(answer["data"]["alerts"].as_array().into_iter().flatten().map(Alert::read).collect())
}

/// Sends the patch and takes its answer.
async fn send(client: &Client, patch: Patch) -> Said {
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(CLUSTER_VERSION)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(patch.body.clone().into_bytes());
    let answer = match request {
        Ok(request) => client.request::<Value>(request).await,
        Err(error) => return patch.answered(Err(&error.to_string())),
    };
    match answer {
        Ok(object) => patch.answered(Ok(&Object::new(object))),
        Err(kube::Error::Api(status)) => patch.answered(Err(&status.message)),
        Err(error) => patch.answered(Err(&causes(&error))),
    }
}
