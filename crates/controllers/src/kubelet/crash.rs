//! Containers that cannot be made, or whose processes fail: what they leave behind, and when they are tried again.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;

use super::status::State;
use super::worker::{Look, RESTART_PAUSE};
use crate::recorder::Notice;
use crate::registry::{Containers, Contents};

/// Why a container waits that has failed several times.
pub(super) const CRASH_LOOP: &str = "CrashLoopBackOff";

/// The log of a program that was built for another kind of machine.
const CRASH_LOG: &str = "exec /usr/bin/sh: exec format error\n";

/// The first back-off, in seconds; each later one is twice as long, up to the longest.
const BACK_OFF_SECONDS: i64 = 10;
const BACK_OFF_SECONDS_MAX: i64 = 300;
/// A container that has been running for so long is tried again at once.
const FORGIVEN_AFTER: SignedDuration = SignedDuration::from_mins(10);

impl Look<'_> {
    fn fate(&self, index: usize) -> Containers {
        self.site.environment.image(&self.status.containers[index].image).containers
    }

    /// How the process of a container that runs to its end ends now.
    pub(super) fn end_of(&self, index: usize, since: Time) -> State {
        let at = self.site.now;
        let ended = |code, reason: &str, message: &str| State::Ended {
            since,
            at,
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let log = match self.fate(index) {
            Containers::OutOfMemory => return ended(137, "OOMKilled", ""),
            Containers::Crash => Some(CRASH_LOG.to_owned()),
            Containers::Run | Containers::CannotBeCreated => self.complaint(index),
        };
        match log {
            Some(log) if self.asks_for_logs(index) => ended(1, "Error", &log),
            Some(_) => State::ended(since, at, 1),
            None => State::ended(since, at, 0),
        }
    }

    /// What a program writes that does not find in its image what it is to carry.
    fn complaint(&self, index: usize) -> Option<String> {
        let container = &self.status.containers[index];
        if self.site.environment.image(&container.image).contents != Contents::NoPayload {
            return None;
        }
        let spec = self.spec(index);
        let (program, place) = (spec["command"][0].as_str()?, payload_place(spec)?);
        Some(format!("{program}: cannot stat '{place}': No such file or directory\n"))
    }

    /// Whether the end of a failed container's log is its message (`terminationMessagePolicy`).
    fn asks_for_logs(&self, index: usize) -> bool {
        self.spec(index)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    }

    /// What a container waits with that the runtime cannot make.
    pub(super) fn cannot_be_created(&mut self, index: usize) -> Option<State> {
        if self.fate(index) != Containers::CannotBeCreated {
            return None;
        }
        let container = &self.status.containers[index];
        let program = self.spec(index)["command"][0].as_str().unwrap_or(&container.name);
        let message = format!(
            "container create failed: executable file `{program}` not found in $PATH: No such file or directory"
        );
        let state = State::Waiting { reason: "CreateContainerError".to_owned(), message: message.clone() };
        if container.state != state {
            self.tell(Notice::warning("Failed", format!("Error: {message}")));
        }
        self.out.why = Some(message);
        Some(state)
    }

    /// Tries a failed container again: at once after the first failure, then ever more seldom.
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
            // As before its first start, its image has to be here first.
            return self.pull(index);
        }
        let is_shown = matches!(&container.state, State::Waiting { .. });
        if !back_off.is_zero() && !is_shown && at + RESTART_PAUSE <= now {
            self.show_back_off(index, back_off);
        }
        // First the failure is seen as such, then the back-off.
        let seen = at + RESTART_PAUSE;
        self.look_again(if seen > now { seen } else { at + back_off });
    }

    fn show_back_off(&mut self, index: usize, back_off: SignedDuration) {
        let container = &mut self.status.containers[index];
        let (name, of) = (&container.name, (self.pod.name(), self.pod.namespace(), self.pod.uid()));
        let span = go_span(back_off);
        let message =
            format!("back-off {span} restarting failed container={name} pod={}_{}({})", of.0, of.1, of.2);
        let told = format!("Back-off restarting failed container {name} in pod {}_{}({})", of.0, of.1, of.2);
        container.leave_for(State::Waiting { reason: CRASH_LOOP.to_owned(), message });
        self.tell(Notice::warning("BackOff", told));
    }

    /// Tells that a container is made and started.
    pub(super) fn tell_of_start(&mut self, index: usize) {
        let name = self.status.containers[index].name.clone();
        let colon = if self.site.minor >= 32 { ":" } else { "" };
        self.tell(Notice::normal("Created", format!("Created container{colon} {name}")));
        self.tell(Notice::normal("Started", format!("Started container {name}")));
    }

    /// Tells people.
    pub(super) fn tell(&mut self, notice: Notice) {
        self.out.notices.push(notice);
    }
}

/// How long a container that was restarted so often is left alone after it failed again.
fn back_off(restarts: u32) -> SignedDuration {
    if restarts == 0 {
        return SignedDuration::ZERO;
    }
    let doubled = BACK_OFF_SECONDS << (restarts - 1).min(5);
    SignedDuration::from_secs(doubled.min(BACK_OFF_SECONDS_MAX))
}

/// Whole seconds as Go writes them: `40s`, `1m20s`.
fn go_span(span: SignedDuration) -> String {
    match (span.as_secs() / 60, span.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// Where a container is told to find the payload in its image, as those of a version pod are.
pub(super) fn payload_place(spec: &Value) -> Option<&str> {
    let words = spec["command"].as_array()?.iter().filter_map(Value::as_str);
    words.into_iter().find(|word| ["/manifests", "/release-manifests"].contains(word))
}
