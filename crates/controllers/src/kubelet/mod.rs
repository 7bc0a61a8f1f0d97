//! The kubelet of a node: it pulls images, runs the containers of pods, and reports their status.
//!
//! Creating a pod sandbox takes some time, more if a network plug-in is involved. The kubelet detects the end
//! of a process within a second.
//!
//! Containers end as follows:
//! - Init containers, and all containers of pods with a `restartPolicy` other than `Always`, end after about
//!   a second. They succeed unless their image is configured to fail.
//! - Sidecars (init containers with `restartPolicy: Always`) run until the main containers have ended.
//! - Containers of other pods run until the runtime reports their end ([`Signal::Exited`]) or a fault makes
//!   their pod fail.
//! - In a graceful deletion, the kubelet waits for the simulated program of a pod with the annotation
//!   `windtunnel.dev/program: "true"`. Other pods end within two seconds of SIGTERM.
//!
//! A restarted kubelet may start processes that are already running; the runtime ignores that.

mod capacity;
pub mod lease;
mod mirror;
mod network;
mod node;
mod pod;
mod stopped;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::pod::node_name;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Answer, Change, ChangeKind, Identity, Key, Object, View, resources};

pub use self::capacity::set_capacity;
use self::lease::NodeLease;
use self::mirror::StaticPods;
pub use self::network::{MACHINE_NETWORK, POD_NETWORK, assign_addresses};
use self::node::NodeStatus;
pub use self::node::{ready_conditions, registered_conditions};
use self::pod::{Memory, SyncContext};
use self::stopped::Stopped;
use super::workqueue::WorkQueue;
use super::{Actor, Effect, Input, Interest, Signal, Step};
use crate::environment::NodeEnvironment;
use crate::machine::{Boot, StaticPod};
use crate::registries_conf::RegistriesConf;
use crate::version_differences::Differences;

/// The minor version of the kubelet while its Node does not report one.
const MINOR_DEFAULT: u32 = 27;

/// The kubelet of one node.
#[derive(Debug, Clone)]
pub struct Kubelet {
    name: String,
    node: String,
    environment: Arc<dyn NodeEnvironment>,
    streams: Streams,
    queue: WorkQueue,
    pods: BTreeMap<Key, Memory>,
    static_pods: StaticPods,
    waits: BTreeMap<Key, String>,
    images: BTreeSet<String>,
    /// The registries and mirrors of the node, once its files are known. They stay while those are unknown again.
    registries: Option<Arc<RegistriesConf>>,
    node_status: NodeStatus,
    /// `None` if the kubelet does not maintain a Lease.
    lease: Option<NodeLease>,
    started: bool,
    /// The running pods while the kubelet is stopped.
    stopped: Option<Stopped>,
    /// Signals that arrived while the kubelet was stopped.
    missed: Vec<Signal>,
}

impl Kubelet {
    /// Creates the kubelet of `node` after a restart of its process: it has no images and no back-offs.
    pub fn new(node: &str, environment: Arc<dyn NodeEnvironment>, streams: &Streams) -> Self {
        Self {
            name: format!("kubelet/{node}"),
            node: node.to_owned(),
            lease: environment.lease_stretch().map(|stretch| NodeLease::of(node, stretch)),
            environment,
            streams: *streams,
            queue: WorkQueue::default(),
            pods: BTreeMap::new(),
            static_pods: StaticPods::default(),
            waits: BTreeMap::new(),
            images: BTreeSet::new(),
            registries: None,
            node_status: NodeStatus::new(node, None),
            started: false,
            stopped: None,
            missed: Vec::new(),
        }
    }

    /// Creates the kubelet of `node` after a boot of its machine, which has ended all processes.
    pub fn booted(node: &str, boot: Boot, environment: Arc<dyn NodeEnvironment>, streams: &Streams) -> Self {
        Self { node_status: NodeStatus::new(node, Some(boot)), ..Self::new(node, environment, streams) }
    }

    /// Adds static pod manifests.
    #[must_use]
    pub fn with_static_pods(mut self, pods: &[StaticPod]) -> Self {
        for pod in pods {
            self.static_pods.put(pod, &self.node);
        }
        self
    }

    /// Finds the kubelet's pods, and the images of the node in their statuses.
    fn adopt(&mut self, view: &View) {
        self.started = true;
        for pod in view.pods_on(&self.node) {
            let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
            let images =
                statuses.iter().flat_map(|list| pod.list(list)).filter_map(|one| one["imageID"].as_str());
            self.images.extend(images.filter(|image| !image.is_empty()).map(str::to_owned));
            let memory = memory_of(&mut self.pods, &resources::PODS.key_of(pod), pod, &self.node);
            let boot = self.node_status.booted_at();
            let ended = boot.into_iter().flat_map(|boot| pod::running_before(pod, boot));
            memory.exited.extend(ended.map(|name| (name, 0)));
            self.queue.add(resources::PODS.key_of(pod));
        }
        for mirror in self.static_pods.mirrors() {
            self.queue.add(mirror.clone());
        }
        self.queue.add(resources::NODES.key("", &self.node));
        self.queue_lease();
    }

