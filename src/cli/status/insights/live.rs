//! Insights of a live cluster.

use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use windtunnel_core::clock::{Clock, Time};
use windtunnel_update_status::controller::snapshot::{Insights, published_insights};
use windtunnel_update_status::controller::{Parts, run_once};

use super::{alerts_in, not_published};
use crate::cli::live::client::client;
use crate::cli::live::connection::Connection;
use crate::cli::live::{block_on, client_error, clock, get, thanos};
use crate::cli::status::PrintError;

const CONFIG_MAP: &str =
    "/api/v1/namespaces/openshift-update-status-controller/configmaps/status-api-cm-prototype";
const UPDATE_STATUS: &str = "/apis/update.openshift.io/v1alpha1/updatestatuses/cluster";

/// Returns the published insights.
///
/// # Errors
/// The cluster does not answer, or there are none.
pub(super) fn published(kubeconfig: &Path, context: Option<&str>) -> Result<Insights, PrintError> {
    block_on(async {
        let config = Connection::from_kubeconfig(kubeconfig, context).config().await?;
        let client = client(config).map_err(|error| client_error(&error.to_string()))?;
        let config_map = get(&client, CONFIG_MAP).await?;
        if let Some(insights) = published_insights(config_map.as_ref(), None) {
            return Ok(insights);
        }
        published_insights(None, get(&client, UPDATE_STATUS).await?.as_ref()).ok_or_else(not_published)
    })?
}

/// A clock that stands still.
struct Stopped(Time);

impl Clock for Stopped {
    fn now(&self) -> Time {
        self.0
    }

    fn speed(&self) -> f64 {
        0.0
    }
}

/// Returns the insights of a controller started at a moment, or now.
///
/// # Errors
/// The cluster does not answer, or required objects are missing.
pub(super) fn computed(
    kubeconfig: &Path,
    context: Option<&str>,
    as_of: Option<Time>,
) -> Result<Insights, PrintError> {
    block_on(async {
        let config = Connection::from_kubeconfig(kubeconfig, context).config().await?;
        let (client, server_clock) =
            clock::client(config.clone()).map_err(|error| client_error(&error.to_string()))?;
        let alerts = thanos::alerts(&client, &config).await.map(|body| alerts_in(&body)).unwrap_or_default();
        let clock: Arc<dyn Clock> = match as_of {
            Some(at) => Arc::new(Stopped(at)),
            None => server_clock,
        };
        let alerts = stream::iter([Ok(alerts)]).chain(stream::pending()).boxed();
        let parts = Parts { client, clock, alerts: Some(alerts), observer: Arc::new(()) };
        let outcome = run_once(parts, false).await;
        Ok(outcome.map_err(|error| client_error(&error.to_string()))?.insights)
    })?
}
