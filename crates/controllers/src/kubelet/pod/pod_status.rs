//! Reading and writing of a pod's status by the kubelet.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, pod};

use super::sync_context::SyncContext;
use crate::kubelet::mirror;

/// The first minor version whose kubelets report all addresses of their node (`PodHostIPs`).
const HOST_IPS_MINOR: u32 = 29;

/// The waiting reason of a container that failed repeatedly.
pub(super) const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The state of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Not started.
    Waiting {
        /// The reason, such as `PodInitializing`.
        reason: String,
        /// A message for people; may be empty.
        message: String,
    },
    /// The process runs.
    Running {
        /// The start time.
        since: Time,
    },
    /// The process has ended.
    Ended {
        /// The start time.
        since: Time,
        /// The end time.
        at: Time,
        /// Exit code; 137 is SIGKILL.
        code: i64,
        /// The reason, such as `Completed`.
        reason: String,
        /// The termination message; may be empty.
        message: String,
    },
}

impl State {
    /// A waiting state without a message.
    pub(super) fn waiting(reason: &str) -> Self {
        Self::Waiting { reason: reason.to_owned(), message: String::new() }
    }

    /// A terminated state with the default reason for its exit code.
    pub(super) fn ended(since: Time, at: Time, code: i64) -> Self {
        let reason = if code == 0 { "Completed" } else { "Error" };
        Self::Ended { since, at, code, reason: reason.to_owned(), message: String::new() }
    }

    fn from_value(value: &Value) -> Option<Self> {
        let time =
            |fields: &Value, field: &str| fields[field].as_str().and_then(parse_rfc3339).unwrap_or_default();
        let (name, fields) = value.as_object()?.iter().next()?;
        let text = |field: &str| fields[field].as_str().unwrap_or_default().to_owned();
        match name.as_str() {
            "running" => Some(Self::Running { since: time(fields, "startedAt") }),
            "terminated" => Some(Self::Ended {
                since: time(fields, "startedAt"),
                at: time(fields, "finishedAt"),
                code: fields["exitCode"].as_i64().unwrap_or(0),
                reason: text("reason"),
                message: text("message"),
            }),
            "waiting" => Some(Self::Waiting { reason: text("reason"), message: text("message") }),
            _ => None,
        }
    }

    fn render(&self, id: &str) -> Value {
        match self {
            Self::Waiting { reason, message } if message.is_empty() => {
                json!({ "waiting": { "reason": reason } })
            }
            Self::Waiting { reason, message } => {
                json!({ "waiting": { "reason": reason, "message": message } })
            }
            Self::Running { since } => json!({ "running": { "startedAt": rfc3339(*since) } }),
            Self::Ended { since, at, code, reason, message } => {
                let mut terminated = json!({
                    "exitCode": code,
                    "reason": reason,
                    "startedAt": rfc3339(*since),
                    "finishedAt": rfc3339(*at),
                    "containerID": id,
                });
                if !message.is_empty() {
                    terminated["message"] = json!(message);
                }
                json!({ "terminated": terminated })
            }
        }
    }
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent field of the status")]
pub(super) struct Container {
    /// Its name.
    pub(super) name: String,
    /// The pull specification of its image.
    pub(super) image: String,
    /// Whether it is an init container.
    pub(super) init: bool,
    /// Whether it is a sidecar (an init container with `restartPolicy: Always`).
    pub(super) sidecar: bool,
    /// Its current state.
    pub(super) state: State,
    /// The terminated state of its previous run.
    pub(super) last: Option<State>,
    /// The number of restarts.
    pub(super) restarts: u32,
    /// Whether it runs but is not ready.
    pub(super) fails_probe: bool,
    /// Whether it runs but its startup probe has not succeeded yet.
    pub(super) starting: bool,
}

impl Container {
    /// Whether it exited with code 0.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Ended { code: 0, .. })
    }

    /// Whether it exited with another code.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, State::Ended { code, .. } if code != 0)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Whether the pod's sandbox exists, which all pulls wait for.
    fn has_sandbox(&self) -> bool {
        !matches!(&self.state, State::Waiting { reason, .. } if ["ContainerCreating", "PodInitializing"].contains(&reason.as_str()))
    }