    /// Reads the registries of the node until they are known, and after each change of the node's annotations, which name
    /// its files.
    fn read_registries(&mut self, input: &Input<'_>) {
        let is_other = |change: &Change| {
            let annotations =
                |node: &Object| node["metadata"]["annotations"] != change.object["metadata"]["annotations"];
            change.key.is_kind(&resources::NODES) && change.old.as_ref().is_none_or(annotations)
        };
        if self.registries.is_some() && !input.changes.iter().any(is_other) {
            return;
        }
        let node = input.view.get(&resources::NODES, "", &self.node);
        if let Some(registries) = node.and_then(|node| self.environment.registries(node, input.view)) {
            self.registries = Some(Arc::new(registries));
        }
    }

    /// Shifts all deadlines when the clock is set.
    fn leap(&mut self, by: SignedDuration) {
        self.queue.shift_times(by);
        self.node_status.leap(by);
        self.lease.iter_mut().for_each(|lease| lease.leap(by));
        self.pods.values_mut().for_each(|memory| memory.leap(by));
    }

    fn queue_lease(&mut self) {
        if let Some(lease) = &self.lease {
            self.queue.add(lease.key());
        }
    }

    fn notice(&mut self, input: &Input<'_>, step: &mut Step) {
        if let Some(node) = input.changes.iter().find(|change| change.key.is_kind(&resources::NODES)) {
            self.queue.add(node.key.clone());
            if node.kind == ChangeKind::Added {
                self.queue_lease();
                self.static_pods.mirrors().cloned().for_each(|mirror| self.queue.add(mirror));
            }
        }
        for change in input.changes.iter().filter(|change| change.key.is_kind(&resources::PODS)) {
            if change.kind == ChangeKind::Deleted {
                self.notice_end(&change.object, step);
            } else if node_name(&change.object) == self.node {
                self.queue.add(change.key.clone());
            }
        }
        for signal in std::mem::take(&mut self.missed).iter().chain(input.signals) {
            match signal {
                Signal::Exited { pod, container, code } => {
                    let here = |object: &&Object| node_name(object) == self.node;
                    if let Some(object) = input.view.get_key(pod).filter(here) {
                        let memory = memory_of(&mut self.pods, pod, object, &self.node);
                        memory.exited.insert(container.clone(), *code);
                        let missed = pod::exit_detection_delay(self.streams, object, container);
                        self.queue.add_by(pod.clone(), input.now + missed);
                    }
                }
                Signal::Probed { pod, container, kind, result } => {
                    if let Some(memory) = self.pods.get_mut(pod) {
                        memory.probing.store(container, *kind, result);
                        self.queue.add(pod.clone());
                    }
                }
                Signal::StaticPod(pod) => self.queue.add(self.static_pods.put(pod, &self.node)),
                Signal::Terminate => {}
            }
        }
        self.notice_accepted(input.answers);
        for (pod, _) in self.queue.process_answers(input.answers, input.now) {
            if let Some(lease) = self.lease.as_mut().filter(|_| pod.is_kind(&resources::LEASES)) {
                lease.refused();
            } else if let Some(memory) = self.pods.get_mut(&pod) {
                memory.sent = None;
                memory.removed = false;
            }
        }
    }

    /// Records the resource versions that accepted status patches produced.
    fn notice_accepted(&mut self, answers: &[Answer]) {
        for answer in answers.iter().filter(|answer| answer.write.subresource == Some("status")) {
            let Ok(pod) = &answer.outcome else { continue };
            let memory = self.pods.get_mut(&answer.write.key()).filter(|memory| memory.uid == pod.uid());
            if let Some(sent) = memory.and_then(|memory| memory.sent.as_mut()) {
                pod.resource_version().clone_into(&mut sent.left);
            }
        }
    }

    /// Handles the deletion of a pod from the API.
    fn notice_end(&mut self, pod: &Object, step: &mut Step) {
        let key = resources::PODS.key_of(pod);
        // A pod that another client removed without a grace period still has running processes.
        let runs = self.pods.get(&key).is_some_and(|memory| !memory.removed);
        if !self.static_pods.survives_deletion(pod) && runs {
            step.effects.push(Effect::Kill { pod: key.clone() });
        }
        self.forget(&key);
        if self.static_pods.has(&key) {
            self.queue.add(key);
        }
    }

    fn forget(&mut self, pod: &Key) {
        self.pods.remove(pod);
        self.waits.remove(pod);
        self.queue.forget(pod);
    }

    /// Updates the status of the node.
    fn sync_node(&mut self, key: &Key, site: &SyncContext<'_>, step: &mut Step) {
        let Some(node) = site.view.get_key(key) else { return };
        self.node_status.set_reporting(Differences::of(site.minor).reports_controller);
        let (writes, next) = self.node_status.sync(node, site.environment, site.streams, site.now);
        for write in writes {
            self.queue.send(key, write, &mut step.writes);
        }
        if let Some(at) = next {
            self.queue.add_at(key.clone(), at);
        }
    }

