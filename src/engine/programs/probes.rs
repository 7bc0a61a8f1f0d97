//! Probes of the processes of containers, as orders to the backend.

use std::time::Duration;

use serde_json::Value;
use windtunnel_controllers::Signal;
use windtunnel_core::probe::ProbeKind;
use windtunnel_core::{Key, Object};
use windtunnel_openshift::environment;

use crate::backends::programs::{ProbeOrder, ProbeTarget};
use crate::engine::runtime::{ProgramSite, Simulation};

/// The default of `timeoutSeconds`.
const TIMEOUT_SECONDS: u64 = 1;

impl Simulation {
    /// Begins a probe of the process of a container. Its result is an event of the programs.
    pub(in crate::engine) fn probe_program(&mut self, pod: &Key, container: &str, kind: ProbeKind) {
        let Some(programs) = self.connection.programs() else { return };
        let Some(object) = self.view.get_key(pod) else { return };
        let id = ProgramSite::Container(pod.clone(), container.to_owned()).id();
        match order(object, container, kind) {
            Ok(order) => programs.probe(&id, order),
            Err(why) => self.finish_probe(pod, container, kind, Err(why)),
        }
    }

    /// Reports the result of a probe to the kubelet.
    pub(super) fn finish_probe(
        &mut self,
        pod: &Key,
        container: &str,
        kind: ProbeKind,
        result: Result<(), String>,
    ) {
        let Some(kubelet) = self.processes.get(pod, container).map(|process| process.kubelet) else { return };
        let (pod, container) = (pod.clone(), container.to_owned());
        self.signal(kubelet, Signal::Probed { pod, container, kind, result });
    }
}

/// The order for a probe.
///
/// # Errors
/// The probe names a port that the container does not have, as the kubelet reports it.
fn order(pod: &Object, container: &str, kind: ProbeKind) -> Result<ProbeOrder, String> {
    let spec = environment::container(pod, container);
    let probe = &spec[kind.field()];
    let timeout = probe["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS).max(1);
    Ok(ProbeOrder { kind, target: target(pod, spec, probe)?, timeout: Duration::from_secs(timeout) })
}

fn target(pod: &Object, spec: &Value, probe: &Value) -> Result<ProbeTarget, String> {
    let shown = |handler: &Value| match handler["host"].as_str().filter(|host| !host.is_empty()) {
        Some(host) => host.to_owned(),
        None => pod.text("/status/podIP").to_owned(),
    };
    if let Some(words) = probe["exec"]["command"].as_array() {
        let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
        return Ok(ProbeTarget::Command(words.collect()));
    }
    let tcp = &probe["tcpSocket"];
    if tcp.is_object() {
        return Ok(ProbeTarget::Tcp { port: port(spec, &tcp["port"])?, shown: shown(tcp) });
    }
    let grpc = &probe["grpc"];
    if grpc.is_object() {
        let service = grpc["service"].as_str().unwrap_or_default().to_owned();
        return Ok(ProbeTarget::Grpc { port: port(spec, &grpc["port"])?, service });
    }
    let http = &probe["httpGet"];
    let headers = http["httpHeaders"].as_array().into_iter().flatten();
    let headers = headers.filter_map(|header| Some((header["name"].as_str()?, header["value"].as_str()?)));
    let path = http["path"].as_str().unwrap_or_default();
    Ok(ProbeTarget::Http {
        is_tls: http["scheme"].as_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")),
        port: port(spec, &http["port"])?,
        path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        shown: shown(http),
    })
}

/// A port of a container, by its number or its name.
///
/// # Errors
/// There is no such port.
pub(super) fn port(spec: &Value, port: &Value) -> Result<u16, String> {
    let number = port.as_u64().or_else(|| port.as_str()?.parse().ok()).or_else(|| {
        let mut ports = spec["ports"].as_array().into_iter().flatten();
        ports.find(|named| named["name"] == *port)?["containerPort"].as_u64()
    });
    let number = number.and_then(|number| u16::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("couldn't find port: {port}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order_of(probe: &Value) -> Result<ProbeOrder, String> {
        let pod = Object::new(json!({
            "spec": { "containers": [{
                "name": "main",
                "ports": [{ "name": "metrics", "containerPort": 9099 }],
                "livenessProbe": probe,
            }] },
            "status": { "podIP": "10.128.0.7" },
        }));
        order(&pod, "main", ProbeKind::Liveness)
    }

    #[test]
    fn a_port_is_a_number_or_a_name() {
        let tcp = |port: Value| order_of(&json!({ "tcpSocket": { "port": port } })).map(|order| order.target);
        let of = |port| ProbeTarget::Tcp { port, shown: "10.128.0.7".to_owned() };
        assert_eq!(tcp(json!(8080)), Ok(of(8080)));
        assert_eq!(tcp(json!("8080")), Ok(of(8080)));
        assert_eq!(tcp(json!("metrics")), Ok(of(9099)));
        assert_eq!(tcp(json!("web")), Err("couldn't find port: \"web\"".to_owned()));
    }

    #[test]
    fn a_request_has_a_path_headers_and_a_time_limit() {
        let probe = json!({
            "httpGet": { "path": "healthz", "port": "metrics", "scheme": "HTTPS",
                         "httpHeaders": [{ "name": "A", "value": "b" }] },
            "timeoutSeconds": 5,
        });
        let target = ProbeTarget::Http {
            is_tls: true,
            port: 9099,
            path: "/healthz".to_owned(),
            headers: vec![("A".to_owned(), "b".to_owned())],
            shown: "10.128.0.7".to_owned(),
        };
        let timeout = Duration::from_secs(5);
        assert_eq!(order_of(&probe), Ok(ProbeOrder { kind: ProbeKind::Liveness, target, timeout }));
    }
}
