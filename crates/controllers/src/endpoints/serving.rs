//! The pods that serve a Service, and their ports.

use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, View, condition, pod};

/// The annotation with the time of the change that caused the addresses.
pub(super) const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// The label on objects of headless Services.
const HEADLESS: &str = "service.kubernetes.io/headless";

/// A pod of a Service.
pub(super) struct Server<'v> {
    pub(super) pod: &'v Object,
    /// The ports of the Service, with named target ports resolved in this pod.
    pub(super) ports: Vec<Value>,
}

impl Server<'_> {
    pub(super) fn is_ready(&self) -> bool {
        condition::is_true(self.pod, "Ready")
    }

    /// Its hostname in the domain of the Service, if it has one.
    pub(super) fn hostname(&self, service: &Object) -> Option<&str> {
        let of_service = self.pod.text("/spec/subdomain") == service.name();
        Some(self.pod.text("/spec/hostname")).filter(|name| of_service && !name.is_empty())
    }

    pub(super) fn target(&self) -> Value {
        let pod = self.pod;
        json!({ "kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid() })
    }
}

/// Whether the controllers manage the addresses of a Service: it has a non-empty selector.
pub(super) fn is_managed(service: &Object) -> bool {
    service["spec"]["selector"].as_object().is_some_and(|selector| !selector.is_empty())
        && service["spec"]["type"] != "ExternalName"
        && !service.is_terminating()
}

/// Whether the selector of a Service matches a pod.
pub(super) fn selects(service: &Object, pod: &Object) -> bool {
    let labels = &pod["metadata"]["labels"];
    service["spec"]["selector"].as_object().is_some_and(|selector| {
        selector.iter().all(|(key, value)| labels.get(key).is_some_and(|label| label == value))
    })
}

/// Whether a Service publishes pods that are not ready as ready.
pub(super) fn publishes_unready(service: &Object) -> bool {
    service["spec"]["publishNotReadyAddresses"] == true
}

/// The pods of a Service that have an address and have not ended, in order of name.
pub(super) fn servers<'v>(service: &Object, view: &'v View) -> Vec<Server<'v>> {
    let pods = view.list_in(&PODS, service.namespace()).filter(|pod| selects(service, pod));
    let reachable = pods.filter(|pod| !pod.text("/status/podIP").is_empty() && !pod::has_ended(pod));
    reachable.map(|pod| Server { pod, ports: ports(service, pod) }).collect()
}

/// Groups servers by equal ports.
pub(super) fn by_ports<'a, 'v>(servers: &'a [Server<'v>]) -> Vec<(&'a [Value], Vec<&'a Server<'v>>)> {
    let mut groups: Vec<(&[Value], Vec<&Server<'_>>)> = Vec::new();
    for server in servers {
        match groups.iter_mut().find(|(ports, _)| *ports == server.ports) {
            Some((_, group)) => group.push(server),
            None => groups.push((&server.ports, vec![server])),
        }
    }
    groups
}

/// The ports of a Service in a pod. Omits ports with a name that no container of the pod has.
fn ports(service: &Object, pod: &Object) -> Vec<Value> {
    let found = service.list("/spec/ports").iter().filter_map(|port| {
        let number = number_in(pod, port)?;
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(port["name"].as_str().unwrap_or_default()));
        fields.insert("port".to_owned(), json!(number));
        fields.insert("protocol".to_owned(), json!(protocol(port)));
        if let Some(application) = port["appProtocol"].as_str() {
            fields.insert("appProtocol".to_owned(), json!(application));
        }
        Some(Value::Object(fields))
    });
    found.collect()
}

fn number_in(pod: &Object, port: &Value) -> Option<i64> {
    let target = &port["targetPort"];
    if let Some(number) = target.as_i64().or_else(|| target.is_null().then(|| port["port"].as_i64())?) {
        return Some(number);
    }
    let ports = pod.list("/spec/containers").iter().filter_map(|container| container["ports"].as_array());
    let named = ports.flatten().find(|own| own["name"] == *target && protocol(own) == protocol(port));
    named?["containerPort"].as_i64()
}

fn protocol(port: &Value) -> &str {
    port["protocol"].as_str().unwrap_or("TCP")
}

/// The metadata of objects written for a Service: the Service's labels plus `own` ones, and the time of the
/// last change of its pods.
pub(super) fn metadata(service: &Object, servers: &[Server<'_>], own: &[(&str, &str)]) -> Value {
    let mut labels = service["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.remove(HEADLESS);
    if service["spec"]["clusterIP"] == "None" {
        labels.insert(HEADLESS.to_owned(), json!(""));
    }
    labels.extend(own.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
    let mut metadata = json!({ "namespace": service.namespace(), "labels": labels });
    if let Some(at) = changed_at(service, servers) {
        metadata["annotations"] = json!({ TRIGGER: rfc3339(at) });
    }
    metadata
}

/// The last time at which a pod of the Service changed its readiness, or the creation time of the Service if
/// later.
fn changed_at(service: &Object, servers: &[Server<'_>]) -> Option<Time> {
    let turned = |server: &Server<'_>| {
        let ready = condition::find_in_status(server.pod, "Ready")?;
        windtunnel_core::clock::parse_rfc3339(ready["lastTransitionTime"].as_str()?)
    };
    servers.iter().filter_map(turned).chain(service.time("/metadata/creationTimestamp")).max()
}
