//! Large writes in two parts: a copy of the server prepares the write while the server answers others, and the server
//! stores the result.
//!
//! Decoding, admission, the owners of fields and validation of an object of a megabyte take up to half a second. In a real
//! server these stages lock nothing either: only etcd decides whether the object is still the one that the server read. So
//! a prepared write is stored if its object did not change since, and, as admission depends on them, neither its namespace
//! nor a quota in it. Otherwise the server runs the write as a whole.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::clock::Time;

use crate::call::Call;
use crate::call::attempt::Attempt;
use crate::call::prepared::{Prepared, Write};
use crate::outbound::hooks::HookCall;
use crate::pipeline::Step;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::{Body, Method, Request, ResourcePath, Target};
use crate::server::ApiServer;
use crate::store::FieldOwners;
use crate::verbs::etcd;

/// The length from which a body is large, in bytes: it takes up to 30 ms.
pub(crate) const LARGE: usize = 128 * 1024;
/// The bytes of a body that take as long as the copy of one object of the server.
const BYTES_PER_OBJECT: usize = 16;
/// The subresources whose writes end as those of the object do.
const SUBRESOURCES: [&str; 6] = ["", "approval", "ephemeralcontainers", "finalize", "resize", "status"];

impl ApiServer {
    /// Whether a copy of the server should prepare a request.
    pub(crate) fn is_worth_a_copy(&self, request: &Request<'_>) -> bool {
        let Target::Resource(path) = &request.target else { return false };
        // A fault may count requests, and a copy would count them too.
        SUBRESOURCES.contains(&&*path.subresource) && self.faults.is_empty() && self.is_large(request, path)
    }

    /// A copy of the server, with random values of its own.
    pub(crate) fn copy_to_prepare(&mut self) -> Self {
        let mut copy = self.clone();
        copy.draws = self.draws.split();
        copy
    }

    /// Whether a write takes much longer than a copy of the server.
    fn is_large(&self, request: &Request<'_>, path: &ResourcePath<'_>) -> bool {
        if !matches!(request.method, Method::Post | Method::Put | Method::Patch) {
            return false;
        }
        let Ok(kind) = self.catalog.resolve(path) else { return false };
        // Wanted conversions are kept with the kind, and a copy shares its kinds with the server.
        let is_converted = kind.custom.as_ref().is_some_and(|custom| custom.family.conversion.is_some());
        if !kind.rules.stored || is_converted {
            return false;
        }
        let body = if let Body::Bytes(text) = &request.body { text.len() } else { 0 };
        let stored = self
            .store
            .get(kind.table, &path.namespace, &path.name)
            .filter(|entry| entry.is_larger_than(LARGE));
        let length = body.max(if stored.is_some() { LARGE } else { 0 });
        length >= LARGE && length >= self.store.count_all() * BYTES_PER_OBJECT
    }

    /// Runs a request on a copy of the server up to the point at which it is stored. Returns the calls of webhooks that it
    /// needs before.
    pub(crate) fn prepare(
        &mut self,
        request: &Request<'_>,
        now: Time,
        attempt: &mut Attempt,
    ) -> Vec<HookCall> {
        attempt.set_ahead(true);
        let step = self.advance(request, now, attempt);
        attempt.set_ahead(false);
        match step {
            Step::Calls(calls) => calls,
            Step::Done(_) => Vec::new(),
        }
    }

    /// Keeps a write that a copy prepared, and stops the copy.
    pub(super) fn stop_prepared(&self, call: &mut Call<'_>, write: Write) -> BoxedRejection {
        // The copy allocated the addresses and ports of a Service, which only the server itself can do.
        if !call.kind.is_resource("", "services") {
            let (Write::New { object, owners } | Write::Update { object, owners, .. }) = &write;
            let name = call.new_name.as_deref().unwrap_or(&call.path.name);
            let key = call.kind.key(&call.path.namespace, name);
            let fits_in_etcd = etcd::check(&call.kind, &key, object, owners).is_ok();
            let prepared = Prepared::new(call, self.store.revision(), Ok(write), fits_in_etcd);
            call.attempt.keep_prepared(prepared);
        }
        call.attempt.stop_ahead()
    }

