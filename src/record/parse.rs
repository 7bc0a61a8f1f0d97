//! Parses a record from its JSON lines. It restores every object before and after every write; equal states
//! share memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::{Key, Object, resources};

use super::access::{RightsForm, is_rights};
use super::logs::{LogForm, moment};
use super::{Entry, Event, FORMAT, FailureKind, Header, Record, UserRights, WriteEvent};

/// The error of an invalid record file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}")]
pub struct RecordError {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// The expected text, and the problem with the actual one.
    pub expected: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    windtunnel: String,
    /// Checked already, by [`FormatLine`].
    #[serde(default, rename = "format")]
    _format: u32,
    scenario: String,
    ids: Vec<String>,
    seed: u64,
    epoch: i64,
    #[serde(default, rename = "leftOut")]
    left_out: Vec<String>,
}

/// The format alone, because a newer format may have other fields. Files without a format have the first one.
#[derive(Deserialize)]
struct FormatLine {
    #[serde(default = "first_format")]
    format: u32,
}

fn first_format() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine {
    at: i64,
    write: Option<WriteLine>,
    step: Option<String>,
    outcome: Option<String>,
    failure: Option<String>,
    #[serde(rename = "failureKind")]
    kind: Option<String>,
    #[serde(default, rename = "heldBefore")]
    held_before: bool,
    command: Option<String>,
    #[serde(default)]
    code: u8,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    kubernetes: Option<u32>,
    alert: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    process: Option<String>,
    fault: Option<String>,
    #[serde(default)]
    pod: String,
    #[serde(default)]
    started: bool,
}

/// The keys of entries, one for each kind of event.
const EVENTS: &[&str] = &["write", "step", "outcome", "command", "kubernetes", "alert", "process", "fault"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteLine {
    by: String,
    #[serde(default)]
    process: String,
    verb: String,
    kind: String,
    #[serde(default)]
    group: String,
    plural: String,
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    subresource: String,
    code: u16,
    #[serde(default)]
    message: String,
    #[serde(default, deserialize_with = "null_as_some")]
    before: Option<Value>,
    #[serde(default)]
    created: bool,
    #[serde(default)]
    gone: bool,
    object: Option<Value>,
    patch: Option<Value>,
}

/// Distinguishes null (there was no object) from a missing field.
fn null_as_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Record {
    /// Parses the file form that [`Record::to_lines`] writes.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let (number, first) = lines.next().unwrap_or((1, ""));
        let header = header(first).map_err(|expected| RecordError { line: number, expected })?;
        let mut states = BTreeMap::new();
        let mut record = Self::new(header, Vec::new());
        for (number, line) in lines {
            let invalid = |expected| RecordError { line: number, expected };
            if LogForm::is_log(line) {
                let log: LogForm<'_> = json(line, "a log of a record").map_err(invalid)?;
                record.logs.push(log.into_log().map_err(invalid)?);
            } else if is_rights(line) {
                let form: RightsForm<UserRights> =
                    json(line, "the rights of a user in a record").map_err(invalid)?;
                record.rights.push(form.rights);
            } else {
                record.entries.push(entry(line, &mut states).map_err(invalid)?);
            }
        }
        Ok(record)
    }
}

fn header(line: &str) -> Result<Header, String> {
    let FormatLine { format } = json(line, "the header of a record")?;
    if format > FORMAT {
        return Err(format!(
            "a record of format {FORMAT} or older, found format {format}: read it with the windtunnel that wrote it, or a newer one"
        ));
    }
    let line: HeaderLine = json(line, "the header of a record")?;
    Ok(Header {
        scenario: line.scenario,
        ids: line.ids,
        seed: line.seed,
        epoch: moment(line.epoch)?,
        windtunnel: line.windtunnel,
        left_out: line.left_out,
    })
}

fn json<'a, T: Deserialize<'a>>(line: &'a str, what: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| {
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        format!("{what}: {reason} at column {}", error.column())
    })
}