    /// Renews the Lease.
    fn sync_lease(&mut self, key: &Key, site: &SyncContext<'_>, step: &mut Step) {
        // Without its Node object, a kubelet does not renew its Lease.
        let Some(lease) =
            self.lease.as_mut().filter(|_| site.view.get(&resources::NODES, "", &self.node).is_some())
        else {
            return;
        };
        let (write, next) = lease.renew_if_due(site.view, site.now);
        self.queue.add_at(key.clone(), next);
        if let Some(write) = write {
            self.queue.send(key, write, &mut step.writes);
        }
    }

    /// The address of a pod: the node's address with `hostNetwork`, otherwise one from the node's subnet.
    fn address_of(&self, pod: &Object, site: &SyncContext<'_>) -> Option<Ipv4Addr> {
        let node = site.view.get(&resources::NODES, "", &self.node);
        if pod["spec"]["hostNetwork"] == true {
            return node.and_then(network::address_of)?.parse().ok();
        }
        let known = self.pods.get(&resources::PODS.key_of(pod)).filter(|memory| memory.uid == pod.uid());
        known.and_then(|memory| memory.address).or_else(|| {
            let taken = self.pods.values().filter_map(|memory| memory.address).collect();
            Some(network::free_address(&self.node, node, &taken))
        })
    }

    fn sync_pod(&mut self, pod: &Key, site: &SyncContext<'_>, step: &mut Step) {
        if self.static_pods.is_waited_for(pod, site.view) {
            return;
        }
        if let Some(write) = self.static_pods.correction(pod, &self.node, site.view, site.now) {
            return self.queue.send(pod, write, &mut step.writes);
        }
        // Another pod of the same name, such as the next one of a StatefulSet, may run elsewhere or nowhere yet.
        let here = |object: &&Object| node_name(object) == self.node;
        let Some(object) = site.view.get_key(pod).filter(here) else { return self.forget(pod) };
        let address = self.address_of(object, site);
        let memory = memory_of(&mut self.pods, pod, object, &self.node);
        memory.address = address;
        memory.events.refer_to(object);
        memory.events.set_reporting(Differences::of(site.minor).reports_controller);
        let result = pod::sync(site, object, memory, &mut self.images);
        let event_writes =
            result.notices.into_iter().filter_map(|notice| memory.events.record(notice, site.now));
        let event_writes: Vec<_> = event_writes.collect();
        for write in result.writes.into_iter().chain(event_writes) {
            self.queue.send(pod, write, &mut step.writes);
        }
        step.effects.extend(result.effects);
        if let Some(at) = result.next {
            self.queue.add_at(pod.clone(), at);
        }
        match result.why {
            Some(why) => self.waits.insert(pod.clone(), why),
            None => self.waits.remove(pod),
        };
    }
}

impl Actor for Kubelet {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        Identity::new(format!("system:node:{}", self.node), &["system:nodes"])
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.environment = Arc::clone(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        vec![
            Interest::PodsOn(self.node.clone()),
            Interest::Object(resources::NODES.key("", &self.node)),
            Interest::Kind(resources::CLUSTER_IMAGE_POLICIES),
        ]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let mut step = Step::default();
        if !input.clock_shift.is_zero() {
            self.leap(input.clock_shift);
        }
        if self.update_stopped(input, &mut step) {
            return step;
        }
        self.read_registries(input);
        if !self.started {
            self.adopt(input.view);
        }
        self.notice(input, &mut step);
        let (environment, registries) =
            (Arc::clone(&self.environment), self.registries.clone().unwrap_or_default());
        let site = SyncContext {
            view: input.view,
            environment: &*environment,
            registries: &registries,
            streams: self.streams,
            minor: kubelet_minor(input.view, &self.node),
            host: input.view.get(&resources::NODES, "", &self.node).and_then(network::address_of),
            now: input.now,
        };
        for subject in self.queue.take_due(input.now) {
            if subject.is_kind(&resources::NODES) {
                self.sync_node(&subject, &site, &mut step);
            } else if subject.is_kind(&resources::LEASES) {
                self.sync_lease(&subject, &site, &mut step);
            } else {
                self.sync_pod(&subject, &site, &mut step);
            }
        }
        step.wake_at = self.queue.next();
        step.why = self.waits.values().next().cloned().unwrap_or_default().into();
        step
    }
}

/// The memory of a pod, reset if another pod has the same name.
fn memory_of<'a>(pods: &'a mut BTreeMap<Key, Memory>, key: &Key, pod: &Object, node: &str) -> &'a mut Memory {
    let memory = pods.entry(key.clone()).or_default();
    if memory.uid != pod.uid() {
        *memory = Memory::of(pod, node);
    }
    memory
}

/// The minor version in `status.nodeInfo.kubeletVersion` (`v1.27.8+4fab27b`).
fn kubelet_minor(view: &View, node: &str) -> u32 {
    let version =
        view.get(&resources::NODES, "", node).map_or("", |node| node.text("/status/nodeInfo/kubeletVersion"));
    version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(MINOR_DEFAULT)
}
