//! The socket: accepts connections, with one task for each, until it is stopped.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use windtunnel_core::clock::{Clock as _, WallClock};

use super::connection::ConnectionState;
use super::limits;
use super::stall::Unstalled;
use super::tls::Tls;
use futures_util::future::{Either, select};

/// Delay after a failure to accept a connection, for instance because too many files are open.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// A socket that accepts connections. It stops when it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    stopping: watch::Sender<bool>,
    accepting: JoinHandle<GracefulShutdown>,
}

impl Listener {
    pub(super) fn start(socket: TcpListener, tls: Tls, state: Arc<ConnectionState>) -> Self {
        let (stopping, stopped) = watch::channel(false);
        Self { stopping, accepting: tokio::spawn(accept(socket, tls, state, stopped)) }
    }

    /// Closes the socket, ends watches, and waits some seconds for running requests.
    pub(super) async fn stop(self) {
        self.stopping.send_replace(true);
        if let Ok(connections) = self.accepting.await {
            // Remaining connections are closed after the timeout.
            let _ = tokio::time::timeout(limits::STOPPING, connections.shutdown()).await;
        }
    }
}

async fn accept(
    socket: TcpListener,
    tls: Tls,
    state: Arc<ConnectionState>,
    stopping: watch::Receiver<bool>,
) -> GracefulShutdown {
    let connections = GracefulShutdown::new();
    let server = server();
    let mut stopped = stopping.clone();
    let mut stopped = pin!(stopped.wait_for(|stopping| *stopping));
    loop {
        let accepted = match select(&mut stopped, pin!(socket.accept())).await {
            Either::Left(_) => return connections,
            Either::Right((accepted, _)) => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        let connection = Connection {
            tls: tls.clone(),
            server: server.clone(),
            state: Arc::clone(&state),
            stopping: stopping.clone(),
            watcher: connections.watcher(),
        };
        tokio::spawn(connection.serve(stream));
    }
}

/// HTTP/1.1 and HTTP/2 with the configured limits.
fn server() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::READ_HEADERS)
        .max_buf_size(limits::HEADERS as usize);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(limits::HEADERS)
        .max_concurrent_streams(limits::STREAMS)
        .max_send_buf_size(limits::SEND)
        .keep_alive_interval(limits::PING)
        .keep_alive_timeout(limits::PONG);
    server
}

/// The settings of a connection.
struct Connection {
    tls: Tls,
    server: auto::Builder<TokioExecutor>,
    state: Arc<ConnectionState>,
    stopping: watch::Receiver<bool>,
    watcher: Watcher,
}

impl Connection {
    /// Serves a connection until it ends. Errors concern only its client.
    async fn serve(self, stream: TcpStream) {
        let Self { tls, server, state, stopping, watcher } = self;
        // Otherwise small responses wait for the acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let stream = Unstalled::new(stream, limits::STALL);
        let mut stopped = stopping.clone();
        let handshake = tokio::time::timeout(limits::HANDSHAKE, tls.acceptor.accept(stream));
        let stopped = pin!(stopped.wait_for(|stopping| *stopping));
        let Either::Right((Ok(Ok(stream)), _)) = select(stopped, pin!(handshake)).await else { return };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        // The validity of certificates depends on the real time, not on that of the cluster.
        let peer = Arc::new(tls.identify(chain, WallClock.now()));
        let dropped = Arc::new(Notify::new());
        let on_drop = Arc::clone(&dropped);
        let service = service_fn(move |request| {
            let answer = Arc::clone(&state).answer(Arc::clone(&peer), request, stopping.clone());
            let on_drop = Arc::clone(&on_drop);
            // An HTTP/2 connection would only reset the stream of the request.
            async move { answer.await.inspect_err(|_| on_drop.notify_one()) }
        });
        let connection = server.serve_connection(TokioIo::new(stream), service).into_owned();
        let _ = select(pin!(dropped.notified()), pin!(watcher.watch(connection))).await;
    }
}
