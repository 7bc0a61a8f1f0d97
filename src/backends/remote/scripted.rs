//! A test server with scripted answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};

use serde_json::Value;

use super::wire::Wire;
use crate::backends::Stop;

/// Returns a connection to a server that gives these answers, each on a new connection. With `begun`, it
/// first answers another request with this text and breaks the connection.
pub(super) fn wire(begun: Option<&'static str>, answers: Vec<(u16, Value)>) -> Arc<Wire> {
    begin(begun, answers, None)
}

/// As `wire`, and also returns method and path of each request, with its body.
pub(super) fn recording(answers: Vec<(u16, Value)>) -> (Arc<Wire>, mpsc::Receiver<(String, Value)>) {
    let (sender, requests) = mpsc::channel();
    (begin(None, answers, Some(sender)), requests)
}

fn begin(
    begun: Option<&'static str>,
    answers: Vec<(u16, Value)>,
    sender: Option<mpsc::Sender<(String, Value)>>,
) -> Arc<Wire> {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    std::thread::spawn(move || {
        if let Some(begun) = begun {
            accept(&socket).0.write_all(begun.as_bytes()).unwrap();
        }
        for (code, body) in answers {
            let body = body.to_string();
            let head =
                format!("HTTP/1.1 {code} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let (mut connection, request) = accept(&socket);
            if let Some(sender) = &sender {
                sender.send(request).unwrap();
            }
            connection.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    let config = kube::Config::new(url.parse().unwrap());
    Arc::new(Wire::new(Wire::threads().unwrap(), config, None, Stop::default()).unwrap())
}

/// Accepts the next connection and reads its request: method and path, and the body.
fn accept(socket: &TcpListener) -> (TcpStream, (String, Value)) {
    let connection = socket.accept().unwrap().0;
    let (mut reader, mut length, mut first) = (BufReader::new(&connection), 0, String::new());
    reader.read_line(&mut first).unwrap();
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
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    (connection, (request, serde_json::from_slice(&body).unwrap_or_default()))
}
