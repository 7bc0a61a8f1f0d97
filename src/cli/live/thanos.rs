//! Reads the alerts of a cluster from Thanos behind its Route, as `oc` does.

use http::Request;
use kube::{Client, Config};
use serde_json::Value;
use windtunnel_core::text::error_chain;

const ROUTE: &str = "/apis/route.openshift.io/v1/namespaces/openshift-monitoring/routes/thanos-querier";

/// Returns the body of `/api/v1/alerts` from the first host of the Route that answers.
///
/// # Errors
/// The reason why no host answered.
pub(in crate::cli) async fn alerts(client: &Client, config: &Config) -> Result<String, String> {
    if config.auth_info.token.is_none() && config.auth_info.token_file.is_none() {
        return Err("no token is currently in use for this session".to_owned());
    }
    let failed = |why: String| format!("failed to get alerts from Thanos: {why}");
    let route = route(client).await.map_err(failed)?;
    let hosts = route["status"]["ingress"].as_array().into_iter().flatten();
    let hosts: Vec<&str> = hosts.filter_map(|ingress| ingress["host"].as_str()).collect();
    let place = "in the openshift-monitoring/thanos-querier Route";
    let mut last_error = format!("unable to get /api/v1/alerts from any of 0 URIs {place}: %!s(<nil>)");
    for host in hosts {
        match query_host(config, host).await {
            Ok(answer) => return Ok(answer),
            Err(why) => last_error = format!("unable to get /api/v1/alerts from URI {place}: {host}->{why}"),
        }
    }
    Err(failed(last_error))
}

async fn route(client: &Client) -> Result<Value, String> {
    let request = Request::get(ROUTE).body(Vec::new()).map_err(|error| error.to_string())?;
    client.request::<Value>(request).await.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 404 => super::not_found(&status, ROUTE),
        kube::Error::Api(status) => status.message,
        other => error_chain(&other),
    })
}

async fn query_host(config: &Config, host: &str) -> Result<String, String> {
    let mut config = config.clone();
    config.cluster_url =
        format!("https://{host}").parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    fetch_alerts(&Client::try_from(config).map_err(|error| error.to_string())?).await
}

/// Returns the body of `/api/v1/alerts`.
///
/// # Errors
/// The reason why there is no answer.
pub(in crate::cli) async fn fetch_alerts(client: &Client) -> Result<String, String> {
    let request = Request::get("/api/v1/alerts").body(Vec::new()).map_err(|error| error.to_string())?;
    client.request_text(request).await.map_err(|error| match error {
        kube::Error::Api(status) => format!("GET status code={}", status.code),
        other => error_chain(&other),
    })
}
