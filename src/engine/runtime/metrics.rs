//! Serves metrics and logs of simulated pods: the metrics of the cluster-version operator, and the lines of all
//! simulated programs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windtunnel_controllers::counter::Counter;
use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;
use windtunnel_core::resources::{LEASES, PODS};
use windtunnel_core::{Change, ChangeKind, Object, View};
use windtunnel_openshift::cvo;
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::monitoring::{self, Counted, History, Transitions};

use super::logs::{Logs, pod};
use crate::backends::{LogRequest, PodRequest, PodResponse, Upstream};
use crate::engine::observer::Observer;

/// The port of the operator's metrics.
const METRICS_PORT: u16 = 9099;

/// The counters and logs of components, for requests on other threads.
#[derive(Debug, Default)]
pub(in crate::engine) struct Exports(Mutex<Counts>);

#[derive(Debug, Clone, Default)]
struct Counts {
    transitions: Transitions,
    counters: Arc<Vec<Counter>>,
    logs: Logs,
    /// The samples of earlier scrapes, on served clusters.
    history: History,
    /// Whether the samples may have changed since the last scrape.
    is_changed: bool,
}

impl Clone for Exports {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl Exports {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        // A panic leaves no half-written counters.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `call` with the logs.
    pub(in crate::engine) fn with_logs<T>(&self, call: impl FnOnce(&mut Logs) -> T) -> T {
        call(&mut self.lock().logs)
    }

    /// Sets the counter of a component.
    pub(in crate::engine) fn count(&self, counter: Counter) {
        let is_same = |known: &Counter| {
            (&known.by, known.metric, &known.labels) == (&counter.by, counter.metric, &counter.labels)
        };
        let mut counts = self.lock();
        counts.is_changed = true;
        let counters = Arc::make_mut(&mut counts.counters);
        counters.retain(|known| !is_same(known));
        counters.push(counter);
    }

    /// Drops the counters of an ended component. Returns their metrics.
    pub(in crate::engine) fn forget(&self, by: &str) -> Vec<&'static str> {
        let mut counts = self.lock();
        let gone: Vec<_> = counts.counters.iter().filter(|one| one.by == by).map(|one| one.metric).collect();
        if !gone.is_empty() {
            Arc::make_mut(&mut counts.counters).retain(|counter| counter.by != by);
        }
        gone
    }

    /// The counters of running components.
    pub(in crate::engine) fn counters(&self) -> Arc<Vec<Counter>> {
        Arc::clone(&self.lock().counters)
    }

    /// Stores the samples of a scrape, if they may have changed since the one before.
    pub(in crate::engine) fn scrape(&self, environment: &Environment, view: &View, now: Time) {
        let mut counts = self.lock();
        if std::mem::take(&mut counts.is_changed) {
            let Counts { transitions, counters, history, .. } = &mut *counts;
            let counted = Counted { transitions: Some(transitions), counters };
            history.scrape_all(environment, view, counted, now);
        }
    }

    /// Calls `call` with the current counters and the samples of earlier scrapes.
    pub(in crate::engine) fn with_history<T>(&self, call: impl FnOnce(Counted<'_>, &History) -> T) -> T {
        let counts = self.lock();
        let counted = Counted { transitions: Some(&counts.transitions), counters: &counts.counters };
        call(counted, &counts.history)
    }

    /// Calls `call` with the current counters.
    pub(in crate::engine) fn with<T>(&self, call: impl FnOnce(Counted<'_>) -> T) -> T {
        let counts = self.lock();
        call(Counted { transitions: Some(&counts.transitions), counters: &counts.counters })
    }
}

impl Observer for Arc<Exports> {
    /// Counts a change of the cluster, and drops the logs of a deleted pod.
    fn on_change(&mut self, change: &Change, _: &View, _: Time) {
        if change.key.is_kind(&LEASES) {
            return;
        }
        let mut counts = self.lock();
        counts.is_changed = true;
        if change.kind == ChangeKind::Deleted && change.key.is_kind(&PODS) {
            counts.logs.forget(&change.key);
        }
        if Transitions::are_touched_by(change) {
            counts.transitions.notice(change);
        }
    }
}

impl Upstream for Exports {
    fn answer(&self, asked: &PodRequest<'_>) -> Option<PodResponse> {
        if asked.port != METRICS_PORT || !runs(asked.pod, cvo::NAME) {
            return None;
        }
        Some(match (asked.scheme, asked.path) {
            ("http", _) => PodResponse::text(400, "Client sent an HTTP request to an HTTPS server.\n"),
            (_, "/metrics") => {
                let body = self.with(|counted| monitoring::exposition(&asked.view, counted, asked.now));
                PodResponse { code: 200, content_type: monitoring::EXPOSITION, body }
            }
            _ => PodResponse::text(404, "404 page not found\n"),
        })
    }

    fn log(&self, asked: &LogRequest<'_>) -> Option<Vec<LogLine>> {
        pod::lines(&self.lock().logs, asked.pod, asked.container, asked.previous)
    }
}

/// Whether a container of this name runs in the pod.
fn runs(pod: &Object, container: &str) -> bool {
    let statuses = pod.list("/status/containerStatuses");
    statuses.iter().any(|status| status["name"] == container && !status["state"]["running"].is_null())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn answer(port: u16, scheme: &str, path: &str, state: &str) -> Option<(u16, String)> {
        let status = json!({ "name": cvo::NAME, "state": { state: {} } });
        let pod = Object::new(json!({ "status": { "containerStatuses": [status] } }));
        let (view, now) = (View::default(), Time::default());
        let answered = Exports::default().answer(&PodRequest { pod: &pod, scheme, port, path, view, now })?;
        Some((answered.code, answered.body))
    }

    #[test]
    fn a_counter_keeps_its_last_count_until_its_component_ends() {
        let counter =
            |by: &str, count| Counter { by: by.to_owned(), metric: "errors", labels: BTreeMap::new(), count };
        let exports = Exports::default();
        for counter in [counter("a", 1), counter("b", 5), counter("a", 2)] {
            exports.count(counter);
        }
        let counts = |exports: &Exports| {
            exports.counters().iter().map(|one| format!("{}={}", one.by, one.count)).collect::<Vec<_>>()
        };
        assert_eq!(counts(&exports), ["b=5", "a=2"]);
        assert_eq!(exports.forget("b"), ["errors"]);
        assert_eq!(counts(&exports), ["a=2"]);
        assert!(exports.forget("b").is_empty());
    }

    #[test]
    fn metrics_are_served_only_over_https_while_the_operator_runs() {
        let (code, metrics) = answer(9099, "https", "/metrics", "running").unwrap();
        assert_eq!(code, 200);
        assert!(metrics.contains("\ncluster_installer{type=\"other\"} 1\n"), "{metrics}");
        assert_eq!(answer(9099, "http", "/metrics", "running").unwrap().0, 400);
        assert_eq!(answer(9099, "https", "/healthz", "running").unwrap().0, 404);
        assert_eq!(answer(80, "https", "/metrics", "running"), None);
        assert_eq!(answer(9099, "https", "/metrics", "waiting"), None);
    }
}
