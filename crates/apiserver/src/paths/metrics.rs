//! `/metrics`: counters of the server, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::RequestInfo;
use crate::kinds::Kind;
use crate::kinds::catalog::Catalog;
use crate::reply::{Reply, ReplyBody};
use crate::request::Method;
use crate::store::{Store, TableId};
use crate::watch::stream::Watching;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counters of requests and watches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    /// By table of the kind, verb and status code.
    requests: BTreeMap<(TableId, &'static str, u16), (u64, Arc<Kind>)>,
    watchers: Arc<AtomicU64>,
}

impl Metrics {
    /// Counts a request with its status code.
    pub(crate) fn count(&mut self, info: &RequestInfo<'_>, code: u16) {
        let key = (info.kind.table, verb(info), code);
        // The kind is cloned only for the first request of its key.
        if let Some((count, _)) = self.requests.get_mut(&key) {
            *count += 1;
        } else {
            self.requests.insert(key, (1, Arc::clone(&info.kind)));
        }
    }

    /// Counts a watch until the returned value is dropped.
    pub(crate) fn watching(&self) -> Watching {
        Watching::new(&self.watchers)
    }
}

/// The verb in the metrics of a real server.
fn verb(info: &RequestInfo<'_>) -> &'static str {
    let named = !info.path.name.is_empty();
    match info.request.method {
        Method::Get if info.is_watch() => "WATCH",
        Method::Get if named => "GET",
        Method::Get => "LIST",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Patch if info.request.content_type.starts_with("application/apply-patch") => "APPLY",
        Method::Patch => "PATCH",
        Method::Delete if named => "DELETE",
        Method::Delete => "DELETECOLLECTION",
        Method::Options | Method::Other => "other",
    }
}

impl Metrics {
    /// Serves `/metrics`.
    pub(super) fn answer(&self, catalog: &Catalog, store: &Store) -> Reply {
        let mut text = String::new();
        head(&mut text, "apiserver_request_total", "counter", "Requests by verb, resource and code.");
        for ((_, verb, code), (count, kind)) in &self.requests {
            let resource = &kind.resource;
            let _ = writeln!(
                text,
                "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",group=\"{}\",resource=\"{}\",\
                 verb=\"{verb}\",version=\"{}\"}} {count}",
                resource.group, resource.plural, resource.version
            );
        }
        head(&mut text, "apiserver_resource_objects", "gauge", "Stored objects by resource.");
        let mut seen = None;
        for kind in catalog.served() {
            if seen.replace(kind.table) == Some(kind.table) {
                continue;
            }
            let count = store.count(kind.table);
            let resource = &kind.resource;
            let labels = format!("group=\"{}\",resource=\"{}\"", resource.group, resource.plural);
            let _ = writeln!(text, "apiserver_resource_objects{{{labels}}} {count}");
        }
        head(&mut text, "apiserver_longrunning_requests", "gauge", "Watches that are open.");
        let watchers = self.watchers.load(Ordering::Relaxed);
        let _ = writeln!(
            text,
            "apiserver_longrunning_requests{{component=\"apiserver\",verb=\"WATCH\"}} {watchers}"
        );
        head(&mut text, "etcd_current_revision", "gauge", "The revision of the last write.");
        let _ = writeln!(text, "etcd_current_revision {}", store.visible());
        Reply::new(200, ReplyBody::Bytes { content_type: CONTENT_TYPE, bytes: text.into() })
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
