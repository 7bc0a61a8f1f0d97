//! `windtunnel adm upgrade`: `oc adm upgrade` against any cluster, with the output and exit codes of `oc`.

mod status_arguments;

use clap::Parser as _;
use http::{HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::text::error_chain;
use windtunnel_openshift::oc::{Alert, ClusterView, Command, CommandOutput, CommandStep, Gates, Patch};

use super::args::AdmCommand;
use super::live::client::client;
use super::live::connection::{self, Connection};
use super::live::{block_on, client_error, get, thanos};
use super::{Exit, print_client_output};

/// The path of the ClusterVersion.
const CLUSTER_VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";

/// Runs the command.
///
/// # Errors
/// A connection flag is invalid.
pub(super) fn adm(command: &AdmCommand) -> Result<Exit, String> {
    let AdmCommand::Upgrade { arguments } = command;
    let (connection_flags, arguments) = connection::split_flags(arguments);
    let connection = Connection::try_parse_from(connection_flags)
        .map_err(|error| error.to_string().trim_start_matches("error: ").to_owned())?;
    if let Some((subcommand, arguments)) = arguments.split_first()
        && subcommand == "status"
    {
        return match status_arguments::details(arguments) {
            Err(output) => Ok(print_client_output(&output)),
            Ok(details) => super::status::print_current(&connection, details),
        };
    }
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let gates = Gates::from_env(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let output = match Command::read(&arguments, gates) {
        Err(output) => output,
        Ok(command) => execute(&connection, &command)?,
    };
    Ok(print_client_output(&output))
}

fn execute(connection: &Connection, command: &Command) -> Result<CommandOutput, String> {
    let outcome = block_on(async {
        let config = connection.config().await?;
        let client = client(config.clone()).map_err(|error| client_error(&error.to_string()))?;
        let cluster_version = get(&client, CLUSTER_VERSION).await?.map(Object::new);
        let alerts = if command.reads_alerts() {
            thanos::alerts(&client, &config).await.and_then(|body| alerts_in(&body))
        } else {
            Ok(Vec::new())
        };
        let alerts = alerts.as_deref().map_err(String::as_str);
        Ok(match command.begin(&ClusterView { cluster_version: cluster_version.as_ref(), alerts }) {
            CommandStep::Done(output) => output,
            CommandStep::Patch(patch) => send(&client, patch).await,
        })
    })?;
    Ok(outcome.unwrap_or_else(|output: CommandOutput| output))
}

/// Parses the alerts in an answer of Prometheus.
fn alerts_in(body: &str) -> Result<Vec<Alert>, String> {
    let answer: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    Ok(answer["data"]["alerts"].as_array().into_iter().flatten().map(Alert::read).collect())
}

/// Sends the patch and handles the answer. Like the client, prints the API server's warnings.
async fn send(client: &Client, mut patch: Patch) -> CommandOutput {
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(CLUSTER_VERSION)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Body::from(patch.body.clone().into_bytes()));
    let answer = match request {
        Ok(request) => client.send(request).await,
        Err(error) => return patch.finish(Err(&error.to_string())),
    };
    let (head, body) = match answer {
        Ok(answer) => answer.into_parts(),
        Err(error) => return patch.finish(Err(&error_chain(&error))),
    };
    for warning in head.headers.get_all(http::header::WARNING).iter().filter_map(warning_text) {
        patch = patch.with_warning(&warning);
    }
    let object: Value = match body.collect().await {
        Ok(body) => serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
        Err(error) => return patch.finish(Err(&error_chain(&error))),
    };
    if head.status.is_success() {
        return patch.finish(Ok(&Object::new(object)));
    }
    let status = head.status.to_string();
    patch.finish(Err(object["message"].as_str().unwrap_or(&status)))
}

/// The text of a warning header: `299 - "unknown field"` (RFC 7234, section 5.5).
fn warning_text(header: &HeaderValue) -> Option<String> {
    let text = header.to_str().ok()?.strip_prefix("299 ")?;
    let quoted = text.split_once(' ')?.1.strip_prefix('"')?.strip_suffix('"')?;
    let mut escaped = false;
    let keeps = |character: &char| {
        escaped = *character == '\\' && !escaped;
        !escaped
    };
    Some(quoted.chars().filter(keeps).collect())
}
