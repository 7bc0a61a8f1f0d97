//! `windtunnel adm upgrade`: `oc adm upgrade` against any cluster, printed and ended as `oc` does it.

mod alerts;
mod connection;

use std::io::Write as _;

use clap::Parser as _;
use http::{Method, Request, StatusCode};
use kube::Client;
use serde_json::Value;

use self::connection::Connection;
use super::args::AdmCommand;
use super::{Exit, say};
use crate::model::Object;
use crate::oc::{Alert, Command, Gates, Patch, Said, Sight, Turn};

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
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let gates = Gates::of(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let said = match Command::read(&words, gates) {
        Err(said) => said,
        Ok(command) => play(&connection, &command)?,
    };
    say(&said.stdout);
    let _ = std::io::stderr().write_all(said.stderr.as_bytes());
    Ok(if said.code == 0 { Exit::Passed } else { Exit::Failed })
}

fn play(connection: &Connection, command: &Command) -> Result<Said, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no connection can be made: {error}"))?;
    let played = runtime.block_on(async {
        let config = connection.config().await?;
        let client = Client::try_from(config.clone()).map_err(|error| plain(&error.to_string()))?;
        let cluster_version = get(&client, CLUSTER_VERSION).await?.map(Object::new);
        let alerts: Result<Vec<Alert>, String> =
            if command.reads_alerts() { alerts::get(&client, &config).await } else { Ok(Vec::new()) };
        let alerts = alerts.as_deref().map_err(String::as_str);
        Ok(match command.begin(&Sight { cluster_version: cluster_version.as_ref(), alerts }) {
            Turn::Done(said) => said,
            Turn::Patch(patch) => send(&client, patch).await,
        })
    });
    Ok(played.unwrap_or_else(|said: Said| said))
}

/// Reads an object; `None` where there is none.
async fn get(client: &Client, path: &str) -> Result<Option<Value>, Said> {
    let request = Request::get(path).body(Vec::new()).map_err(|error| plain(&error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.code == StatusCode::NOT_FOUND.as_u16() => Ok(None),
        Err(kube::Error::Api(status)) => {
            let stderr = match status.code {
                401 => format!("error: You must be logged in to the server ({})\n", status.message),
                _ => format!("Error from server ({}): {}\n", status.reason, status.message),
            };
            Err(Said { stderr, code: 1, ..Said::default() })
        }
        Err(error) => Err(Said {
            stderr: format!("Unable to connect to the server: {}\n", causes(&error)),
            code: 1,
            ..Said::default()
        }),
    }
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

/// An error of the client itself.
fn plain(message: &str) -> Said {
    Said { stderr: format!("error: {message}\n"), code: 1, ..Said::default() }
}

/// An error with what is behind it, as far as that says more.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        source = error.source();
    }
    text
}
