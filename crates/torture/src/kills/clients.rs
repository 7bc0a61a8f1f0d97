//! Clients that write until the server is gone, and a look at all objects afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_conformance::player::{Answer, Connection, Server};

use super::ledger::{Found, Ledger};

/// The objects of all clients.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The number of objects of a client.
const OBJECTS: usize = 6;

/// The longest padding of a value, in bytes.
const PADDING: usize = 2000;

/// A client with objects of its own.
pub(crate) struct Client<'a> {
    connection: Connection<'a>,
    name: String,
    draws: fastrand::Rng,
    ledger: &'a RefCell<Ledger>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        server: &'a Server,
        name: String,
        draws: fastrand::Rng,
        ledger: &'a RefCell<Ledger>,
    ) -> Self {
        Self { connection: server.connect(), name, draws, ledger }
    }

    /// Writes until there is no answer. Returns what was wrong with answers.
    pub(crate) async fn write(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        loop {
            let (name, request) = self.next();
            let answer = self.connection.ask(&request).await;
            match answer.status {
                0 => return wrong,
                200 | 201 => wrong.extend(self.ledger.borrow_mut().acknowledge(&name, version(&answer.body))),
                status => {
                    wrong.push(format!(
                        "{name}: {} is answered with {status}: {}",
                        request["method"], answer.body
                    ));
                    return wrong;
                }
            }
        }
    }

    /// Draws the next write, and enters it into the book.
    fn next(&mut self) -> (String, Value) {
        let name = format!("{}-{}", self.name, self.draws.usize(..OBJECTS));
        let mut ledger = self.ledger.borrow_mut();
        let exists = ledger.exists(&name);
        if exists && self.draws.u8(..4) == 0 {
            ledger.begin(&name, None);
            return (name.clone(), json!({ "method": "DELETE", "path": format!("{MAPS}/{name}") }));
        }
        let value = format!("{:016x}{}", self.draws.u64(..), "x".repeat(self.draws.usize(..PADDING)));
        ledger.begin(&name, Some(value.clone()));
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "n": value } });
        let request = match (exists, self.draws.bool()) {
            (false, _) => json!({ "method": "POST", "path": MAPS, "body": map }),
            (true, true) => json!({ "method": "PUT", "path": format!("{MAPS}/{name}"), "body": map }),
            (true, false) => json!({ "method": "PATCH", "path": format!("{MAPS}/{name}"),
                "type": "application/merge-patch+json", "body": { "data": { "n": value } } }),
        };
        (name, request)
    }
}

/// The resource version of an object or a list.
fn version(body: &Value) -> Option<u64> {
    body["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// All objects of the clients, and the revision of the server.
///
/// # Errors
/// The answer is no list.
pub(crate) async fn list(server: &Server) -> Result<(BTreeMap<String, Found>, u64), String> {
    let answer = server.connect().ask(&json!({ "path": MAPS })).await;
    let failed = |Answer { status, body, .. }: &Answer| format!("the list is answered with {status}: {body}");
    let revision = version(&answer.body).filter(|_| answer.status == 200).ok_or_else(|| failed(&answer))?;
    let found = |map: &Value| {
        let value = map["data"]["n"].as_str()?.to_owned();
        Some((map["metadata"]["name"].as_str()?.to_owned(), Found { value, version: version(map)? }))
    };
    let objects = answer.body["items"].as_array().into_iter().flatten().filter_map(found).collect();
    Ok((objects, revision))
}
