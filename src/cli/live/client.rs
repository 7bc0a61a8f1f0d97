//! Clients whose connection errors name the server, with the messages of `oc`.

use std::error::Error;
use std::io;

use http::Uri;
use kube::client::ClientBuilder;
use kube::{Client, Config};
use tower::BoxError;
use tower::util::MapErrLayer;
use windtunnel_core::text::error_chain;

/// A failed connection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ConnectionError(String);

/// Returns a client for a cluster.
///
/// # Errors
/// The configuration is invalid.
pub(in crate::cli) fn client(config: Config) -> kube::Result<Client> {
    let layer = name_server(&config);
    Ok(ClientBuilder::try_from(config)?.with_layer(&layer).build())
}

/// Returns the layer that names the server in the errors of connections.
pub(super) fn name_server(config: &Config) -> MapErrLayer<impl Fn(BoxError) -> BoxError + Clone + use<>> {
    let server = config.cluster_url.clone();
    MapErrLayer::new(move |error: BoxError| -> BoxError {
        Box::new(ConnectionError(connection_error(&server, &*error)))
    })
}

fn connection_error(server: &Uri, error: &(dyn Error + 'static)) -> String {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    let is_refused = causes.any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::ConnectionRefused)
    });
    if is_refused {
        let address = server.authority().map_or("", http::uri::Authority::as_str);
        return format!(
            "The connection to the server {address} was refused - did you specify the right host or port?"
        );
    }
    format!("Unable to connect to the server: {}", error_chain(error))
}

/// Returns the message about a request without an answer.
pub(in crate::cli) fn failure(error: &kube::Error) -> String {
    match error {
        kube::Error::Service(cause) => cause.to_string(),
        other => format!("Unable to connect to the server: {}", error_chain(other)),
    }
}
