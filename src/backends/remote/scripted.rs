//! A server for tests that says what it is told to say.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::Value;

use super::wire::Wire;
use crate::backends::Stop;

/// A connection to a server that gives these answers, each on a connection of its own. Where something is `begun`, it says that
/// first to one request more, and breaks the connection.
pub(super) fn wire(begun: Option<&'static str>, answers: Vec<(u16, Value)>) -> Arc<Wire> {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    std::thread::spawn(move || {
        if let Some(begun) = begun {
            accept(&socket).write_all(begun.as_bytes()).unwrap();
        }
        for (code, body) in answers {
            let body = body.to_string();
            let head =
                format!("HTTP/1.1 {code} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            accept(&socket).write_all((head + &body).as_bytes()).unwrap();
        }
    });
    let config = kube::Config::new(url.parse().unwrap());
    Arc::new(Wire::new(Wire::threads().unwrap(), config, None, Stop::default()).unwrap())
}

/// The next connection, of which a request was read.
fn accept(socket: &TcpListener) -> TcpStream {
    let connection = socket.accept().unwrap().0;
    let (mut reader, mut length) = (BufReader::new(&connection), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    connection
}
