//! Probes of programs, as kubelets carry them out (`pkg/probe` of Kubernetes), with the messages of kubelets.

mod command;
mod grpc;
mod http;

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

pub(super) use self::command::ExecContext;
use super::ProbeTarget;
use super::ports::Ports;

/// Carries out a probe.
///
/// # Errors
/// The reason why it fails, as Events report it.
pub(super) async fn probe(
    target: ProbeTarget,
    ports: &Ports,
    context: &ExecContext,
    limit: Duration,
) -> Result<(), String> {
    match target {
        ProbeTarget::Http { is_tls, port, path, headers, shown } => {
            let request = http::Request { is_tls, port: ports.of_machine(port), path, headers };
            let scheme = if is_tls { "https" } else { "http" };
            let url = format!("{scheme}://{shown}:{port}{}", request.path);
            http::get(request, &url, &format!("{shown}:{port}"), limit).await
        }
        ProbeTarget::Tcp { port, shown } => {
            let connecting = TcpStream::connect(("127.0.0.1", ports.of_machine(port)));
            let address = format!("{shown}:{port}");
            match timeout(limit, connecting).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(dial(&address, &error)),
                Err(_) => Err(format!("dial tcp {address}: i/o timeout")),
            }
        }
        ProbeTarget::Grpc { port, service } => {
            grpc::check(ports.of_machine(port), port, &service, limit).await
        }
        ProbeTarget::Command(words) => context.run(&words, limit).await,
    }
}

/// The message of a failed connection.
fn dial(address: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        ErrorKind::ConnectionReset => "read: connection reset by peer".to_owned(),
        _ => error.to_string(),
    };
    format!("dial tcp {address}: {why}")
}

/// The error of the system that an error has as its source.
fn io_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<io::Error>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn run(target: ProbeTarget) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(probe(target, &Ports::default(), &ExecContext::default(), LIMIT))
    }

    fn http(port: u16) -> ProbeTarget {
        let (path, shown) = ("/healthz".to_owned(), "10.128.0.7".to_owned());
        ProbeTarget::Http { is_tls: false, port, path, headers: Vec::new(), shown }
    }

    /// Answers one request with this status.
    fn server(status: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
        });
        port
    }

    /// A port on which nothing listens.
    fn closed() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    #[test]
    fn a_request_succeeds_with_a_status_below_400() {
        assert_eq!(run(http(server("204 No Content"))), Ok(()));
        assert_eq!(run(http(server("302 Found"))), Ok(()));
        let failed = run(http(server("503 Service Unavailable")));
        assert_eq!(failed, Err("HTTP probe failed with statuscode: 503".to_owned()));
    }

    #[test]
    fn a_closed_port_has_the_message_of_a_kubelet() {
        let port = closed();
        let refused = format!("dial tcp 10.128.0.7:{port}: connect: connection refused");
        assert_eq!(run(http(port)), Err(format!("Get \"http://10.128.0.7:{port}/healthz\": {refused}")));
        assert_eq!(run(ProbeTarget::Tcp { port, shown: "10.128.0.7".to_owned() }), Err(refused));
        let failed = run(ProbeTarget::Grpc { port, service: String::new() }).unwrap_err();
        assert!(failed.contains("failed to connect service"), "{failed}");
    }

    #[test]
    fn a_command_succeeds_with_exit_code_zero() {
        let command = |text: &str| run(ProbeTarget::Command(["sh", "-c", text].map(str::to_owned).to_vec()));
        assert_eq!(command("exit 0"), Ok(()));
        assert_eq!(command("echo not yet; exit 3"), Err("not yet".to_owned()));
        assert!(run(ProbeTarget::Command(vec!["/no/such/command".to_owned()])).is_err());
    }
}
