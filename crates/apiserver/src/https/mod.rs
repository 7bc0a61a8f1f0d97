//! The server over HTTPS: a socket, TLS, HTTP/1.1 and HTTP/2, who asks, and the limits that keep it alive.
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
//! Unlike the door in process, a request takes as long as it takes. One task serves a connection, a watch is a cursor
//! into history that is read when its connection can take more: slow readers cost neither memory nor anyone's time.

mod certificates;
mod connection;
mod gzip;
mod kubeconfig;
mod limits;
mod listener;
mod peer;
mod stall;
mod subject;
mod tls;
mod webhooks;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use certificates::{Authority, CertificateError, ClientCertificate, ServerCertificate};
pub use tls::random_token;
pub use webhooks::Webhooks;

use super::control_plane::Endpoint;
use super::service::Shared;
use connection::Door;
use listener::Listener;

/// How a server is served.
#[derive(Debug)]
pub struct Settings {
    /// Where to listen; port 0 is any that is free.
    pub address: SocketAddr,
    /// The bearer token of the administrator (`system:admin` of `system:masters`).
    pub token: String,
    /// Who signs the server's certificate and those of clients.
    pub authority: Option<Authority>,
    /// The server's certificate; without one, a new one of the authority.
    pub certificate: Option<ServerCertificate>,
    /// Certificates of those who sign client certificates, as PEM (`--client-ca-file`); without them, the authority.
    pub client_authorities: Option<String>,
    /// Names and addresses in the server's certificate beside those of the loopback and of `address`.
    pub names: Vec<String>,
}

impl Default for Settings {
    /// Any free port of the loopback, a random token, a certificate authority of its own.
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            token: random_token(),
            authority: None,
            certificate: None,
            client_authorities: None,
            names: Vec::new(),
        }
    }
}

/// Why a server cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("{address}: cannot listen: {error}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// No certificate can be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// A server that is being served. Dropping it closes the socket at once; [`Serving::stop`] lets requests end.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    token: String,
    authority: Authority,
    listener: Listener,
}

/// Serves `shared` until [`Serving::stop`]; requests are answered from now on.
///
/// # Errors
/// [`ServeError`]
pub async fn serve(shared: Shared, settings: Settings) -> Result<Serving, ServeError> {
    let Settings { address, token, authority, certificate, client_authorities, names } = settings;
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
    let door = Arc::new(Door::new(shared, &token));
    Ok(Serving { address, token, authority, listener: Listener::start(socket, tls, door) })
}

/// What clients may call the server.
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
    /// Where it listens, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL; where it listens on all addresses, that of the loopback.
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

    /// Who signs certificates here.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Where pods reach it: where it listens, or at a machine of the cluster if that is the loopback.
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
        kubeconfig::text(&self.url(), &self.authority.certificate_pem(), &self.token)
    }

    /// Takes no more connections, ends watches, and waits for running requests, for some seconds at most.
    pub async fn stop(self) {
        self.listener.stop().await;
    }
}
