//! Go's messages for failed connections and malformed responses.

use std::io;
use std::io::ErrorKind;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error, OtherError};

use super::super::trust::Untrusted;
use crate::gotext::quote;

/// The message for an error while reading from a connection or writing to it.
pub(super) fn of_io(error: &io::Error, operation: &str, ends: &str) -> String {
    if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return of_tls(inner);
    }
    let why = match error.kind() {
        ErrorKind::ConnectionReset => "connection reset by peer",
        ErrorKind::BrokenPipe => "broken pipe",
        ErrorKind::UnexpectedEof => return "unexpected EOF".to_owned(),
        _ => return error.to_string(),
    };
    format!("{operation} tcp {ends}: {operation}: {why}")
}

/// The message for a failed handshake. `received` are the bytes of the server, which may end within a record of TLS.
pub(super) fn of_handshake(message: String, error: &io::Error, received: &[u8], is_cut: bool) -> String {
    if received.starts_with(b"HTTP/") {
        return "http: server gave HTTP response to HTTPS client".to_owned();
    }
    // An alert or a part of a handshake, and the version.
    if received.len() >= 5 && (!matches!(received[0], 0x15 | 0x16) || received[1] >= 0x10) {
        return "tls: first record does not look like a TLS handshake".to_owned();
    }
    match error.kind() {
        ErrorKind::UnexpectedEof if is_cut => "unexpected EOF".to_owned(),
        ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => message,
    }
}

fn of_tls(error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
            inner.downcast_ref::<Untrusted>().map_or_else(|| format!("tls: {error}"), ToString::to_string)
        }
        other => format!("tls: {other}"),
    }
}

fn alert_text(alert: AlertDescription) -> String {
    let text = match alert {
        AlertDescription::UnexpectedMessage => "unexpected message",
        AlertDescription::BadRecordMac => "bad record MAC",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::IllegalParameter => "illegal parameter",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::DecodeError => "error decoding message",
        AlertDescription::DecryptError => "error decrypting message",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::InsufficientSecurity => "insufficient security level",
        AlertDescription::InternalError => "internal error",
        AlertDescription::InappropriateFallback => "inappropriate fallback",
        AlertDescription::UserCanceled => "user canceled",
        AlertDescription::MissingExtension => "missing extension",
        AlertDescription::UnsupportedExtension => "unsupported extension",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::NoApplicationProtocol => "no application protocol",
        other => return format!("alert({})", u8::from(other)),
    };
    text.to_owned()
}

/// The message for a response whose head is malformed or incomplete; `None` for a good one (`http.ReadResponse`).
pub(super) fn of_head(received: &[u8]) -> Option<String> {
    if received.is_empty() {
        return Some("EOF".to_owned());
    }
    let why = head_error(&String::from_utf8_lossy(received))?;
    Some(format!("net/http: HTTP/1.x transport connection broken: {why}"))
}

fn head_error(received: &str) -> Option<String> {
    let mut lines = received.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let line = lines.next().unwrap_or_default();
    let Some((version, status)) = line.split_once(' ') else {
        return Some(format!("malformed HTTP response {}", quote(line)));
    };
    let code = status.trim_start_matches(' ').split(' ').next().unwrap_or_default();
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("malformed HTTP status code {}", quote(code)));
    }
    if !is_version(version) {
        return Some(format!("malformed HTTP version {}", quote(version)));
    }
    for line in lines {
        match line.split_once(':') {
            // A response that only informs, before the real one.
            None if line.is_empty() => return None,
            None => return Some(format!("malformed MIME header: missing colon: {}", quote(line))),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                let value = value.trim();
                if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Some(format!("bad Content-Length {}", quote(value)));
                }
            }
            Some(_) => {}
        }
    }
    None
}

fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix("HTTP/").and_then(|numbers| numbers.split_once('.'));
    digits.is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| part.len() == 1 && part.as_bytes()[0].is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_heads_have_gos_messages() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", None),
            ("HTTP/1.1 200\nA b: c\n\n", None),
            ("HTTP/1.1 20", Some("malformed HTTP status code \"20\"")),
            ("HTTP/1.1 200 OK\r\nContent-Ty", Some("malformed MIME header: missing colon: \"Content-Ty\"")),
            ("garbage", Some("malformed HTTP response \"garbage\"")),
            ("garbage without sense", Some("malformed HTTP status code \"without\"")),
            ("HTTQ/1.1 200 OK", Some("malformed HTTP version \"HTTQ/1.1\"")),
            ("HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n", Some("bad Content-Length \"abc\"")),
        ] {
            assert_eq!(head_error(head).as_deref(), expected, "{head}");
        }
        assert_eq!(of_head(b"").as_deref(), Some("EOF"));
    }
}
