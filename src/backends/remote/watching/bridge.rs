//! Kube clients for controllers that run in virtual time beside the engine. Their requests use the
//! connection to the server, and cluster time stands still until they are answered.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, Uri};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use windtunnel_apiserver::{Query, ResourcePath, Target};
use windtunnel_core::clock::Clock;
use windtunnel_core::limits::REQUEST_LATENCY_MS;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Identity, Resource, resources};

use super::follow::Lines;
use crate::backends::remote::link::{Link, Observation, Wrote};
use crate::backends::remote::marks::keep_marks::Sent;
use crate::backends::remote::marks::stamp::SIMULATED;
use crate::backends::remote::reply::Reply;
use crate::backends::remote::waits::lag::{Delivery, Topic};
use crate::backends::remote::wire;

type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

/// Sends requests as one identity.
#[derive(Clone)]
pub(in crate::backends::remote) struct Bridge {
    pub(in crate::backends::remote) link: Arc<Link>,
    pub(in crate::backends::remote) who: Arc<Identity>,
    pub(in crate::backends::remote) clock: Arc<dyn Clock>,
}

impl tower::Service<Request<Body>> for Bridge {
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let bridge = self.clone();
        bridge.link.count();
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(REQUEST_LATENCY_MS)).await;
            bridge.link.set_time(bridge.clock.now());
            let uri = head.uri.clone();
            let info = RequestInfo::parse(&head.method, uri.path(), uri.query().unwrap_or_default());
            if bridge.link.stamp.beside_others
                && let Some(own) = info.as_ref().and_then(|info| info.own_nodes_only(&head))
            {
                head.uri = own;
            }
            let body = bridge.stamped(&head, info.as_ref(), body).await;
            // The length of the body has changed.
            head.headers.remove(http::header::CONTENT_LENGTH);
            let agent = bridge.who.user.rsplit(':').next().unwrap_or_default().to_owned();
            let mut request = Request::from_parts(head, body.to_vec());
            wire::speak_as(&mut request, &agent, &bridge.who);
            Ok(match info {
                Some(info) if info.is_watch => bridge.watch(request, &info).await,
                info => bridge.ask(request, info.as_ref(), &agent).await,
            })
        })
    }
}

/// The target of a request.
struct RequestInfo {
    resource: Resource,
    namespace: String,
    name: String,
    subresource: String,
    verb: &'static str,
    is_watch: bool,
    /// For a watch without selectors, its start revision.
    since: Option<u64>,
}

impl RequestInfo {
    fn parse(method: &Method, path: &str, query: &str) -> Option<Self> {
        let (Target::Resource(path), query) = (Target::parse(path), Query::parse(query)) else { return None };
        let ResourcePath { group, version, namespace, resource, name, subresource, .. } = path;
        let known = resources::ALL.iter().find(|known| known.group == group && known.plural == resource);
        let resource = known.cloned().unwrap_or_else(|| Resource {
            group: group.into_owned().into(),
            version: version.into_owned().into(),
            kind: String::new().into(),
            plural: resource.into_owned().into(),
            namespaced: !namespace.is_empty(),
        });
        let is_watch = *method == Method::GET && query.is_true("watch");
        let is_all = ["fieldSelector", "labelSelector"].iter().all(|selector| query.get(selector).is_empty());
        Some(Self {
            resource,
            namespace: namespace.into_owned(),
            name: name.into_owned(),
            subresource: subresource.into_owned(),
            verb: match *method {
                Method::POST => "create",
                Method::PUT => "update",
                Method::PATCH => "patch",
                Method::DELETE => "delete",
                _ => "get",
            },
            is_watch,
            since: (is_watch && is_all).then(|| query.get("resourceVersion").parse().unwrap_or(0)),
        })
    }

    /// The address of a list or watch of nodes without the nodes of others, which no simulated component sees.
    fn own_nodes_only(&self, head: &http::request::Parts) -> Option<Uri> {
        let is_nodes = self.resource.plural == NODES.plural && self.resource.group.is_empty();
        if head.method != Method::GET || !is_nodes || !self.name.is_empty() {
            return None;
        }
        let query = head.uri.query().unwrap_or_default();
        let other = |pair: &&str| !pair.is_empty() && !pair.starts_with("labelSelector=");
        let mut pairs: Vec<String> = query.split('&').filter(other).map(str::to_owned).collect();
        let wanted = query.split('&').find_map(|pair| pair.strip_prefix("labelSelector="));
        let wanted = wanted.filter(|wanted| !wanted.is_empty()).map(|wanted| format!("{wanted}%2C"));
        pairs.push(format!("labelSelector={}{}", wanted.unwrap_or_default(), SIMULATED.replace('/', "%2F")));
        format!("{}?{}", head.uri.path(), pairs.join("&")).parse().ok()
    }

    fn topic(&self) -> Topic {
        Topic {
            group: self.resource.group.to_string(),
            plural: self.resource.plural.to_string(),
            namespace: self.namespace.clone(),
        }
    }
}

