//! The EndpointSlices of a Service: up to a hundred pods each, grouped by equal ports.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{ENDPOINT_SLICES, NODES, PODS, SERVICES};
use windtunnel_core::{Identity, Key, Object, View, Write, pod};

use super::notice;
use super::serving::{Server, by_ports, is_managed, metadata, publishes_unready, servers};
use crate::owners;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The label with the Service of a slice.
const SERVICE: &str = "kubernetes.io/service-name";
/// The label with the controller that writes a slice.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The value of that label for this controller.
const SELF: &str = "endpointslice-controller.k8s.io";
/// The maximum number of pods in a slice (`--max-endpoints-per-slice`).
const MOST: usize = 100;

/// The endpoint slice controller of kube-controller-manager, for IPv4.
#[derive(Debug, Clone, Default)]
pub struct EndpointSliceController {
    queue: WorkQueue,
    started: bool,
}

impl EndpointSliceController {
    /// Creates an endpoint slice controller.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Reconcile for EndpointSliceController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, _now: Time) -> Vec<Write> {
        match view.get_key(key).filter(|service| is_managed(service)) {
            Some(service) => writes(service, view),
            None => Vec::new(),
        }
    }
}

impl Actor for EndpointSliceController {
    fn name(&self) -> &'static str {
        "endpointslice-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "endpointslice-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        [SERVICES, PODS, ENDPOINT_SLICES].into_iter().map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let first = !std::mem::replace(&mut self.started, true);
        notice(&mut self.queue, first, input, &ENDPOINT_SLICES, service_of);
        self.reconcile(input)
    }
}

/// Endpoints by the uid of their pod.
type Endpoints = BTreeMap<String, Value>;

/// The common content of the slices of one Service.
struct Plan<'v> {
    service: &'v Object,
    metadata: Value,
}

/// The writes that bring the slices of a Service up to date.
fn writes(service: &Object, view: &View) -> Vec<Write> {
    let servers = servers(service, view);
    let own = [(MANAGED_BY, SELF), (SERVICE, service.name())];
    let plan = Plan { service, metadata: metadata(service, &servers, &own) };
    let slices = view.list_in(&ENDPOINT_SLICES, service.namespace());
    let slices = slices.filter(|slice| service_of(slice) == Some(service.name())).collect();
    let by_uid = |server: &&Server<'_>| (server.pod.uid().to_owned(), endpoint(server, service, view));
    let mut groups: Vec<(&[Value], Endpoints)> = by_ports(&servers)
        .into_iter()
        .map(|(ports, group)| (ports, group.iter().map(by_uid).collect()))
        .collect();
    if groups.is_empty() {
        // A Service without pods has one empty slice.
        groups.push((&[], Endpoints::new()));
    }
    plan.writes(groups, slices)
}

impl Plan<'_> {
    /// Keeps pods in their slices. Other pods go into slices with room, then into slices that are no longer
    /// needed, and only then into new ones.
    fn writes(&self, groups: Vec<(&[Value], Endpoints)>, mut slices: Vec<&Object>) -> Vec<Write> {
        let (mut writes, mut unplaced) = (Vec::new(), Vec::new());
        let mut spare: Vec<&Object> = Vec::new();
        for (ports, mut endpoints) in groups {
            let (own, others): (Vec<_>, Vec<_>) =
                slices.into_iter().partition(|slice| slice.list("/ports") == ports);
            slices = others;
            let placed: Vec<_> = own.iter().map(|slice| take_placed(slice, &mut endpoints)).collect();
            let mut needs_one = endpoints.is_empty() && placed.iter().all(Vec::is_empty);
            for (slice, mut members) in own.into_iter().zip(placed) {
                while members.len() < MOST
                    && let Some((_, endpoint)) = endpoints.pop_first()
                {
                    members.push(endpoint);
                }
                if members.is_empty() && !std::mem::take(&mut needs_one) {
                    spare.push(slice);
                } else {
                    writes.extend(self.update(slice, ports, &members));
                }
            }
            let rest: Vec<Value> = endpoints.into_values().collect();
            unplaced.extend(rest.chunks(MOST).map(|some| (ports, some.to_vec())));
            unplaced.extend(needs_one.then(|| (ports, Vec::new())));
        }
        let mut spare = spare.into_iter().chain(slices);
        for (ports, endpoints) in unplaced {
            match spare.next() {
                Some(slice) => writes.extend(self.update(slice, ports, &endpoints)),
                None => writes.push(self.create(ports, &endpoints)),
            }
        }
        writes.extend(spare.map(|slice| Write::delete(&ENDPOINT_SLICES, slice.namespace(), slice.name())));
        writes
    }

    fn create(&self, ports: &[Value], endpoints: &[Value]) -> Write {
        let mut metadata = self.metadata.clone();
        metadata["generateName"] = json!(format!("{}-", self.service.name()));
        metadata["ownerReferences"] = json!([owners::reference(self.service, &SERVICES)]);
        let mut slice = json!({ "metadata": metadata, "addressType": "IPv4" });
        fill(&mut slice, ports, endpoints);
        Write::create(&ENDPOINT_SLICES, slice)
    }

    /// An update of a slice to these ports and endpoints, if it differs.
    fn update(&self, slice: &Object, ports: &[Value], endpoints: &[Value]) -> Option<Write> {
        let mut updated = slice.to_value();
        fill(&mut updated, ports, endpoints);
        let same = ["ports", "endpoints"].iter().all(|field| {
            updated[*field] == slice[*field] || slice[*field].is_null() && updated[*field] == json!([])
        });
        if same && updated["metadata"]["labels"] == self.metadata["labels"] {
            return None;
        }
        for field in ["labels", "annotations"] {
            updated["metadata"][field] = self.metadata[field].clone();
        }
        Some(Write::update(&ENDPOINT_SLICES, updated))
    }
}

/// Removes the pods of a slice from `wanted` and returns their current endpoints.
fn take_placed(slice: &Object, wanted: &mut Endpoints) -> Vec<Value> {
    let uids = slice.list("/endpoints").iter().filter_map(|endpoint| endpoint["targetRef"]["uid"].as_str());
    uids.filter_map(|uid| wanted.remove(uid)).collect()
}

fn fill(slice: &mut Value, ports: &[Value], endpoints: &[Value]) {
    slice["ports"] = json!(ports);
    slice["endpoints"] = json!(endpoints);
}

/// The endpoint of a pod in a slice.
fn endpoint(server: &Server<'_>, service: &Object, view: &View) -> Value {
    let (pod, serving, terminating) = (server.pod, server.is_ready(), server.pod.is_terminating());
    let ready = serving && !terminating || publishes_unready(service);
    let mut endpoint = json!({
        "addresses": [pod.text("/status/podIP")],
        "conditions": { "ready": ready, "serving": serving, "terminating": terminating },
        "targetRef": server.target(),
    });
    let node = pod::node_name(pod);
    let zone = view.get(&NODES, "", node).and_then(|node| node.label("topology.kubernetes.io/zone"));
    let fields = [("hostname", server.hostname(service)), ("nodeName", Some(node)), ("zone", zone)];
    for (field, text) in fields {
        if let Some(text) = text {
            endpoint[field] = json!(text);
        }
    }
    endpoint
}

/// The Service of a slice that this controller manages.
fn service_of(slice: &Object) -> Option<&str> {
    slice.label(SERVICE).filter(|_| slice.label(MANAGED_BY) == Some(SELF))
}
