//! A stopped kubelet on a running machine. It neither updates its node nor renews its Lease, and containers
//! keep running. After a restart it knows only what a new process would know.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_core::{Key, View, resources};

use super::{Effect, Input, Kubelet, Signal, Step};
use crate::faults::{Fault, FaultKind};

/// The state of the machine while the kubelet is stopped.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopped {
    /// The running pods with their uids.
    pods: BTreeMap<Key, String>,
    /// The signals of the runtime since the stop.
    signals: Vec<Signal>,
}

impl Kubelet {
    /// Whether the kubelet is stopped. Stops or restarts it if the fault of its node has changed.
    pub(super) fn update_stopped(&mut self, input: &Input<'_>, step: &mut Step) -> bool {
        if !has_stop_fault(input.view, &self.node) {
            if let Some(stopped) = self.stopped.take() {
                self.restart(stopped, input.view, step);
            }
            return false;
        }
        let pods = &self.pods;
        let stopped = self.stopped.get_or_insert_with(|| {
            let pods = pods.iter().map(|(key, memory)| (key.clone(), memory.uid.clone())).collect();
            Stopped { pods, signals: Vec::new() }
        });
        stopped.signals.extend(input.signals.iter().cloned());
        step.why = "the end of its fault `kubelet-stopped`".into();
        true
    }

    /// Starts a new process on the same machine, which kills the containers of pods that are gone.
    fn restart(&mut self, stopped: Stopped, view: &View, step: &mut Step) {
        let new = Self::new(&self.node, Arc::clone(&self.environment), &self.streams);
        let old = std::mem::replace(self, new);
        (self.static_pods, self.node_status) = (old.static_pods, old.node_status);
        let Stopped { pods, mut signals } = stopped;
        let is_there = |(key, uid): &(Key, String)| view.get_key(key).is_some_and(|pod| pod.uid() == uid);
        let (pods, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = pods.into_iter().partition(is_there);
        for pod in gone.into_keys().filter(|pod| !self.static_pods.has(pod)) {
            step.effects.push(Effect::Kill { pod });
        }
        // Signals for pods that are gone must not affect new pods of the same name.
        signals.retain(|signal| !matches!(signal, Signal::Exited { pod, .. } if !pods.contains_key(pod)));
        self.missed = signals;
    }
}

fn has_stop_fault(view: &View, node: &str) -> bool {
    let fault =
        view.get(&resources::NODES, "", node).and_then(|node| Fault::from_annotations(node)).flatten();
    fault.is_some_and(|fault| fault.kind == FaultKind::KubeletStopped)
}