impl Bridge {
    /// Returns the body of a request with the marks of the run, so that the resulting object has them.
    async fn stamped(&self, head: &http::request::Parts, info: Option<&RequestInfo>, body: Bytes) -> Bytes {
        let Some(info) = info.filter(|info| info.subresource.is_empty()) else { return body };
        let media = head.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
        let Ok(mut value) = serde_json::from_slice::<Value>(&body) else { return body };
        let stamp = &self.link.stamp;
        let sent = match info.verb {
            "update" => Sent::Object(&mut value),
            "patch" if media.starts_with("application/json-patch") => Sent::Operations(&mut value),
            "patch" if !media.starts_with("application/apply-patch") => Sent::Merge(&mut value),
            "create" | "patch" => {
                stamp.mark(&info.resource, &mut value);
                return serde_json::to_vec(&value).map_or(body, Bytes::from);
            }
            _ => return body,
        };
        let live = if stamp.needs_live(&info.resource, &sent) { self.live(info).await } else { None };
        stamp.keep(&info.resource, live.as_ref(), sent);
        serde_json::to_vec(&value).map_or(body, Bytes::from)
    }

    /// Returns the current object, if it exists.
    async fn live(&self, info: &RequestInfo) -> Option<Value> {
        let (link, path) = (Arc::clone(&self.link), info.resource.path(&info.namespace, &info.name));
        let read = tokio::task::spawn_blocking(move || link.wire.get(&path).checked().ok());
        read.await.ok().flatten()
    }

    /// Sends a request other than a watch.
    async fn ask(
        &self,
        request: Request<Vec<u8>>,
        info: Option<&RequestInfo>,
        agent: &str,
    ) -> Response<ReplyBody> {
        let is_write = request.method() != Method::GET;
        if is_write && self.link.is_closed() {
            return response(503, &json!({ "kind": "Status", "message": "the run is over", "code": 503 }));
        }
        let link = Arc::clone(&self.link);
        // A blocking task keeps the paused clock from advancing.
        let reply = tokio::task::spawn_blocking(move || link.wire.call(request)).await;
        let Ok(reply) = reply else { return response(503, &Value::Null) };
        self.link.secrets.learn(&reply.body);
        if let Some(info) = info.filter(|_| is_write) {
            let message = reply.body["message"].as_str().filter(|_| reply.code >= 400).unwrap_or_default();
            let object = self.written(info, &reply).await;
            self.link.report(Observation::Wrote(Box::new(Wrote {
                at: self.clock.now(),
                by: agent.to_owned(),
                verb: info.verb,
                resource: info.resource.clone(),
                namespace: info.namespace.clone(),
                name: info.name.clone(),
                subresource: info.subresource.clone(),
                code: reply.code,
                message: message.to_owned(),
                object,
            })));
        }
        response(reply.code, &reply.body)
    }

    /// Returns the object after a write. A client that requested only metadata gets only metadata, but the
    /// run needs the whole object: a watch event of the same revision would not replace it.
    async fn written(&self, info: &RequestInfo, reply: &Reply) -> Option<Value> {
        let is_object = reply.code < 400 && reply.body["metadata"]["resourceVersion"].is_string();
        if reply.body["kind"] != "PartialObjectMetadata" {
            return is_object.then(|| reply.body.clone());
        }
        self.live(info).await.filter(|_| is_object)
    }

    /// Sends a watch and forwards its events as they arrive.
    async fn watch(&self, request: Request<Vec<u8>>, info: &RequestInfo) -> Response<ReplyBody> {
        let delivery = info.since.map(|since| self.link.lag.watch(info.topic(), since));
        let (lines, mut passed_on) = unbounded_channel();
        let link = Arc::clone(&self.link);
        let started = tokio::task::spawn_blocking(move || {
            let (sender, receiver) = mpsc::channel();
            let wire = Arc::clone(&link.wire);
            link.wire.handle().spawn(async move {
                let response = wire.send(request.map(Body::from)).await;
                let (head, body) = match response.map(Response::into_parts) {
                    Ok(parts) => parts,
                    Err(why) => return drop(sender.send(Err(why))),
                };
                if sender.send(Ok(head.status)).is_ok() {
                    pump(body, &lines, delivery.as_deref()).await;
                }
            });
            receiver.recv().unwrap_or_else(|_| Err("the connection is closed".to_owned()))
        });
        match started.await {
            Ok(Ok(status)) => {
                let frames = stream::poll_fn(move |context| passed_on.poll_recv(context));
                let body = StreamBody::new(frames.map(|line| Ok(Frame::data(line)))).boxed_unsync();
                let builder = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
                builder.body(body).unwrap_or_else(|_| response(503, &Value::Null))
            }
            Ok(Err(why)) => response(503, &json!({ "kind": "Status", "message": why, "code": 503 })),
            Err(_) => response(503, &Value::Null),
        }
    }
}