    /// Keeps the refusal of a call that a copy runs.
    pub(crate) fn keep_refusal(&self, call: &mut Call<'_>, rejection: BoxedRejection) {
        let prepared = Prepared::new(call, self.store.revision(), Err(rejection), false);
        call.attempt.keep_prepared(prepared);
    }

    /// Ends a call with what a copy prepared; `None` if nothing was, or if that no longer holds.
    pub(crate) fn end_prepared(&mut self, call: &mut Call<'_>) -> Option<Outcome<Reply>> {
        let prepared = call.attempt.take_prepared().filter(|prepared| self.holds(call, prepared))?;
        Some(match prepared.resume(call) {
            Err(rejection) => Err(rejection),
            Ok(Write::New { object, owners }) => self.store_new(call, object, owners),
            Ok(Write::Update { object, owners, entry, old }) => {
                self.store_update(call, object, owners, entry, old)
            }
        })
    }

    /// Whether a real server would store a prepared write now.
    fn holds(&self, call: &Call<'_>, prepared: &Prepared) -> bool {
        let key = call.key();
        let is_other = |key: &Key, name: &str| key.name != name;
        let Ok(mut since) = self.store.history().since(prepared.revision) else { return false };
        let quotas = self.catalog.find("", "v1", "resourcequotas").map(|kind| kind.table);
        Arc::ptr_eq(&prepared.kind, &call.kind)
            && since.all(|event| {
                if event.table == call.kind.table && event.key.namespace == key.namespace {
                    return is_other(&event.key, &key.name);
                }
                if event.table == self.tables.namespaces {
                    return is_other(&event.key, &key.namespace);
                }
                Some(event.table) != quotas || event.key.namespace != key.namespace
            })
    }
}