fn entry(line: &str, states: &mut BTreeMap<Key, Object>) -> Result<Entry, String> {
    let line: EntryLine = json(line, "an entry of a record")?;
    let at = moment(line.at)?;
    let EntryLine { write, step, outcome, failure, command, code, stdout, stderr, .. } = line;
    let EntryLine {
        kind,
        held_before,
        kubernetes,
        alert,
        labels,
        annotations,
        process,
        pod,
        started,
        fault,
        ..
    } = line;
    let event = match (write, step, outcome, command, kubernetes, alert, process, fault) {
        (Some(write), None, None, None, None, None, None, None) => {
            Event::Write(Box::new(self::write(write, states)?))
        }
        (None, Some(text), None, None, None, None, None, None) => Event::Step { text },
        (None, None, Some(text), None, None, None, None, None) => {
            let kind = kind.map(|kind| failure_kind(&kind)).transpose()?;
            Event::Outcome { text, failure, kind, held_before }
        }
        (None, None, None, Some(line), None, None, None, None) => {
            Event::Command { line, code, stdout, stderr }
        }
        (None, None, None, None, Some(minor), None, None, None) => Event::Kubernetes { minor },
        (None, None, None, None, None, Some(state), None, None) => {
            let state = AlertState::named(&state)
                .ok_or_else(|| format!("`alert` to be pending, firing or inactive; found `{state}`"))?;
            Event::Alert(Box::new(Alert { labels, annotations, state }))
        }
        (None, None, None, None, None, None, Some(program), None) => Event::Process { program, pod, started },
        (None, None, None, None, None, None, None, Some(text)) => Event::Fault { text },
        _ => return Err(format!("exactly one of `{}`", EVENTS.join("`, `"))),
    };
    Ok(Entry { at, event })
}

fn failure_kind(name: &str) -> Result<FailureKind, String> {
    FailureKind::named(name)
        .ok_or_else(|| format!("`failureKind` to be product, scenario or tool; found `{name}`"))
}

fn write(line: WriteLine, states: &mut BTreeMap<Key, Object>) -> Result<WriteEvent, String> {
    let key = key(line.group, line.plural, line.namespace, line.name);
    let before = match line.before {
        Some(Value::Null) => None,
        Some(before) => Some(Object::new(before)),
        None => states.get(&key).cloned(),
    };
    let after = match (line.object, line.patch, &before) {
        (Some(_), Some(_), _) => return Err("`object` or `patch`, not both".to_owned()),
        (Some(object), None, _) => Some(Object::new(object)),
        (None, Some(_), None) => return Err(format!("`object`: no earlier line created {key}")),
        (None, Some(patch), Some(before)) => Some(patched(before, &patch)),
        (None, None, _) => None,
    };
    if line.gone == (after.is_some() || line.code >= 400)
        || line.created != (before.is_none() && after.is_some())
    {
        return Err("`created`, `gone`, `code` and the object to be consistent".to_owned());
    }
    match (&after, &before) {
        (Some(state), _) => states.insert(key.clone(), state.clone()),
        (None, Some(state)) if !line.gone => states.insert(key.clone(), state.clone()),
        _ => states.remove(&key),
    };
    Ok(WriteEvent {
        by: line.by,
        process: line.process,
        verb: line.verb,
        kind: line.kind,
        key,
        subresource: line.subresource,
        code: line.code,
        message: line.message,
        before,
        after,
    })
}

fn patched(before: &Object, patch: &Value) -> Object {
    if patch.as_object().is_some_and(serde_json::Map::is_empty) {
        return before.clone();
    }
    let mut value = before.to_value();
    json_patch::merge(&mut value, patch);
    Object::new(value)
}

/// Returns the key of an object; the names of well-known kinds are shared.
fn key(group: String, plural: String, namespace: String, name: String) -> Key {
    let known = resources::ALL.iter().find(|known| known.group == group && known.plural == plural);
    let (group, plural) = match known {
        Some(known) => (known.group.clone(), known.plural.clone()),
        None => (Cow::Owned(group), Cow::Owned(plural)),
    };
    Key { group, plural, namespace, name }
}