    /// Whether its process runs and its startup probe has succeeded.
    fn has_started(&self) -> bool {
        self.is_running() && !self.starting
    }

    /// Whether the containers after this init container may start.
    pub(super) fn is_through(&self) -> bool {
        if self.sidecar { self.has_started() } else { self.is_done() }
    }

    /// Changes the state. Keeps the terminated state of a process that has ended, and counts restarts.
    pub(super) fn transition_to(&mut self, next: State) {
        let before = std::mem::replace(&mut self.state, next);
        if matches!(before, State::Ended { .. }) {
            self.last = Some(before);
        }
        if self.is_running() && self.last.is_some() {
            self.restarts += 1;
        }
    }

    /// Whether its process has been started at least once.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.state, State::Waiting { .. }) || self.last.is_some()
    }

    /// Whether it should run as long as the pod.
    fn runs_on(&self) -> bool {
        !self.init || self.sidecar
    }

    fn is_ready(&self) -> bool {
        if self.runs_on() { self.has_started() && !self.fails_probe } else { self.is_done() }
    }

    fn render(&self, uid: &str, streams: Streams) -> Value {
        let id = |run: u32| {
            let mut bits = streams.stream(&format!("container/{uid}/{}/{run}", self.name));
            format!(
                "cri-o://{:016x}{:016x}{:016x}{:016x}",
                bits.bits(),
                bits.bits(),
                bits.bits(),
                bits.bits()
            )
        };
        let created = !matches!(self.state, State::Waiting { .. });
        let own = if created { id(self.restarts) } else { String::new() };
        let mut value = json!({
            "name": self.name,
            "image": self.image,
            "imageID": if created { self.image.as_str() } else { "" },
            "restartCount": self.restarts,
            "ready": self.is_ready(),
            "started": self.has_started(),
            "state": self.state.render(&own),
            "lastState": self.last.as_ref().map_or_else(|| json!({}), |last| last.render(&id(self.restarts.saturating_sub(1)))),
        });
        if created {
            value["containerID"] = json!(own);
        }
        value
    }
}

/// The status of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    /// `Pending`, `Running`, `Succeeded` or `Failed`.
    pub(super) phase: &'static str,
    /// The reason of the failure of the whole pod; otherwise empty.
    pub(super) reason: String,
    /// The message of that failure.
    pub(super) message: String,
    /// The time at which the kubelet accepted the pod.
    pub(super) start: Option<Time>,
    /// Init containers in order, then the others.
    pub(super) containers: Vec<Container>,
}

impl Status {
    /// Reads the status in the API. Containers without a status are waiting.
    pub(super) fn from_pod(pod: &Object) -> Self {
        let containers = [("/spec/initContainers", "/status/initContainerStatuses", true)]
            .into_iter()
            .chain([("/spec/containers", "/status/containerStatuses", false)])
            .flat_map(|(specs, statuses, init)| read_containers(pod, specs, statuses, init))
            .collect();
        let phase = match pod::phase(pod) {
            "Running" => "Running",
            "Succeeded" => "Succeeded",
            "Failed" => "Failed",
            _ => "Pending",
        };
        Self {
            phase,
            reason: pod.text("/status/reason").to_owned(),
            message: pod.text("/status/message").to_owned(),
            start: pod.time("/status/startTime"),
            containers,
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.phase, "Succeeded" | "Failed")
    }

    /// The fields of `status` that differ from the API; `None` if none do.
    pub(super) fn changes(
        &self,
        pod: &Object,
        site: &SyncContext<'_>,
        address: Option<Ipv4Addr>,
    ) -> Option<Value> {
        let list = |init: bool| -> Vec<Value> {
            self.containers
                .iter()
                .filter(|c| c.init == init)
                .map(|c| c.render(mirror::runtime_id(pod), site.streams))
                .collect()
        };
        let mut wanted = vec![
            ("phase", json!(self.phase)),
            ("startTime", json!(self.start.map(rfc3339))),
            ("conditions", Value::Array(self.conditions(pod, site.now, site.minor))),
            ("containerStatuses", Value::Array(list(false))),
        ];
        if self.containers.iter().any(|container| container.init) {
            wanted.push(("initContainerStatuses", Value::Array(list(true))));
        }
        for (field, text) in [("reason", &self.reason), ("message", &self.message)] {
            if !text.is_empty() {
                wanted.push((field, json!(text)));
            }
        }
        wanted.extend(self.addresses(pod, site, address));
        let changed: Map<String, Value> = wanted
            .into_iter()
            .filter(|(field, value)| pod["status"][field] != *value)
            .map(|(field, value)| (field.to_owned(), value))
            .collect();
        (!changed.is_empty()).then_some(Value::Object(changed))
    }

