//! `proxy` of pods and services: forwards a request to a simulated program in a pod (`ResourceLocation` of both
//! registries).

use bytes::Bytes;
use serde_json::Value;
use windtunnel_core::resources::{ENDPOINTS, PODS, SERVICES};
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::call::Call;
use crate::gotext::quote;
use crate::outbound::upstream::{PodRequest, PodResponse};
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{Reply, ReplyBody};
use crate::server::ApiServer;

/// `scheme:name:port`; scheme and port are optional (`SplitSchemeNamePort`).
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    scheme: &'a str,
    object: &'a str,
    port: &'a str,
}

impl<'a> Name<'a> {
    /// Parses a name; `None` if it is invalid.
    fn split(id: &'a str) -> Option<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        let known = ["", "http", "https"].contains(&scheme) && !name.is_empty();
        known.then_some(Self { scheme: if scheme.is_empty() { "http" } else { scheme }, object: name, port })
    }
}

impl ApiServer {
    /// Forwards a request to a pod that the path names, or to a pod behind a service.
    pub(super) fn proxy(&self, call: &Call<'_>) -> Outcome<Reply> {
        let id = &*call.path.name;
        let kind = call.kind.resource.kind.to_lowercase();
        let name = Name::split(id)
            .ok_or_else(|| BoxedRejection::bad_request(format!("invalid {kind} request {}", quote(id))))?;
        let (pod, port) = match kind.as_str() {
            "pod" => self.pod_behind(call, &name)?,
            "service" => self.service_behind(call, &name)?,
            _ => return Err(BoxedRejection::unavailable("error trying to reach service: no such host")),
        };
        let path = call.path.subresource.strip_prefix("proxy").unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        let asked =
            PodRequest { pod: &pod, scheme: name.scheme, port, path, view: self.full_view(), now: call.now };
        let answered = self.programs.any().and_then(|upstream| upstream.answer(&asked));
        let Some(PodResponse { code, content_type, body }) = answered else {
            let address = pod.text("/status/podIP");
            let why = format!("dial tcp {address}:{port}: connect: connection refused");
            return Err(BoxedRejection::unavailable(&format!("error trying to reach service: {why}")));
        };
        Ok(Reply::new(code, ReplyBody::Bytes { content_type, bytes: Bytes::from(body) }))
    }

    /// The pod, and the named port or else the first container port.
    fn pod_behind(&self, call: &Call<'_>, name: &Name<'_>) -> Outcome<(Object, u16)> {
        let namespace = &*call.path.namespace;
        let pod = self.object(&PODS, namespace, name.object);
        let pod = pod.ok_or_else(|| BoxedRejection::not_found(&PODS, name.object))?;
        if pod.text("/status/podIP").is_empty() {
            return Err(BoxedRejection::bad_request("address not allowed"));
        }
        let containers = pod.list("/spec/containers").iter();
        let mut ports = containers.filter_map(|container| container["ports"].as_array()).flatten();
        let first = ports.find_map(|port| port["containerPort"].as_u64()).unwrap_or(80);
        let port = if name.port.is_empty() { Some(first) } else { name.port.parse().ok() };
        let port = port.and_then(|port| u16::try_from(port).ok());
        let port =
            port.ok_or_else(|| BoxedRejection::bad_request(format!("invalid port {}", quote(name.port))))?;
        Ok((pod, port))
    }

    /// The first ready pod behind a service, and its port. A port number refers to a port of the service, a port name to
    /// a port of its endpoints.
    fn service_behind(&self, call: &Call<'_>, name: &Name<'_>) -> Outcome<(Object, u16)> {
        let namespace = &*call.path.namespace;
        let named = match name.port.parse() {
            Ok(number) => self.service_port_name(namespace, name.object, number)?,
            Err(_) => name.port.to_owned(),
        };
        let endpoints = self.object(&ENDPOINTS, namespace, name.object);
        let endpoints = endpoints.ok_or_else(|| BoxedRejection::not_found(&SERVICES, name.object))?;
        let no_endpoints = |service: &str| {
            BoxedRejection::unavailable(&format!("no endpoints available for service {}", quote(service)))
        };
        let subsets = endpoints.list("/subsets");
        if subsets.is_empty() {
            return Err(no_endpoints(name.object));
        }
        let behind = subsets.iter().find_map(|subset| {
            let port = subset["ports"].as_array()?.iter().find(|port| port_name(port) == named)?;
            let mut addresses = subset["addresses"].as_array()?.iter();
            let pod = addresses.find_map(|address| self.pod_at(namespace, address))?;
            Some((pod, u16::try_from(port["port"].as_u64()?).ok()?))
        });
        behind.ok_or_else(|| no_endpoints(&call.path.name))
    }

    /// The name of the service port with this number.
    fn service_port_name(&self, namespace: &str, name: &str, number: i64) -> Outcome<String> {
        let service = self.object(&SERVICES, namespace, name);
        let service = service.ok_or_else(|| BoxedRejection::not_found(&SERVICES, name))?;
        let port = service.list("/spec/ports").iter().find(|port| port["port"] == number);
        port.map(|port| port_name(port).to_owned()).ok_or_else(|| {
            let service = quote(name);
            BoxedRejection::unavailable(&format!("no service port {number} found for service {service}"))
        })
    }

    /// The pod of an endpoint address, if the pod still has that address (`isValidAddress`).
    fn pod_at(&self, namespace: &str, address: &Value) -> Option<Object> {
        let pod = self.object(&PODS, namespace, address["targetRef"]["name"].as_str()?)?;
        (address["ip"] == pod.text("/status/podIP")).then_some(pod)
    }

    /// All objects.
    pub(crate) fn full_view(&self) -> View {
        let mut view = View::default();
        for (key, object) in self.objects() {
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }
}

/// The name of a port; empty if it has none.
fn port_name(port: &Value) -> &str {
    port["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_accepts_scheme_and_port() {
        for (id, expected) in [
            ("a", Some(("http", "a", ""))),
            ("a:9099", Some(("http", "a", "9099"))),
            ("https:a:metrics", Some(("https", "a", "metrics"))),
            (":a:1", Some(("http", "a", "1"))),
            ("ftp:a:1", None),
            ("https::1", None),
            ("a:b:c:d", None),
        ] {
            let found = Name::split(id).map(|name| (name.scheme, name.object, name.port));
            assert_eq!(found, expected, "{id}");
        }
    }
}
