//! Watches: their events while other requests are made.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout_at};

use super::{Answered, Player};
use crate::compare::shape;
use crate::corpus::fill;

/// The time in which a watch starts, before the requests beside it are made.
const START: Duration = Duration::from_millis(150);

impl Player<'_> {
    pub(super) async fn watch(&mut self, step: &Value, at: &str) {
        let mut request = fill(&step["watch"], &self.env);
        request["query"]["watch"] = json!("true");
        let seconds = request["seconds"].as_f64().unwrap_or(3.0);
        let mut connection = self.server.connect();
        let (sender, events) = unbounded_channel();
        let (status, reader) = match connection.send(&request).await {
            Ok(response) => {
                let status = response.status().as_u16();
                (status, Some(tokio::spawn(read(response.into_body(), sender))))
            }
            Err(_) => (0, None),
        };
        sleep(START).await;
        self.steps(&step["during"], &format!("{at}/during")).await;
        let (events, ended) = collect(events, seconds).await;
        if let Some(reader) = reader {
            reader.abort();
        }
        let events: Vec<Value> = events.iter().map(|event| shape(step, event, &self.volatile)).collect();
        let mut answer = json!({"status": status, "events": events});
        if step["untilEnd"] == true {
            answer["ended"] = json!(ended);
        }
        self.answers.push(Answered { at: at.to_owned(), answer });
    }
}

/// The events of the next seconds, and whether the server ended the watch in them.
async fn collect(mut events: UnboundedReceiver<Value>, seconds: f64) -> (Vec<Value>, bool) {
    let deadline = Instant::now() + Duration::from_secs_f64(seconds);
    let mut collected = Vec::new();
    loop {
        match timeout_at(deadline, events.recv()).await {
            Ok(Some(event)) => collected.push(event),
            Ok(None) => return (collected, true),
            Err(_) => return (collected, false),
        }
    }
}

/// Sends the events in a body. Bookmarks are sent only if they end the initial events, because the others come
/// when it suits the server.
async fn read(mut body: Incoming, events: UnboundedSender<Value>) {
    let mut buffer = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            send(&line, &events);
        }
    }
    send(&buffer, &events);
}

fn send(line: &[u8], events: &UnboundedSender<Value>) {
    let Ok(event) = serde_json::from_slice::<Value>(line) else { return };
    if event["type"] != "BOOKMARK" || event["object"]["metadata"].get("annotations").is_some() {
        // The receiver is gone once the step has ended.
        let _ = events.send(event);
    }
}
