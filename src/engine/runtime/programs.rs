//! The simulated programs that clients can reach through the API server: those in pods, and Prometheus behind the Route
//! `thanos-querier`.

use std::sync::Arc;

use tokio::sync::watch;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::log::LogLine;
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::monitoring::http_api::{self, Parameters, ServedState};

use super::metrics::Exports;
use crate::backends::{LogRequest, PathRequest, Permission, PodRequest, PodResponse, Upstream};

/// The permission that the proxy in front of Thanos asks for.
const PROMETHEUS_API: Permission = Permission {
    group: "monitoring.coreos.com",
    resource: "prometheuses",
    subresource: "api",
    namespace: "openshift-monitoring",
    name: "k8s",
};

/// The programs of one cluster.
pub(in crate::engine) struct Programs {
    pub(in crate::engine) exports: Arc<Exports>,
    pub(in crate::engine) environment: Arc<Environment>,
    pub(in crate::engine) alerts: watch::Receiver<Vec<ActiveAlert>>,
}

impl Upstream for Programs {
    fn answer(&self, asked: &PodRequest<'_>) -> Option<PodResponse> {
        self.exports.answer(asked)
    }

    fn log(&self, asked: &LogRequest<'_>) -> Option<Vec<LogLine>> {
        self.exports.log(asked)
    }

    fn permission(&self, path: &str) -> Option<Permission> {
        http_api::is_served(path).then_some(PROMETHEUS_API)
    }

    fn serve(&self, asked: &PathRequest<'_>) -> Option<PodResponse> {
        let alerts = self.alerts.borrow().clone();
        let (code, body) = self.exports.with_history(|counted, history| {
            let state = ServedState {
                view: &asked.view,
                environment: &self.environment,
                counted,
                history,
                alerts: &alerts,
                now: asked.now,
            };
            http_api::answer(asked.path, Parameters(asked.parameters.pairs()), &state)
        })?;
        Some(PodResponse { code, content_type: "application/json", body: body.to_string() })
    }
}
