//! Access to the clusters of a kubeconfig, with the requests and error messages of `oc`.

pub(super) mod client;
pub(super) mod clock;
pub(super) mod connection;
pub(super) mod thanos;

use http::{Request, StatusCode};
use kube::Client;
use serde_json::Value;
use windtunnel_openshift::oc::CommandOutput;

/// Runs asynchronous work on a new runtime.
///
/// # Errors
/// The runtime cannot be created.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot connect: {error}"))?;
    Ok(runtime.block_on(work))
}

/// Reads an object; `None` if it does not exist.
///
/// # Errors
/// The message of `oc` for any other answer.
pub(super) async fn get(client: &Client, path: &str) -> Result<Option<Value>, CommandOutput> {
    match send_get(client, path).await? {
        Ok(value) => Ok(Some(value)),
        Err(status) if status.code == StatusCode::NOT_FOUND.as_u16() => Ok(None),
        Err(status) => Err(rejection(&status, path)),
    }
}

/// Reads an object that must exist.
///
/// # Errors
/// The message of `oc` if it does not.
pub(super) async fn require(client: &Client, path: &str) -> Result<Value, CommandOutput> {
    send_get(client, path).await?.map_err(|status| rejection(&status, path))
}

type Answer = Result<Value, Box<kube::core::Status>>;

async fn send_get(client: &Client, path: &str) -> Result<Answer, CommandOutput> {
    let request = Request::get(path).body(Vec::new()).map_err(|error| client_error(&error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(value) => Ok(Ok(value)),
        Err(kube::Error::Api(status)) => Ok(Err(status)),
        Err(error) => Err(CommandOutput {
            stderr: format!("{}\n", client::failure(&error)),
            code: 1,
            ..CommandOutput::default()
        }),
    }
}

fn rejection(status: &kube::core::Status, path: &str) -> CommandOutput {
    let stderr = match status.code {
        401 => format!("error: You must be logged in to the server ({})\n", status.message),
        404 => format!("Error from server (NotFound): {}\n", not_found(status, path)),
        _ => format!("Error from server ({}): {}\n", status.reason, status.message),
    };
    CommandOutput { stderr, code: 1, ..CommandOutput::default() }
}

/// Returns the message for a 404. If the server does not serve the kind at all, the answer is not a `Status`,
/// and `oc` has a message of its own.
pub(super) fn not_found(status: &kube::core::Status, path: &str) -> String {
    if status.reason == "NotFound" {
        return status.message.clone();
    }
    let mut parts = path.split('/').skip(1);
    let group = if parts.next() == Some("apis") { parts.next() } else { None };
    let mut parts = parts.skip(1).peekable();
    if parts.peek() == Some(&"namespaces") {
        parts.nth(1);
    }
    let resource: Vec<&str> = parts.next().into_iter().chain(group).collect();
    let names: Vec<String> = [resource.join(".")].into_iter().chain(parts.map(str::to_owned)).collect();
    format!("the server could not find the requested resource (get {})", names.join(" "))
}

/// Returns an error of the client itself.
pub(super) fn client_error(message: &str) -> CommandOutput {
    CommandOutput { stderr: format!("error: {message}\n"), code: 1, ..CommandOutput::default() }
}

/// Returns the error message of a client without the prefix that this program prints itself.
pub(super) fn error_message(output: &CommandOutput) -> String {
    output.stderr.trim_end().trim_start_matches("error: ").to_owned()
}
