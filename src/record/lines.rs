//! The file form of a record: JSON lines with the header, then one line per entry, per log and per user of a program. A change is a
//! patch of the object's state after the lines before it.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use windtunnel_core::patch::Patch;
use windtunnel_core::text::hex;
use windtunnel_core::{Key, Object};

use super::access::RightsForm;
use super::{Entry, Event, FORMAT, FORMAT_WITHOUT_RIGHTS, FailureKind, Header, Record, WriteEvent};

/// The last state of every object in the lines so far.
type States<'r> = HashMap<&'r Key, &'r Object>;

#[derive(Serialize)]
struct HeaderLine<'r> {
    windtunnel: &'r str,
    format: u32,
    scenario: &'r str,
    ids: &'r [String],
    seed: u64,
    epoch: i64,
    #[serde(rename = "leftOut", skip_serializing_if = "<[String]>::is_empty")]
    left_out: &'r [String],
}

#[derive(Serialize)]
struct EntryLine<'r> {
    at: i64,
    #[serde(flatten)]
    event: EventLine<'r>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EventLine<'r> {
    Write {
        write: WriteLine<'r>,
    },
    Step {
        step: &'r str,
    },
    Outcome {
        outcome: &'r str,
        failure: Option<&'r str>,
        #[serde(rename = "failureKind", skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
        #[serde(rename = "heldBefore", skip_serializing_if = "is_false")]
        held_before: bool,
    },
    Command {
        command: &'r str,
        code: u8,
        stdout: &'r str,
        stderr: &'r str,
    },
    Kubernetes {
        kubernetes: u32,
    },
    Alert {
        alert: &'r str,
        labels: &'r BTreeMap<String, String>,
        annotations: &'r BTreeMap<String, String>,
    },
    Process {
        process: &'r str,
        pod: &'r str,
        started: bool,
    },
    Fault {
        fault: &'r str,
    },
}

#[derive(Serialize)]
struct WriteLine<'r> {
    by: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    process: &'r str,
    verb: &'r str,
    kind: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'r str,
    plural: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'r str,
    name: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'r str,
    code: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'r str,
    /// The state before, if it differs from the state after the lines so far; null means that there was no
    /// object.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'r Value>,
    #[serde(skip_serializing_if = "is_false")]
    created: bool,
    #[serde(skip_serializing_if = "is_false")]
    gone: bool,
    /// The whole state after, if no patch can express it.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'r Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<PatchLine<'r>>,
}

/// A change: a patch from folding an old state, or one computed from both states.
#[derive(Serialize)]
#[serde(untagged)]
enum PatchLine<'r> {
    Folded(Value),
    Computed(Patch<'r>),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Record {
    /// Returns the file form: JSON lines, the header first, each with a line break. Moments are milliseconds
    /// since the Unix epoch.
    pub fn to_lines(&self) -> String {
        let mut out = String::new();
        self.each_line(|line| out.push_str(line));
        out
    }

    /// Returns the SHA-256 of the file form, in lower-case hex. It is the same for runs of the same scenario,
    /// seed and build.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        self.each_line(|line| hash.update(line));
        hex(&hash.finalize())
    }

    /// Passes each line of the file form, with its line break, to `emit`.
    fn each_line(&self, mut emit: impl FnMut(&str)) {
        let mut line = String::new();
        let format = if self.rights.is_empty() { FORMAT_WITHOUT_RIGHTS } else { FORMAT };
        push_header(&mut line, format, &self.header);
        emit(&line);
        let mut states = States::new();
        for entry in &self.entries {
            let known = match &entry.event {
                Event::Write(write) => states.get(&write.key).copied(),
                _ => None,
            };
            line.clear();
            push_entry(&mut line, entry, known);
            emit(&line);
            if let Event::Write(write) = &entry.event {
                match write.state_after() {
                    Some(state) => states.insert(&write.key, state),
                    None => states.remove(&write.key),
                };
            }
        }
        for log in &self.logs {
            line.clear();
            push_line(&mut line, &log.file_form());
            emit(&line);
        }
        for rights in &self.rights {
            line.clear();
            push_line(&mut line, &RightsForm { rights });
            emit(&line);
        }
    }
}

