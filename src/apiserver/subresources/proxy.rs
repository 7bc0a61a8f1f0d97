//! `proxy` of pods and services: the request is passed on to the program in a pod (`ResourceLocation` of both registries).

use bytes::Bytes;
use serde_json::Value;

use crate::apiserver::call::Call;
use crate::apiserver::gotext::quote;
use crate::apiserver::reply::{Reply, ReplyBody};
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};
use crate::apiserver::upstream::{Answered, Asked};
use crate::model::resources::{ENDPOINTS, PODS, SERVICES};
use crate::model::{Change, ChangeKind, Object, View};

/// `scheme:name:port` of which all but the name may be missing (`SplitSchemeNamePort`).
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    scheme: &'a str,
    object: &'a str,
    port: &'a str,
}

impl<'a> Name<'a> {
    /// `None` for what is no such name.
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
    /// Passes a request on to a pod, by its own name or by that of a service that leads to it.
    pub(super) fn proxy(&self, call: &Call<'_>) -> Outcome<Reply> {
        let id = &*call.path.name;
        let kind = call.kind.resource.kind.to_lowercase();
        let name = Name::split(id)
            .ok_or_else(|| Refused::bad_request(format!("invalid {kind} request {}", quote(id))))?;
        let (pod, port) = match kind.as_str() {
            "pod" => self.pod_behind(call, &name)?,
            "service" => self.service_behind(call, &name)?,
            _ => return Err(Refused::unavailable("error trying to reach service: no such host")),
        };
        let path = call.path.subresource.strip_prefix("proxy").unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        let asked = Asked { pod: &pod, scheme: name.scheme, port, path, view: self.all(), now: call.now };
        let answered = self.programs.any().and_then(|upstream| upstream.answer(&asked));
        let Some(Answered { code, content_type, body }) = answered else {
            let address = pod.text("/status/podIP");
            let why = format!("dial tcp {address}:{port}: connect: connection refused");
            return Err(Refused::unavailable(&format!("error trying to reach service: {why}")));
        };
        Ok(Reply::new(code, ReplyBody::Bytes { content_type, bytes: Bytes::from(body) }))
    }

    /// The pod of this name, and the port; that of its first container where none is said.
    fn pod_behind(&self, call: &Call<'_>, name: &Name<'_>) -> Outcome<(Object, u16)> {
        let namespace = &*call.path.namespace;
        let pod = self.object(&PODS, namespace, name.object);
        let pod = pod.ok_or_else(|| Refused::not_found(&PODS, name.object))?;
        if pod.text("/status/podIP").is_empty() {
            return Err(Refused::bad_request("address not allowed"));
        }
        let mut first =
            pod.list("/spec/containers").iter().filter_map(|one| one["ports"].as_array()).flatten();
        let first = first.find_map(|port| port["containerPort"].as_u64()).unwrap_or(80);
        let port = if name.port.is_empty() { Some(first) } else { name.port.parse().ok() };
        let port = port.and_then(|port| u16::try_from(port).ok());
        let port = port.ok_or_else(|| Refused::bad_request(format!("invalid port {}", quote(name.port))))?;
        Ok((pod, port))
    }

    /// The first ready pod that a service leads to, and the port there.
    fn service_behind(&self, call: &Call<'_>, name: &Name<'_>) -> Outcome<(Object, u16)> {
        let namespace = &*call.path.namespace;
        let service = self.object(&SERVICES, namespace, name.object);
        let service = service.ok_or_else(|| Refused::not_found(&SERVICES, name.object))?;
        let wanted = port_name(&service, name.port).ok_or_else(|| {
            let of = quote(name.object);
            Refused::unavailable(&format!("no service port {} found for service {of}", quote(name.port)))
        })?;
        let endpoints = self.object(&ENDPOINTS, namespace, name.object);
        let subsets = endpoints.as_ref().map(|endpoints| endpoints.list("/subsets")).unwrap_or_default();
        let behind = subsets.iter().find_map(|subset| {
            let mut ports = subset["ports"].as_array()?.iter();
            let port = ports.find(|port| name_of(port) == wanted)?;
            let target = &subset["addresses"].as_array()?.first()?["targetRef"];
            let pod = self.object(&PODS, namespace, target["name"].as_str()?)?;
            Some((pod, u16::try_from(port["port"].as_u64()?).ok()?))
        });
        behind.ok_or_else(|| {
            Refused::unavailable(&format!("no endpoints available for service {}", quote(name.object)))
        })
    }

    fn all(&self) -> View {
        let mut view = View::default();
        for (key, object) in self.objects() {
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }
}

/// The name of a port; empty for none.
fn name_of(port: &Value) -> &str {
    port["name"].as_str().unwrap_or_default()
}

/// The name of a service's port, by its name or number; the only one needs neither.
fn port_name<'a>(service: &'a Object, wanted: &str) -> Option<&'a str> {
    let ports = service.list("/spec/ports");
    let number: Option<u64> = wanted.parse().ok();
    let is_wanted =
        |port: &&Value| name_of(port) == wanted || number.is_some_and(|number| port["port"] == number);
    match (wanted, ports) {
        ("", [only]) => Some(name_of(only)),
        _ => ports.iter().find(is_wanted).map(name_of),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_may_say_scheme_and_port() {
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

    #[test]
    fn ports_of_services_go_by_name_or_number() {
        let ports = json!([{ "name": "metrics", "port": 9099 }, { "name": "other", "port": 80 }]);
        let service = Object::new(json!({ "spec": { "ports": ports } }));
        let named = |wanted| port_name(&service, wanted);
        assert_eq!(
            (named("metrics"), named("9099"), named("80")),
            (Some("metrics"), Some("metrics"), Some("other"))
        );
        assert_eq!((named(""), named("8080"), named("none")), (None, None, None));
        let single = Object::new(json!({ "spec": { "ports": [{ "port": 80 }] } }));
        assert_eq!(port_name(&single, ""), Some(""));
    }
}
