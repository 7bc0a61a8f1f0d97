//! `windtunnel rbac`: which rules of their roles users need, by the requests that they sent.

mod recorded;
mod text;

use http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_core::text::error_chain;
use windtunnel_openshift::oc::CommandOutput;

use super::args::{RbacArgs, RbacFormat};
use super::live::client::{client, failure};
use super::live::connection::Connection;
use super::live::{block_on, client_error};
use super::{Exit, print_client_output};

const PATH: &str = "/windtunnel/requests";

/// The answer of the cluster, or the users of a record.
#[derive(Debug, Deserialize)]
struct Report {
    users: Vec<User>,
}

/// A user, its rules and its rejected requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    #[serde(rename = "user")]
    name: String,
    is_privileged: bool,
    /// A record has no numbers of requests.
    requests: Option<u64>,
    rules: Vec<Rule>,
    refused: Vec<RefusedRequest>,
    /// The number of different refused requests that are not in the list.
    #[serde(default)]
    refused_more: u64,
}

/// A rule of a role, and how much of it was used.
#[derive(Debug, Deserialize)]
struct Rule {
    binding: String,
    role: String,
    index: usize,
    requests: Option<u64>,
    used: Vec<String>,
    unused: Vec<String>,
}

/// A request that got 403.
#[derive(Debug, Deserialize)]
struct RefusedRequest {
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    path: String,
    refused: Option<u64>,
}

/// Prints the report of a cluster or of a record.
///
/// # Errors
/// No request can be sent, or the record is unreadable or has no requests of users.
pub(super) fn rbac(args: &RbacArgs) -> Result<Exit, String> {
    let output = if let Some(path) = &args.record {
        output(recorded::users(path)?, "in this run", args)
    } else {
        let connection = Connection::new(args.kubeconfig.as_deref(), args.context.as_deref());
        block_on(served(&connection, args))?
    };
    Ok(print_client_output(&output.unwrap_or_else(|error| error)))
}

/// The report of a served cluster.
async fn served(connection: &Connection, args: &RbacArgs) -> Result<CommandOutput, CommandOutput> {
    let client = client(connection.config().await?).map_err(|error| client_error(&error_chain(&error)))?;
    let request = Request::get(PATH).body(Vec::new()).map_err(|error| client_error(&error.to_string()))?;
    let answer: Value = client.request(request).await.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 404 => client_error(
            "this cluster does not count requests; `windtunnel serve`, `replay` and `run --serve` serve clusters that do",
        ),
        kube::Error::Api(status) => client_error(&status.message),
        error => client_error(&failure(&error)),
    })?;
    output(answer, "to this cluster", args)
}

/// The report of the users that the arguments select. `place` is where they sent their requests.
fn output(mut answer: Value, place: &str, args: &RbacArgs) -> Result<CommandOutput, CommandOutput> {
    if let Some(users) = answer["users"].as_array_mut() {
        users.retain(|user| is_wanted(&args.user, user));
    }
    let report: Report =
        serde_json::from_value(answer.clone()).map_err(|error| client_error(&error.to_string()))?;
    let missing = args.user.iter().find(|wanted| !report.users.iter().any(|user| fits(wanted, &user.name)));
    if let Some(missing) = missing {
        return Err(client_error(&format!("user {missing}: it has sent no request {place}")));
    }
    let stdout = match args.format {
        RbacFormat::Text => text::report(&report),
        RbacFormat::Json => json!(answer).to_string() + "\n",
    };
    let is_exact =
        |user: &User| user.refused.is_empty() && user.rules.iter().all(|rule| rule.unused.is_empty());
    let code = u8::from(args.strict && !report.users.iter().all(is_exact));
    Ok(CommandOutput { stdout, code, ..CommandOutput::default() })
}

/// Whether a user belongs to the report: the named ones, or everybody except administrators.
fn is_wanted(named: &[String], user: &Value) -> bool {
    let name = user["user"].as_str().unwrap_or_default();
    match named {
        [] => user["isPrivileged"] != true,
        named => named.iter().any(|wanted| fits(wanted, name)),
    }
}

/// Whether a text is a user, or the last part of its name.
fn fits(wanted: &str, user: &str) -> bool {
    user == wanted || user.rsplit(':').next() == Some(wanted)
}