/// Appends the first line of a record that grows while it is written: it has neither logs nor rights.
pub(super) fn push_first_header(out: &mut String, header: &Header) {
    push_header(out, FORMAT_WITHOUT_RIGHTS, header);
}

/// Appends the first line of a record.
fn push_header(out: &mut String, format: u32, header: &Header) {
    let Header { scenario, ids, seed, epoch, windtunnel, left_out } = header;
    push_line(
        out,
        &HeaderLine {
            windtunnel,
            format,
            scenario,
            ids,
            seed: *seed,
            epoch: epoch.as_millisecond(),
            left_out,
        },
    );
}

/// Appends the line of an entry; for a write, `known` is the object's state after the lines so far.
pub(super) fn push_entry(out: &mut String, Entry { at, event }: &Entry, known: Option<&Object>) {
    push_line(out, &EntryLine { at: at.as_millisecond(), event: event_line(event, known) });
}

fn push_line(out: &mut String, line: &impl Serialize) {
    // Serialization fails only for maps whose keys are not texts, and a line has none.
    out.push_str(&serde_json::to_string(line).unwrap_or_default());
    out.push('\n');
}

fn event_line<'r>(event: &'r Event, known: Option<&Object>) -> EventLine<'r> {
    match event {
        Event::Write(write) => EventLine::Write { write: write_line(write, known) },
        Event::Step { text } => EventLine::Step { step: text },
        Event::Outcome { text, failure, kind, held_before } => EventLine::Outcome {
            outcome: text,
            failure: failure.as_deref(),
            kind: kind.map(FailureKind::as_str),
            held_before: *held_before,
        },
        Event::Command { line, code, stdout, stderr } => {
            EventLine::Command { command: line, code: *code, stdout, stderr }
        }
        Event::Kubernetes { minor } => EventLine::Kubernetes { kubernetes: *minor },
        Event::Alert(alert) => EventLine::Alert {
            alert: alert.state.as_str(),
            labels: &alert.labels,
            annotations: &alert.annotations,
        },
        Event::Process { program, pod, started } => {
            EventLine::Process { process: program, pod, started: *started }
        }
        Event::Fault { text } => EventLine::Fault { fault: text },
    }
}

fn write_line<'r>(write: &'r WriteEvent, known: Option<&Object>) -> WriteLine<'r> {
    let before = write.before.as_ref();
    let as_known = match (known, before) {
        (None, None) => true,
        (Some(known), Some(before)) => same(known, before),
        _ => false,
    };
    let patch = match (before, &write.after) {
        (Some(before), Some(after)) if !before.is_same(after) => {
            let folded = after.patch_since(before).map(PatchLine::Folded);
            folded.or_else(|| Patch::between(before, after).map(PatchLine::Computed))
        }
        (Some(_), Some(_)) => Some(PatchLine::Computed(Patch::Fields(Vec::new()))),
        _ => None,
    };
    let object = write.after.as_ref().filter(|_| patch.is_none()).map(|object| &**object);
    let gone = write.after.is_none() && write.code < 400;
    WriteLine {
        by: &write.by,
        process: &write.process,
        verb: &write.verb,
        kind: &write.kind,
        group: &write.key.group,
        plural: &write.key.plural,
        namespace: &write.key.namespace,
        name: &write.key.name,
        subresource: &write.subresource,
        code: write.code,
        message: &write.message,
        before: if as_known { None } else { Some(before.map_or(&Value::Null, |object| &**object)) },
        created: before.is_none() && write.after.is_some(),
        gone,
        object,
        patch,
    }
}

fn same(one: &Object, other: &Object) -> bool {
    one.is_same(other) || one == other
}
