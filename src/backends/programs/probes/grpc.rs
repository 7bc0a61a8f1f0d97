//! A probe by the health service of gRPC (`grpc.health.v1.Health/Check`).

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The names of the statuses, by their numbers.
const STATUSES: [&str; 4] = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/// Asks the program on a port of the loopback for the health of a service; `shown` is the port of the container.
///
/// # Errors
/// The message of a kubelet for a probe that fails.
pub(super) async fn check(port: u16, shown: u16, service: &str, limit: Duration) -> Result<(), String> {
    let connecting = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(sender)
    };
    let unreachable =
        || format!("timeout: failed to connect service \":{shown}\" within {}s", limit.as_secs());
    let mut sender = timeout(limit, connecting).await.ok().flatten().ok_or_else(unreachable)?;
    let request = Request::post(format!("http://127.0.0.1:{port}/grpc.health.v1.Health/Check"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(message(service)))
        .map_err(|error| error.to_string())?;
    let call = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let refused = code(response.headers());
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        let refused = refused.or_else(|| body.trailers().and_then(code));
        Ok::<_, String>((refused, body.to_bytes()))
    };
    let called = timeout(limit, call).await;
    match called
        .map_err(|_| format!("timeout: health rpc did not complete within {}s", limit.as_secs()))??
    {
        (Some(code), _) => Err(format!("error: health rpc failed: rpc error: code = {code}")),
        (None, body) => verdict(&body),
    }
}

/// The code of a call that failed.
fn code(headers: &HeaderMap) -> Option<String> {
    let code = headers.get("grpc-status")?.to_str().ok()?;
    (code != "0").then(|| code.to_owned())
}

/// A `HealthCheckRequest` with the prefix of a message: no compression, and the length.
fn message(service: &str) -> Bytes {
    let mut field = Vec::new();
    if !service.is_empty() {
        field.push(0x0a); // field 1, a string
        let mut length = service.len();
        while length >= 0x80 {
            field.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
            length >>= 7;
        }
        field.push(u8::try_from(length).unwrap_or_default());
        field.extend_from_slice(service.as_bytes());
    }
    let length = u32::try_from(field.len()).unwrap_or_default().to_be_bytes();
    [&[0][..], &length, &field].concat().into()
}

/// The status in a `HealthCheckResponse`: field 1, a number; 0 if it is missing.
fn verdict(body: &[u8]) -> Result<(), String> {
    let number = match body.get(5..) {
        Some([0x08, number, ..]) => usize::from(*number),
        _ => 0,
    };
    match STATUSES.get(number) {
        Some(&"SERVING") => Ok(()),
        name => Err(format!("service unhealthy (responded with \"{}\")", name.unwrap_or(&"UNKNOWN"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_service_as_its_first_field() {
        assert_eq!(message(""), &[0, 0, 0, 0, 0][..]);
        assert_eq!(message("ab"), &[0, 0, 0, 0, 4, 0x0a, 2, b'a', b'b'][..]);
        assert_eq!(message(&"x".repeat(200))[5..8], [0x0a, 0xc8, 0x01]);
    }

    #[test]
    fn only_serving_is_healthy() {
        assert_eq!(verdict(&[0, 0, 0, 0, 2, 0x08, 1]), Ok(()));
        let not_serving = "service unhealthy (responded with \"NOT_SERVING\")";
        assert_eq!(verdict(&[0, 0, 0, 0, 2, 0x08, 2]), Err(not_serving.to_owned()));
        assert!(verdict(&[]).is_err());
    }
}
