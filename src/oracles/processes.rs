//! The programs in pods, and what the kubelet reports about their containers.

use std::collections::BTreeSet;

use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, text_of};

use super::rule::{ObjectFinding, ProcessEvent, Rule, Scene};

/// The rule about containers whose programs have ended.
#[derive(Default)]
pub(super) struct Processes {
    /// The names of pods and programs that have ended and not started again.
    ended: BTreeSet<(String, String)>,
}

impl Rule for Processes {
    fn id(&self) -> String {
        "processes".to_owned()
    }

    fn process(&mut self, _: &Scene<'_>, event: &ProcessEvent<'_>) -> Option<ObjectFinding> {
        let process = (event.pod.to_owned(), event.program.to_owned());
        if event.started {
            self.ended.remove(&process);
        } else if !event.pod.is_empty() {
            self.ended.insert(process);
        }
        None
    }

    fn quiet(&mut self, scene: &Scene<'_>) -> Vec<ObjectFinding> {
        if self.ended.is_empty() {
            return Vec::new();
        }
        let pods = scene.view.list(&PODS).filter(|pod| !pod.is_terminating());
        pods.filter_map(|pod| {
            let program = self.ended_in(pod)?;
            let how = format!("has the container {program} as running, but its program has ended");
            Some(ObjectFinding::new(format!("Pod/{}/{}", pod.namespace(), pod.name()), how))
        })
        .collect()
    }
}

impl Processes {
    /// Returns a container that is reported as running although its program has ended. A kubelet notices an end within
    /// seconds (`PLEG`), and starts the container again or reports it as terminated.
    fn ended_in<'p>(&self, pod: &'p Object) -> Option<&'p str> {
        let statuses = pod.list("/status/containerStatuses").iter();
        let running = statuses.filter(|status| status["state"]["running"].is_object());
        running
            .map(|status| text_of(status, "name"))
            .find(|name| self.ended.contains(&(pod.name().to_owned(), (*name).to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::oracles::testing::Story;

    fn pod(state: &str) -> Value {
        json!({
            "metadata": { "namespace": "n", "name": "p" },
            "status": { "containerStatuses": [{ "name": "c", "state": { state: {} } }] },
        })
    }

    fn story(state: &str) -> Story {
        Story::new()
            .write(1, "kubelet/w", &PODS, pod(state))
            .process(1, "c", "p", true)
            .process(9, "c", "p", false)
    }

    #[test]
    fn a_container_whose_program_has_ended_is_not_running() {
        assert_eq!(
            story("running").findings("processes"),
            ["Pod/n/p: has the container c as running, but its program has ended"]
        );
        assert!(story("terminated").findings("processes").is_empty());
        assert!(story("running").process(20, "c", "p", true).findings("processes").is_empty());
    }
}
