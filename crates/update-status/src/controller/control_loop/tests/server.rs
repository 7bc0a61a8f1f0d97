//! The few URLs of an API server that the controller requests: one object each, which can be listed, watched
//! and patched.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// URLs of the served kinds.
pub(in crate::controller) const CLUSTER_VERSIONS: &str = "/apis/config.openshift.io/v1/clusterversions";
pub(in crate::controller) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(in crate::controller) const MACHINE_CONFIGS: &str =
    "/apis/machineconfiguration.openshift.io/v1/machineconfigs";
pub(in crate::controller) const POOLS: &str = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools";
pub(in crate::controller) const NODES: &str = "/api/v1/nodes";
pub(in crate::controller) const CONFIG_MAPS: &str =
    "/api/v1/namespaces/openshift-update-status-controller/configmaps";

#[derive(Clone)]
pub(in crate::controller) struct Server(Arc<Mutex<Inner>>);

struct Inner {
    origin: Instant,
    revision: u64,
    minor: &'static str,
    /// The status code for rejected patches, and how many to reject.
    rejections: (u16, u32),
    hangs: bool,
    objects: BTreeMap<String, Value>,
    watches: Vec<(String, mpsc::UnboundedSender<Bytes>)>,
    log: Vec<String>,
}

type Reply = Response<BoxBody<Bytes, Infallible>>;

impl Server {
    pub(in crate::controller) fn start() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            origin: Instant::now(),
            revision: 0,
            minor: "",
            rejections: (500, 0),
            hangs: false,
            objects: BTreeMap::new(),
            watches: Vec::new(),
            log: Vec::new(),
        })))
    }

    pub(in crate::controller) fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                if request.method() == Method::PATCH && server.inner().hangs() {
                    std::future::pending::<()>().await;
                }
                Ok::<_, Infallible>(server.answer(request).await)
            }
        });
        kube::Client::new(service, "default")
    }

    pub(in crate::controller) fn put(&self, path: &str, object: Value) {
        self.inner().put(path, object);
    }

    pub(in crate::controller) fn get(&self, path: &str) -> Value {
        self.inner().objects.get(path).cloned().unwrap_or_default()
    }

    /// Deletes an object without notifying the watches.
    pub(in crate::controller) fn forget(&self, path: &str) {
        self.inner().objects.remove(path);
    }

    pub(in crate::controller) fn serve_minor(&self, minor: &'static str) {
        self.inner().minor = minor;
    }

    /// Rejects the next `count` patches with this status code.
    pub(in crate::controller) fn refuse_patches_with(&self, code: u16, count: u32) {
        self.inner().rejections = (code, count);
    }

    /// Never responds to the next patch.
    pub(in crate::controller) fn hang_once(&self) {
        self.inner().hangs = true;
    }

    pub(in crate::controller) fn log(&self) -> Vec<String> {
        self.inner().log.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    async fn answer(&self, request: Request<Body>) -> Reply {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let mut inner = self.inner();
        if query.contains("watch=true") {
            let (sender, receiver) = mpsc::unbounded_channel();
            inner.watches.push((path.to_owned(), sender));
            let lines = futures::stream::unfold(receiver, async |mut receiver| {
                receiver.recv().await.map(|line| (Ok(Frame::data(line)), receiver))
            });
            return Response::new(BodyExt::boxed(StreamBody::new(
                lines.map(|frame: Result<_, Infallible>| frame),
            )));
        }
        let seconds = inner.origin.elapsed().as_secs();
        let last = path.rsplit('/').next().unwrap_or_default();
        inner.log.push(format!("{seconds} {} {last}", head.method));
        if head.method == Method::PATCH {
            return inner.patch(path, &body);
        }
        if path == "/version" {
            return reply(200, &json!({"major": "1", "minor": inner.minor, "gitVersion": "v1"}));
        }
        let items: Vec<&Value> = inner.objects.get(path).into_iter().collect();
        reply(200, &json!({"metadata": {"resourceVersion": inner.revision.to_string()}, "items": items}))
    }
}

impl Inner {
    fn hangs(&mut self) -> bool {
        std::mem::take(&mut self.hangs)
    }

    fn put(&mut self, path: &str, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let line = format!("{}\n", json!({"type": "MODIFIED", "object": object}));
        self.objects.insert(path.to_owned(), object);
        for (_, watch) in self.watches.iter().filter(|(watched, _)| watched == path) {
            let _ = watch.send(Bytes::from(line.clone()));
        }
    }

    fn patch(&mut self, path: &str, body: &[u8]) -> Reply {
        let collection = path.rsplit_once('/').unwrap().0;
        let status =
            |code: u16| json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code});
        let Some(mut object) = self.objects.get(collection).cloned() else { return reply(404, &status(404)) };
        let (code, left) = &mut self.rejections;
        if *left > 0 {
            *left -= 1;
            return reply(*code, &status(*code));
        }
        let patch: Value = serde_json::from_slice(body).unwrap();
        if patch["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return reply(409, &status(409));
        }
        json_patch::merge(&mut object, &patch);
        self.put(collection, object);
        reply(200, &self.objects[collection])
    }
}

fn reply(code: u16, body: &Value) -> Reply {
    let body = http_body_util::Full::new(Bytes::from(body.to_string()));
    Response::builder().status(code).body(BodyExt::boxed(body)).unwrap()
}