    /// The addresses of the pod, once its sandbox exists, and those of its node.
    fn addresses(
        &self,
        pod: &Object,
        site: &SyncContext<'_>,
        address: Option<Ipv4Addr>,
    ) -> Vec<(&'static str, Value)> {
        let mut addresses = Vec::new();
        if let Some(host) = site.host {
            addresses.push(("hostIP", json!(host)));
            if site.minor >= HOST_IPS_MINOR {
                addresses.push(("hostIPs", json!([{ "ip": host }])));
            }
        }
        let has_sandbox =
            !pod.text("/status/podIP").is_empty() || self.containers.iter().any(Container::has_sandbox);
        if let Some(address) = address.filter(|_| has_sandbox) {
            addresses.push(("podIP", json!(address)));
            addresses.push(("podIPs", json!([{ "ip": address }])));
        }
        addresses
    }

    /// The new conditions of the pod. Keeps conditions of other writers.
    fn conditions(&self, pod: &Object, now: Time, kubelet_minor: u32) -> Vec<Value> {
        let mut list = pod.conditions().to_vec();
        let names = |open: &dyn Fn(&Container) -> bool| -> Vec<&str> {
            let open = self.containers.iter().filter(|container| open(container));
            open.map(|container| container.name.as_str()).collect()
        };
        let mut set = |kind: &str, fault: Option<(&str, String)>| {
            let (status, (reason, message)) =
                fault.map_or(("True", ("", String::new())), |fault| ("False", fault));
            condition::set(&mut list, &Condition::new(kind, status, reason, message), now);
        };
        if kubelet_minor >= 29 {
            set("PodReadyToStartContainers", self.is_terminal().then(|| ("", String::new())));
        }
        let inits = names(&|container| container.init && !container.is_through());
        let mains = names(&|container| container.runs_on() && !container.is_ready());
        let incomplete = format!("containers with incomplete status: [{}]", inits.join(" "));
        set("Initialized", (!inits.is_empty()).then_some(("ContainersNotInitialized", incomplete)));
        let unready = match self.phase {
            "Succeeded" => Some(("PodCompleted", String::new())),
            "Failed" => Some(("PodFailed", String::new())),
            _ if mains.is_empty() => None,
            _ => {
                Some(("ContainersNotReady", format!("containers with unready status: [{}]", mains.join(" "))))
            }
        };
        set("Ready", unready.clone());
        set("ContainersReady", unready);
        set("PodScheduled", None);
        list
    }
}

fn read_containers(pod: &Object, specs: &str, statuses: &str, init: bool) -> Vec<Container> {
    let none_yet =
        if pod.list("/spec/initContainers").is_empty() { "ContainerCreating" } else { "PodInitializing" };
    let container = |spec: &Value| {
        let name = spec["name"].as_str().unwrap_or_default();
        let status = pod.list(statuses).iter().find(|status| status["name"] == name).unwrap_or(&Value::Null);
        let state = State::from_value(&status["state"]).unwrap_or_else(|| State::waiting(none_yet));
        Container {
            name: name.to_owned(),
            image: spec["image"].as_str().unwrap_or_default().to_owned(),
            init,
            sidecar: init && spec["restartPolicy"] == "Always",
            starting: matches!(state, State::Running { .. })
                && spec["startupProbe"].is_object()
                && status["started"] != true,
            state,
            last: State::from_value(&status["lastState"]),
            restarts: status["restartCount"].as_u64().and_then(|n| n.try_into().ok()).unwrap_or(0),
            fails_probe: false,
        }
    };
    pod.list(specs).iter().map(container).collect()
}