/// Rejects an object that is too long for etcd, unless it was measured already.
pub(super) fn check_size(call: &Call<'_>, key: &Key, object: &Value, owners: &FieldOwners) -> Outcome<()> {
    if call.attempt.fits_in_etcd { Ok(()) } else { etcd::check(&call.kind, key, object, owners) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Identity;
    use windtunnel_core::clock::Time;

    use super::*;
    use crate::request::Text;

    const PODS: &str = "/api/v1/namespaces/default/pods";

    fn pod(name: &str, image: &str) -> Value {
        let container = |number: usize| json!({ "name": format!("c{number}"), "image": image });
        let containers: Vec<Value> = (0..6000).map(container).collect();
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": { "containers": containers } })
    }

    fn request<'a>(method: Method, path: &'a str, body: &Value, who: &'a Identity) -> Request<'a> {
        let patch = if method == Method::Patch { "application/merge-patch+json" } else { "application/json" };
        let body = Body::Bytes(Text::from(body.to_string()));
        Request { body, ..Request::new(method, path, who).with_content_type(patch) }
    }

    /// Prepares a request, makes other requests, and ends it. Returns whether the server took what was prepared.
    fn run(server: &mut ApiServer, request: &Request<'_>, others: &[&Request<'_>]) -> (Reply, bool) {
        let mut attempt = Attempt::default();
        assert!(server.is_worth_a_copy(request));
        let mut copy = server.copy_to_prepare();
        assert_eq!(copy.prepare(request, Time::UNIX_EPOCH, &mut attempt), []);
        for other in others {
            server.handle(other, Time::UNIX_EPOCH);
        }
        let uid = attempt.uid.clone();
        let Step::Done(reply) = server.advance(request, Time::UNIX_EPOCH, &mut attempt) else {
            panic!("a call")
        };
        let stored = reply.json().unwrap_or_default()["metadata"]["uid"].as_str().map(str::to_owned);
        (reply, stored.is_some() && stored == uid)
    }

    fn server() -> ApiServer {
        ApiServer::builder().build(Time::UNIX_EPOCH)
    }

    /// The text of a reply without random and changing values.
    fn text(reply: &Reply) -> String {
        let mut object = reply.json().unwrap_or_default();
        for field in ["uid", "resourceVersion"] {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
        }
        format!("{} {:?} {object}", reply.code, reply.warnings)
    }

    #[test]
    fn prepared_write_has_the_answer_of_an_ordinary_one() {
        let who = Identity::admin();
        let dry = format!("{PODS}?dryRun=All");
        let path = format!("{PODS}/p");
        let invalid =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "q".repeat(200_000) } });
        let (mut prepared, mut plain) = (server(), server());
        for (method, path, body) in [
            (Method::Post, &*dry, &pod("p", "a")),
            (Method::Post, PODS, &pod("p", "a")),
            (Method::Post, PODS, &pod("p", "a")),
            (Method::Post, PODS, &pod("p", "")),
            (Method::Post, PODS, &invalid),
            (Method::Put, &path, &pod("p", "b")),
            (Method::Put, &path, &pod("other", "b")),
            (Method::Patch, &path, &json!({ "metadata": { "labels": { "a": "b" } } })),
            (Method::Patch, &path, &json!({ "spec": { "hostNetwork": true } })),
        ] {
            let (reply, _) = run(&mut prepared, &request(method, path, body, &who), &[]);
            let same = plain.handle(&request(method, path, body, &who), Time::UNIX_EPOCH);
            assert_eq!(text(&reply), text(&same), "{method:?} {path}");
            assert_eq!(prepared.revision(), plain.revision(), "{method:?} {path}");
        }
    }

    #[test]
    fn only_what_still_holds_is_stored() {
        let who = Identity::admin();
        let path = format!("{PODS}/p");
        let small =
            |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let other = request(Method::Post, "/api/v1/namespaces/default/configmaps", &small("other"), &who);
        let gone = Request::new(Method::Delete, "/api/v1/namespaces/n", &who);
        let create = |name: &str| request(Method::Post, PODS, &pod(name, "a"), &who);
        let mut server = server();
        let (reply, taken) = run(&mut server, &create("p"), &[&other]);
        assert_eq!((reply.code, taken), (201, true));
        // Its draws do not repeat.
        let (reply, taken) = run(&mut server, &create("q"), &[]);
        assert_eq!((reply.code, taken), (201, true));
        let label = request(Method::Patch, &path, &json!({ "metadata": { "labels": { "a": "1" } } }), &who);
        let late =
            request(Method::Patch, &path, &json!({ "metadata": { "annotations": { "b": "2" } } }), &who);
        let (reply, _) = run(&mut server, &late, &[&label]);
        let metadata = reply.json().unwrap()["metadata"].clone();
        assert_eq!((&metadata["labels"]["a"], &metadata["annotations"]["b"]), (&json!("1"), &json!("2")));
        let mut uids: Vec<String> = server.objects().map(|(_, object)| object.uid().to_owned()).collect();
        let count = uids.len();
        uids.sort();
        uids.dedup();
        assert_eq!(uids.len(), count);
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
        server.handle(&request(Method::Post, "/api/v1/namespaces", &namespace, &who), Time::UNIX_EPOCH);
        let create = request(Method::Post, "/api/v1/namespaces/n/pods", &pod("p", "a"), &who);
        let (reply, _) = run(&mut server, &create, &[&gone]);
        assert_eq!(reply.code, 403, "{:?}", reply.json());
    }

    #[test]
    fn small_writes_and_reads_are_not_copied() {
        let who = Identity::admin();
        let mut server = server();
        let small = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" } });
        assert!(!server.is_worth_a_copy(&request(Method::Post, PODS, &small, &who)));
        assert!(!server.is_worth_a_copy(&Request::new(Method::Get, PODS, &who)));
        let large = request(Method::Post, PODS, &pod("p", "a"), &who);
        assert!(server.is_worth_a_copy(&large));
        server.handle(&large, Time::UNIX_EPOCH);
        let path = format!("{PODS}/p");
        assert!(server.is_worth_a_copy(&request(Method::Patch, &path, &json!({}), &who)));
    }
}
