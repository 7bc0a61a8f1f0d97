//! The server over HTTPS: a socket, TLS, HTTP/1.1 and HTTP/2, authentication, and limits that protect it.
//!
//! ```no_run
//! # use windtunnel_apiserver::{ApiServer, https, service::Shared};
//! # use windtunnel_core::clock::{Clock as _, WallClock};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::builder().build(WallClock.now());
//! let shared = Shared::new(server, std::sync::Arc::new(WallClock));
//! let serving = https::serve(shared, https::Settings::default()).await?;
//! std::fs::write("kubeconfig", serving.kubeconfig())?;
//! // kubectl --kubeconfig kubeconfig get namespaces
//! serving.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! Unlike with the in-process connection, requests take real time. Each connection has one task, and a watch
//! is a cursor into history that is read when its connection accepts more data. So slow readers cost neither
//! memory nor the time of others.

mod certificates;
mod connection;
mod gate;
mod gzip;
mod kubeconfig;
mod limits;
mod listener;
mod signing;
mod stall;
mod subject;
mod tls;
mod trust;
mod webhooks;
mod x509;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use certificates::{Authority, CertificateError, ClientCertificate, ServerCertificate};
pub use gate::{Gate, Pass};
pub use signing::SigningError;
pub use tls::random_token;
pub use webhooks::Webhooks;

use super::service::Shared;
use crate::server::control_plane::Endpoint;
use connection::ConnectionState;
use listener::Listener;

/// Settings of the HTTPS server.
#[derive(Debug)]
pub struct Settings {
    /// The address to listen on; port 0 selects a free port.
    pub address: SocketAddr,
    /// The bearer token of the administrator (`system:admin` of `system:masters`).
    pub token: String,
    /// The authority that signs server and client certificates; without one, a new authority.
    pub authority: Option<Authority>,
    /// The server certificate; without one, the authority signs a new one.
    pub certificate: Option<ServerCertificate>,
    /// Certificates of the authorities of client certificates, as PEM (`--client-ca-file`); by default,
    /// `authority`.
    pub client_authorities: Option<String>,
    /// Further names and addresses in the server certificate, besides those of the loopback and of `address`.
    pub names: Vec<String>,
    /// Decides when requests are served; without one, at once.
    pub gate: Option<Arc<dyn Gate>>,
}

impl Default for Settings {
    /// A free port of the loopback, a random token, and a new certificate authority.
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            token: random_token(),
            authority: None,
            certificate: None,
            client_authorities: None,
            names: Vec::new(),
            gate: None,
        }
    }
}

/// The reason why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("{address}: cannot listen: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The OS error.
        error: std::io::Error,
    },
    /// A certificate cannot be created or parsed.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// A running HTTPS server. Dropping it closes the socket at once; [`Serving::stop`] lets requests finish.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    token: String,
    authority: Authority,
    listener: Listener,
}

/// Serves `shared` until [`Serving::stop`]. Requests are accepted from now on.
///
/// # Errors
/// [`ServeError`]
pub async fn serve(shared: Shared, settings: Settings) -> Result<Serving, ServeError> {
    let Settings { address, token, authority, certificate, client_authorities, names, gate } = settings;
    let authority = match authority {
        Some(authority) => authority,
        None => Authority::generate()?,
    };
    let server = match certificate {
        Some(given) => given.read()?,
        None => authority.server(&server_names(address.ip(), names))?,
    };
    let clients_pem = client_authorities.unwrap_or_else(|| authority.certificate_pem());
    let clients = certificates::read_all(&clients_pem)?;
    let tls = tls::Tls::new(server, clients)?;
    let failed = |error| ServeError::Listen { address, error };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    let now = shared.now();
    shared.with(|server| server.publish_client_authorities(&clients_pem, now));
    let state = Arc::new(ConnectionState::new(shared, &token, gate));
    Ok(Serving { address, token, authority, listener: Listener::start(socket, tls, state) })
}

/// The names and addresses by which clients may address the server.
fn server_names(listening: IpAddr, more: Vec<String>) -> Vec<String> {
    let usual =
        ["127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut names: Vec<String> = usual.map(str::to_owned).into();
    for name in
        Some(listening).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string()).into_iter().chain(more)
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl Serving {
    /// The address that it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server; that of the loopback if it listens on all addresses.
    pub fn url(&self) -> String {
        let mut address = self.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("https://{address}")
    }

    /// The administrator's bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The certificate authority of the server.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The address for pods: the one it listens on or, if that is the loopback, one of a machine of the
    /// cluster.
    pub fn endpoint(&self) -> Endpoint {
        let port = self.address.port();
        match self.address.ip() {
            IpAddr::V4(address) if !address.is_loopback() && !address.is_unspecified() => {
                Endpoint { address, port }
            }
            _ => Endpoint { port, ..Endpoint::default() },
        }
    }

    /// A kubeconfig file for the administrator, as YAML.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_for(&self.token)
    }

    /// A kubeconfig file for the client with this bearer token, as YAML.
    pub fn kubeconfig_for(&self, token: &str) -> String {
        kubeconfig::text(&self.url(), &self.authority.certificate_pem(), token)
    }

    /// Accepts no more connections, ends watches, and waits some seconds at most for running requests.
    pub async fn stop(self) {
        self.listener.stop().await;
    }
}
