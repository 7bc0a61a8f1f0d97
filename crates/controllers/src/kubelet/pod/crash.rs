//! Containers that cannot be created or whose processes fail: their states and restarts.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;

use super::pod_status::{CRASH_LOOP, State};
use super::worker::{PodSync, RESTART_PAUSE};
use crate::recorder::Notice;
use crate::registry::{Containers, Contents, Image};

/// The log of a program that was built for another architecture.
const CRASH_LOG: &str = "exec /usr/bin/sh: exec format error\n";

/// The first back-off in seconds. It doubles with each failure, up to the maximum.
const BACK_OFF_SECONDS: i64 = 10;
const BACK_OFF_SECONDS_MAX: i64 = 300;
/// A container that ran for this long restarts without a back-off.
const FORGIVEN_AFTER: SignedDuration = SignedDuration::from_mins(10);

impl PodSync<'_> {
    fn container_behaviour(&self, index: usize) -> Containers {
        self.pulled_image(&self.status.containers[index].image).containers
    }

    /// The image as the node pulls it, from a mirror or not.
    fn pulled_image(&self, image: &str) -> Image {
        self.site.registries.resolve(image, |reference| self.site.environment.image(reference))
    }

    /// Whether each program of a container's image fails soon after its start.
    pub(super) fn image_crashes(&self, index: usize) -> bool {
        matches!(self.container_behaviour(index), Containers::Crash | Containers::OutOfMemory)
    }

    /// The terminated state of a container whose program has ended.
    pub(super) fn terminated_state(&self, index: usize, since: Time) -> State {
        let at = self.site.now;
        let ended = |code, reason: &str, message: &str| State::Ended {
            since,
            at,
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let log = match self.container_behaviour(index) {
            Containers::OutOfMemory => return ended(137, "OOMKilled", ""),
            Containers::Crash => Some(CRASH_LOG.to_owned()),
            Containers::Run | Containers::CannotBeCreated => {
                self.program(index).and_then(|program| program.error).or_else(|| self.error_output(index))
            }
        };
        match log {
            Some(log) if self.uses_log_as_message(index) => ended(1, "Error", &log),
            Some(_) => State::ended(since, at, 1),
            None => State::ended(since, at, 0),
        }
    }

    /// The error output of a program that copies the payload from an image without one.
    fn error_output(&self, index: usize) -> Option<String> {
        let container = &self.status.containers[index];
        if self.pulled_image(&container.image).contents != Contents::NoPayload {
            return None;
        }
        let spec = self.spec(index);
        let (program, place) = (spec["command"][0].as_str()?, payload_place(spec)?);
        Some(format!("{program}: cannot stat '{place}': No such file or directory\n"))
    }

    /// Whether the log of a failed container becomes its termination message (`terminationMessagePolicy`).
    fn uses_log_as_message(&self, index: usize) -> bool {
        self.spec(index)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    }

    /// The waiting state of a container that the runtime cannot create.
    pub(super) fn cannot_be_created(&mut self, index: usize) -> Option<State> {
        if self.container_behaviour(index) != Containers::CannotBeCreated {
            return None;
        }
        let container = &self.status.containers[index];
        let program = self.spec(index)["command"][0].as_str().unwrap_or(&container.name);
        let message = format!(
            "container create failed: executable file `{program}` not found in $PATH: No such file or directory"
        );
        let state = State::Waiting { reason: "CreateContainerError".to_owned(), message: message.clone() };
        if container.state != state {
            self.record_event(Notice::warning("Failed", format!("Error: {message}")));
        }
        self.out.why = Some(message);
        Some(state)
    }

    /// Restarts a failed container: immediately after the first failure, then with increasing back-off.
    pub(super) fn crash_loop(&mut self, index: usize) {
        let container = &self.status.containers[index];
        if self.pod.text("/spec/restartPolicy") == "Never" && !container.sidecar {
            return;
        }
        let ended = |state: &State| match state {
            State::Ended { at, .. } => Some(*at),
            _ => None,
        };
        let last = ended(&container.state).or_else(|| container.last.as_ref().and_then(ended));
        let (now, at, restarts) = (self.site.now, last.unwrap_or(self.site.now), container.restarts);
        if matches!(&container.state, State::Ended { since, at, .. } if at.duration_since(*since) >= FORGIVEN_AFTER)
        {
            self.memory.forgiven.insert(container.name.clone(), restarts);
        }
        let forgiven = self.memory.forgiven.get(&container.name).copied().unwrap_or(0);
        let back_off = back_off(restarts.saturating_sub(forgiven));
        if at + RESTART_PAUSE.max(back_off) <= now {
            // As before the first start, the image has to be pulled first.
            return self.pull(index);
        }
        let is_shown = matches!(&container.state, State::Waiting { .. });
        if !back_off.is_zero() && !is_shown && at + RESTART_PAUSE <= now {
            self.show_back_off(index, back_off);
        }
        // The status shows the failure first, and the back-off later.
        let seen = at + RESTART_PAUSE;
        self.schedule_by(if seen > now { seen } else { at + back_off });
    }

    fn show_back_off(&mut self, index: usize, back_off: SignedDuration) {
        let container = &mut self.status.containers[index];
        let name = &container.name;
        let pod = format!("{}_{}({})", self.pod.name(), self.pod.namespace(), self.pod.uid());
        let span = go_span(back_off);
        let message = format!("back-off {span} restarting failed container={name} pod={pod}");
        let event = format!("Back-off restarting failed container {name} in pod {pod}");
        container.transition_to(State::Waiting { reason: CRASH_LOOP.to_owned(), message });
        self.record_event(Notice::warning("BackOff", event));
    }

    /// Records the Events for the creation and start of a container.
    pub(super) fn record_start(&mut self, index: usize) {
        let name = self.status.containers[index].name.clone();
        let colon = if self.site.minor >= 32 { ":" } else { "" };
        self.record_event(Notice::normal("Created", format!("Created container{colon} {name}")));
        self.record_event(Notice::normal("Started", format!("Started container {name}")));
    }

    pub(super) fn record_event(&mut self, notice: Notice) {
        self.out.notices.push(notice);
    }
}

/// The back-off of a container after this many restarts.
fn back_off(restarts: u32) -> SignedDuration {
    if restarts == 0 {
        return SignedDuration::ZERO;
    }
    let doubled = BACK_OFF_SECONDS << (restarts - 1).min(5);
    SignedDuration::from_secs(doubled.min(BACK_OFF_SECONDS_MAX))
}

/// Formats whole seconds like Go: `40s`, `1m20s`.
fn go_span(span: SignedDuration) -> String {
    match (span.as_secs() / 60, span.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// The payload directory in the command of a container, as in the version pods of the cluster-version
/// operator.
pub(super) fn payload_place(spec: &Value) -> Option<&str> {
    let words = spec["command"].as_array()?.iter().filter_map(Value::as_str);
    words.into_iter().find(|word| ["/manifests", "/release-manifests"].contains(word))
}