/// Forwards a watch until one of its ends closes, and notes the revisions that it delivered.
async fn pump(body: Body, passed_on: &UnboundedSender<Bytes>, delivery: Option<&Delivery>) {
    let (mut lines, mut body) = (Lines::default(), body.into_data_stream());
    while let Some(Ok(bytes)) = body.next().await {
        let brought = lines.take_in(&bytes);
        if passed_on.send(bytes).is_err() {
            return;
        }
        let revisions = brought.iter().map(|event| &event["object"]["metadata"]["resourceVersion"]);
        let newest = revisions.filter_map(|revision| revision.as_str()?.parse().ok()).max();
        if let (Some(delivery), Some(newest)) = (delivery, newest) {
            delivery.brought(newest);
        }
    }
}

fn response(code: u16, body: &Value) -> Response<ReplyBody> {
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let builder = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    // All codes come from answers or are constants here, so they are valid.
    builder
        .body(Full::new(bytes).boxed_unsync())
        .unwrap_or_else(|_| Response::new(Full::default().boxed_unsync()))
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_TYPE;
    use tower::Service as _;
    use windtunnel_core::clock::{Time, VirtualClock};

    use super::*;
    use crate::backends::remote::marks::stamp::{RUN, Stamp};
    use crate::backends::remote::scripted;

    #[tokio::test]
    async fn learns_the_whole_object_if_the_answer_is_metadata_only() {
        let metadata = json!({ "namespace": "ns", "name": "a", "resourceVersion": "7" });
        let whole = json!({ "kind": "ConfigMap", "metadata": metadata, "data": { "k": "v" } });
        let answer = json!({ "kind": "PartialObjectMetadata", "metadata": metadata });
        let wire = scripted::wire(None, vec![(200, answer.clone()), (200, whole.clone())]);
        let (link, seen) = Link::new(wire, Stamp { run: None, beside_others: false }, None);
        let clock = VirtualClock::starting_at(Time::UNIX_EPOCH);
        let mut bridge = Bridge { link, who: Arc::new(Identity::admin()), clock };
        let request = Request::patch("/api/v1/namespaces/ns/configmaps/a")
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(Body::from(b"{}".to_vec()))
            .unwrap();
        let body = bridge.call(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), answer, "the client gets its answer");
        let Ok(Observation::Wrote(wrote)) = seen.try_recv() else { panic!("the run gets no write") };
        assert_eq!(wrote.object, Some(whole));
    }

    /// Returns the requests that the server got after one request of a client.
    async fn sent_on(request: Request<Body>, answers: Vec<(u16, Value)>) -> Vec<(String, Value)> {
        let (wire, requests) = scripted::recording(answers);
        let stamp = Stamp { run: Some("r1".to_owned()), beside_others: true };
        let (link, _seen) = Link::new(wire, stamp, None);
        let clock = VirtualClock::starting_at(Time::UNIX_EPOCH);
        let mut bridge = Bridge { link, who: Arc::new(Identity::admin()), clock };
        bridge.call(request).await.unwrap();
        requests.try_iter().collect()
    }

    #[tokio::test]
    async fn controllers_see_no_nodes_of_others() {
        let own = "labelSelector=windtunnel.dev%2Fsimulated";
        let masters = "node-role.kubernetes.io%2Fmaster";
        for (asked, sent) in [
            ("/api/v1/nodes".to_owned(), format!("/api/v1/nodes?{own}")),
            (
                format!("/api/v1/nodes?limit=500&labelSelector={masters}"),
                format!("/api/v1/nodes?limit=500&labelSelector={masters}%2Cwindtunnel.dev%2Fsimulated"),
            ),
            ("/api/v1/nodes/worker-0".to_owned(), "/api/v1/nodes/worker-0".to_owned()),
            ("/api/v1/pods?limit=1".to_owned(), "/api/v1/pods?limit=1".to_owned()),
        ] {
            let request = Request::get(&asked).body(Body::empty()).unwrap();
            let requests = sent_on(request, vec![(200, json!({}))]).await;
            assert_eq!(requests[0].0, format!("GET {sent}"));
        }
    }

    #[tokio::test]
    async fn keeps_the_marks_in_writes_of_controllers() {
        let marked =
            json!({ "metadata": { "labels": { RUN: "r1" } }, "spec": { "template": { "spec": {} } } });
        let path = "/apis/apps/v1/namespaces/ns/daemonsets/d";
        let change = |method: &str, media: &str, body: &Value| {
            let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media);
            request.body(Body::from(body.to_string().into_bytes())).unwrap()
        };
        let pod = json!({ "tolerations": null });
        let template = json!({ "spec": { "template": { "spec": pod } } });
        let operations = json!([{ "op": "add", "path": "/spec/template/spec", "value": pod }]);
        let object = json!({ "metadata": { "name": "d" }, "spec": template["spec"] });
        for (method, media, body) in [
            ("PATCH", "application/strategic-merge-patch+json", &template),
            ("PATCH", "application/json-patch+json", &operations),
            ("PUT", "application/json", &object),
        ] {
            let answers = vec![(200, marked.clone()), (200, marked.clone())];
            let requests = sent_on(change(method, media, body), answers).await;
            let [(read, _), (written, body)] = &requests[..] else { panic!("{requests:?}") };
            assert_eq!((read, written), (&format!("GET {path}"), &format!("{method} {path}")));
            assert!(body.to_string().contains(SIMULATED), "{body}");
        }
    }
}
