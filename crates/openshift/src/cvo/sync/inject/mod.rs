//! Injects cluster-specific environment variables into workloads of the payload: proxy settings, and into the
//! operator's own Deployment the API address (`lib/resourcebuilder` of openshift/cluster-version-operator).

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Value, json};
use windtunnel_core::View;
use windtunnel_core::resources::{INFRASTRUCTURES, PROXIES};

use crate::cvo::NAME;
use crate::cvo::lease::NAMESPACE;

/// The annotation of Deployments and DaemonSets with the comma-separated containers that get proxy variables.
const INTO: &str = "config.openshift.io/inject-proxy";
/// The variables, and the fields of the Proxy's status with their values.
const PROXY: [(&str, &str); 3] =
    [("HTTP_PROXY", "httpProxy"), ("HTTPS_PROXY", "httpsProxy"), ("NO_PROXY", "noProxy")];
/// The default port of the API.
const HTTPS: &str = "443";

/// The objects with the cluster-specific values. An object that does not exist is null.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Proxy `cluster`.
    pub proxy: &'a Value,
    /// Infrastructure `cluster`.
    pub infrastructure: &'a Value,
}

impl<'a> Surroundings<'a> {
    /// Reads the objects from a cluster. The operator does this for each manifest, so a change applies from
    /// the next pass on.
    pub(in crate::cvo) fn of(view: &'a View) -> Self {
        let cluster = |resource| view.get(resource, "", "cluster").map_or(&Value::Null, |object| &**object);
        Self { proxy: cluster(&PROXIES), infrastructure: cluster(&INFRASTRUCTURES) }
    }
}

/// Returns whether variables can be injected into an object of the payload.
pub(in crate::cvo) fn can_inject(object: &Value) -> bool {
    is_workload(object) && (is_own(object) || !annotated_containers(object).is_empty())
}

/// Returns the object with the injected variables.
///
/// # Errors
/// The name of a container that is missing, or an invalid address of the API.
pub(in crate::cvo) fn into<'o>(
    wanted: &'o Value,
    around: Surroundings<'_>,
) -> Result<Cow<'o, Value>, String> {
    let mut object = Cow::Borrowed(wanted);
    if !is_workload(wanted) {
        return Ok(object);
    }
    let variables = proxy_variables(around.proxy);
    // Without a proxy the operator does not check that the containers exist.
    if !variables.is_empty() && !annotated_containers(wanted).is_empty() {
        for container in annotated_containers(wanted).split(',') {
            let append = |environment: &mut Vec<Value>| environment.extend(variables.iter().cloned());
            change(object.to_mut(), container, append)?;
        }
    }
    if is_own(wanted)
        && let Some((host, port)) = internal_api(around.infrastructure)?
    {
        let variables = [("KUBERNETES_SERVICE_PORT", port), ("KUBERNETES_SERVICE_HOST", host)];
        change(object.to_mut(), NAME, |environment| variables.iter().for_each(|one| set(environment, *one)))?;
    }
    Ok(object)
}

fn is_workload(object: &Value) -> bool {
    object["kind"] == "Deployment" || object["kind"] == "DaemonSet"
}

/// Returns whether this is the operator's own Deployment. It uses the internal address of the API, because
/// the API server of its own node is unavailable for minutes during a rollout.
fn is_own(object: &Value) -> bool {
    let metadata = &object["metadata"];
    object["kind"] == "Deployment" && metadata["name"] == NAME && metadata["namespace"] == NAMESPACE
}

/// The containers that get proxy variables, or an empty string.
fn annotated_containers(object: &Value) -> &str {
    object["metadata"]["annotations"][INTO].as_str().unwrap_or_default()
}

/// The proxy variables, or none if no field is set. If some field is set, the others become variables without
/// a value.
fn proxy_variables(proxy: &Value) -> Vec<Value> {
    let configured = |field: &str| proxy["status"][field].as_str().unwrap_or_default();
    if PROXY.iter().all(|(_, field)| configured(field).is_empty()) {
        return Vec::new();
    }
    let variable = |&(name, field): &(&str, &str)| match configured(field) {
        "" => json!({ "name": name }),
        value => json!({ "name": name, "value": value }),
    };
    PROXY.iter().map(variable).collect()
}

/// Changes the environment of all containers and init containers with this name.
fn change(object: &mut Value, container: &str, change: impl Fn(&mut Vec<Value>)) -> Result<(), String> {
    let mut exists = false;
    for field in ["containers", "initContainers"] {
        let list = object.pointer_mut(&format!("/spec/template/spec/{field}")).and_then(Value::as_array_mut);
        for found in list.into_iter().flatten().filter(|found| found["name"] == container) {
            exists = true;
            if !found["env"].is_array() {
                found["env"] = json!([]);
            }
            found["env"].as_array_mut().into_iter().for_each(&change);
        }
    }
    exists.then_some(()).ok_or_else(|| format!("expected a container {container:?}, found none"))
}

/// Sets a variable, or appends it if it is missing.
fn set(environment: &mut Vec<Value>, (name, value): (&str, &str)) {
    let mut exists = false;
    for variable in environment.iter_mut().filter(|variable| variable["name"] == name) {
        variable["value"] = json!(value);
        exists = true;
    }
    if !exists {
        environment.push(json!({ "name": name, "value": value }));
    }
}

/// Host and port of the internal API address in the Infrastructure, if it has one.
fn internal_api(infrastructure: &Value) -> Result<Option<(&str, &str)>, String> {
    let address = infrastructure["status"]["apiServerInternalURI"].as_str().unwrap_or_default();
    let Some((_, rest)) = address.split_once("://") else { return Ok(None) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        // The last colon is part of an IPv6 address.
        Some(_) if authority.ends_with(']') => (authority, ""),
        Some((host, port)) => match host.strip_prefix('[') {
            Some(inner) => (inner.trim_end_matches(']'), port),
            None if host.contains(':') => {
                return Err(format!("expected host and port of the API, found {authority:?}"));
            }
            None => (host, port),
        },
        None => (authority, ""),
    };
    Ok((!host.is_empty()).then_some((host, if port.is_empty() { HTTPS } else { port })))
}
