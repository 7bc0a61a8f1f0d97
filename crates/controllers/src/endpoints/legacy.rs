//! The Endpoints of a Service: all addresses in one object, the predecessor of EndpointSlices.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{ENDPOINTS, PODS, SERVICES};
use windtunnel_core::{Identity, Key, Object, View, Write, pod};

use super::notice;
use super::serving::{Server, TRIGGER, by_ports, is_managed, metadata, publishes_unready, servers};
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The label with the name of the controller that writes the object (Kubernetes 1.33).
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// The value of that label for this controller.
const SELF: &str = "endpoint-controller";
/// The maximum number of addresses in an object.
const MOST: usize = 1000;
/// The annotation of an object whose addresses are truncated.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

/// The endpoints controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct EndpointsController {
    queue: WorkQueue,
    started: bool,
}

impl EndpointsController {
    /// Creates an endpoints controller.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Reconcile for EndpointsController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, _now: Time) -> Vec<Write> {
        let old = view.get(&ENDPOINTS, &key.namespace, &key.name);
        let Some(service) = view.get_key(key) else {
            let own = old.filter(|old| old.label(MANAGED_BY) == Some(SELF));
            return own.map(|_| Write::delete(&ENDPOINTS, &key.namespace, &key.name)).into_iter().collect();
        };
        if !is_managed(service) {
            return Vec::new();
        }
        let wanted = endpoints(service, view);
        match old {
            None => vec![Write::create(&ENDPOINTS, wanted)],
            Some(old) => update(old, &wanted).into_iter().collect(),
        }
    }
}

impl Actor for EndpointsController {
    fn name(&self) -> &'static str {
        "endpoint-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "endpoint-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        [SERVICES, PODS, ENDPOINTS].into_iter().map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let first = !std::mem::replace(&mut self.started, true);
        notice(&mut self.queue, first, input, &ENDPOINTS, |endpoints| Some(endpoints.name()));
        self.reconcile(input)
    }
}

/// The desired Endpoints of a Service.
fn endpoints(service: &Object, view: &View) -> Value {
    let mut servers = servers(service, view);
    servers.retain(|server| !server.pod.is_terminating() || publishes_unready(service));
    // Only EndpointSlices contain addresses without ports, unless the Service itself has no ports.
    let has_ports = !service.list("/spec/ports").is_empty();
    servers.retain(|server| !has_ports || !server.ports.is_empty());
    let mut metadata = metadata(service, &servers, &[(MANAGED_BY, SELF)]);
    metadata["name"] = json!(service.name());
    if servers.len() > MOST {
        metadata["annotations"][OVER_CAPACITY] = json!("truncated");
        // Truncation keeps ready addresses first.
        servers.sort_by_key(|server| !server.is_ready());
        servers.truncate(MOST);
    }
    let subset = |(ports, group): (&[Value], Vec<&Server<'_>>)| subset(service, ports, group);
    let subsets: Vec<Value> = by_ports(&servers).into_iter().map(subset).collect();
    json!({ "metadata": metadata, "subsets": subsets })
}

fn subset(service: &Object, ports: &[Value], group: Vec<&Server<'_>>) -> Value {
    let is_published_ready = |server: &&Server<'_>| server.is_ready() || publishes_unready(service);
    let (ready, unready): (Vec<_>, Vec<_>) = group.into_iter().partition(is_published_ready);
    let addresses =
        |servers: Vec<&Server<'_>>| servers.into_iter().map(|one| address(one, service)).collect();
    let mut subset = json!({});
    let lists: [(&str, Vec<Value>); 3] = [
        ("addresses", addresses(ready)),
        ("notReadyAddresses", addresses(unready)),
        ("ports", ports.iter().map(named).collect()),
    ];
    for (field, list) in lists {
        if !list.is_empty() {
            subset[field] = json!(list);
        }
    }
    subset
}

/// A port in the format of Endpoints, which omits an empty name, unlike slices.
fn named(port: &Value) -> Value {
    let mut port = port.clone();
    if let Some(fields) = port.as_object_mut().filter(|fields| fields["name"] == "") {
        fields.remove("name");
    }
    port
}

fn address(server: &Server<'_>, service: &Object) -> Value {
    let pod = server.pod;
    let mut address = json!({
        "ip": pod.text("/status/podIP"), "nodeName": pod::node_name(pod), "targetRef": server.target(),
    });
    if let Some(name) = server.hostname(service) {
        address["hostname"] = json!(name);
    }
    address
}

/// The write that changes `current` to `wanted`, if they differ.
fn update(current: &Object, wanted: &Value) -> Option<Write> {
    let same = current.list("/subsets") == wanted["subsets"].as_array().map_or(&[][..], Vec::as_slice)
        && current["metadata"]["labels"] == wanted["metadata"]["labels"];
    if same {
        return None;
    }
    let mut updated = current.to_value();
    let (new, old) = (&wanted["metadata"], &mut updated["metadata"]);
    old["labels"] = new["labels"].clone();
    for annotation in [TRIGGER, OVER_CAPACITY] {
        match (new["annotations"].get(annotation), old["annotations"].as_object_mut()) {
            (Some(value), _) => old["annotations"][annotation] = value.clone(),
            (None, Some(annotations)) => drop(annotations.remove(annotation)),
            (None, None) => {}
        }
    }
    updated["subsets"] = wanted["subsets"].clone();
    Some(Write::update(&ENDPOINTS, updated))
}
