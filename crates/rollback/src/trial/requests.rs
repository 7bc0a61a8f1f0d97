//! The requests of a trial and their verdict.

use serde_json::{Value, json};
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Object, Rejection, Resource, Write};

use super::edits::unrelated;
use super::exchange::Exchange;
use crate::release::{Definition, Version};
use crate::schema::{Place, get};
use crate::servers::{Cause, Side, bare, causes};

/// The effect of a rollback on a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer to one request")]
pub(crate) struct Outcome {
    /// Status updates are rejected, whatever they change.
    pub(crate) blocks_status: bool,
    /// Updates of the object are rejected, whatever they change.
    pub(crate) blocks_edits: bool,
    /// A reader gets another value than the stored one.
    pub(crate) loses_value: bool,
    /// The object cannot be created again.
    pub(crate) blocks_creation: bool,
}

/// The answers to the requests of a trial.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) exchanges: Vec<Exchange>,
    /// The value that readers get after the rollback, if it differs.
    pub(crate) read: Option<Value>,
}

/// The most replacements to try. One is enough unless the older release rejects it for another reason.
const EDITS_MAX: usize = 3;

/// A server after the rollback of a definition.
pub(crate) struct Prepared {
    pub(crate) side: Side,
    /// The witness, as the newer release stored it.
    pub(crate) stored: Object,
    /// The requests that led there.
    pub(crate) exchanges: Vec<Exchange>,
    status_edits: Vec<Write>,
    object_edits: Vec<Write>,
}

/// Judges the witnesses of one version of a definition.
pub(crate) struct Trial<'j> {
    /// A server of the newer release with the newer definition.
    pub(crate) newer: &'j Side,
    pub(crate) older_definition: &'j Definition,
    pub(crate) version: &'j Version,
    pub(crate) newer_has_status: bool,
    pub(crate) resource: Resource,
}

/// Replaces a definition on a server, as an operator that applies manifests does.
pub(crate) fn replace_definition(side: &mut Side, definition: &Definition) -> (Exchange, Option<Rejection>) {
    let name = definition.name();
    let stored = side.read(&CUSTOM_RESOURCE_DEFINITIONS, "", name);
    let mut body = definition.object().clone();
    if let Some(stored) = stored {
        body["metadata"]["resourceVersion"] = json!(stored.resource_version());
    }
    let write = Write::update(&CUSTOM_RESOURCE_DEFINITIONS, body);
    let answer = side.write(&write);
    (Exchange::of("replace the definition", &write, &answer), answer.err())
}

impl Trial<'_> {
    /// A server after the rollback of the definition, with a witness from before.
    pub(crate) fn prepare(&self, witness: &Value, place: &Place, minor: u32) -> Result<Prepared, String> {
        let mut side = self.newer.clone();
        let mut exchanges = Vec::new();
        let stored = self.store(&mut side, witness, &mut exchanges).map_err(|rejection| rejection.message)?;
        let before = side.clone();
        side.set_minor(minor);
        let (exchange, rejection) = replace_definition(&mut side, self.older_definition);
        if rejection.is_some() {
            self.migrate(&mut side);
            let (exchange, rejection) = replace_definition(&mut side, self.older_definition);
            if let Some(rejection) = rejection {
                return Err(format!("the definition cannot be replaced: {}", rejection.message));
            }
            exchanges.push(exchange);
        } else {
            exchanges.push(exchange);
        }
        let read = side.read(&self.resource, stored.namespace(), stored.name());
        let edits = |is_status: bool| {
            let read = read.as_ref().filter(|_| self.version.has_status || !is_status);
            read.map(|read| self.edits(&before, read, place, is_status)).unwrap_or_default()
        };
        let (status_edits, object_edits) = (edits(true), edits(false));
        Ok(Prepared { side, stored, exchanges, status_edits, object_edits })
    }

    /// Replacements with an unrelated change, or without one, that the newer release accepts.
    fn edits(&self, before: &Side, read: &Object, place: &Place, is_status: bool) -> Vec<Write> {
        let update = if is_status { Write::update_status } else { Write::update };
        let bodies = unrelated(read, &self.version.schema, place, is_status).into_iter();
        let writes = bodies.chain([read.to_value()]).map(|body| update(&self.resource, body));
        writes.filter(|write| before.clone().write(write).is_ok()).take(EDITS_MAX).collect()
    }

    /// Creates a witness with its status, and records the requests.
    fn store(
        &self,
        side: &mut Side,
        witness: &Value,
        exchanges: &mut Vec<Exchange>,
    ) -> Result<Object, Rejection> {
        let mut body = witness.clone();
        let status =
            body.as_object_mut().filter(|_| self.newer_has_status).and_then(|fields| fields.remove("status"));
        let write = Write::create(&self.resource, body);
        let answer = side.write(&write);
        exchanges.push(Exchange::of("create the object", &write, &answer));
        let created = answer?;
        let Some(status) = status else { return Ok(created) };
        let mut whole = created.to_value();
        whole["status"] = status;
        let write = Write::update_status(&self.resource, whole);
        let answer = side.write(&write);
        exchanges.push(Exchange::of("write its status", &write, &answer));
        answer
    }

    /// Removes the stored versions that the older definition does not have, as a storage migration does.
    fn migrate(&self, side: &mut Side) {
        let versions = json!({ "status": { "storedVersions": [self.older_definition.stored_version()] } });
        let name = self.older_definition.name();
        let write = Write::merge_patch_status(&CUSTOM_RESOURCE_DEFINITIONS, "", name, versions);
        // If that is rejected, so is the next replacement, which is reported.
        let _ = side.write(&write);
    }

    /// Makes the requests of operators and users, each on a copy of the server.
    pub(crate) fn try_all(
        &self,
        side: &Side,
        prepared: &Prepared,
        witness: &Value,
        place: &Place,
    ) -> Verdict {
        let stored = &prepared.stored;
        let mut verdict = Verdict { outcome: Outcome::default(), exchanges: Vec::new(), read: None };
        let Some(read) = side.read(&self.resource, stored.namespace(), stored.name()) else {
            return self.try_unserved(side, stored, witness);
        };
        let now = get(&read, place);
        if now != get(stored, place) {
            verdict.outcome.loses_value = true;
            verdict.read = Some(now.cloned().unwrap_or(Value::Null));
        }
        verdict.outcome.blocks_status =
            is_blocked(side, &prepared.status_edits, place, true, &mut verdict.exchanges);
        verdict.outcome.blocks_edits = self.labels_are_blocked(side, &read, place, &mut verdict.exchanges)
            | is_blocked(side, &prepared.object_edits, place, false, &mut verdict.exchanges);
        verdict.outcome.blocks_creation =
            self.creation_is_blocked(side, &read, witness, place, &mut verdict.exchanges);
        verdict
    }

    /// Requests for a version that the older release does not serve.
    fn try_unserved(&self, side: &Side, stored: &Object, witness: &Value) -> Verdict {
        let path = self.resource.path(stored.namespace(), stored.name());
        let mut side = side.clone();
        let answer = side.get(&path);
        let read = Exchange::read("read it in that version", path, &answer);
        let write = Write::create(&self.resource, witness.clone());
        let answer = side.write(&write);
        let outcome = Outcome { blocks_creation: answer.is_err(), ..Outcome::default() };
        Verdict {
            outcome,
            exchanges: vec![read, Exchange::of("create it again", &write, &answer)],
            read: None,
        }
    }

    /// The request for a subresource that the older release does not have.
    pub(crate) fn try_subresource(&self, side: &Side, stored: &Object, name: &str) -> Verdict {
        let path = format!("{}/{name}", self.resource.path(stored.namespace(), stored.name()));
        let answer = side.clone().get(&path);
        let outcome = Outcome {
            blocks_status: name == "status" && answer.is_err(),
            blocks_creation: answer.is_err(),
            ..Outcome::default()
        };
        Verdict {
            outcome,
            exchanges: vec![Exchange::read("read the subresource", path, &answer)],
            read: None,
        }
    }

    /// A change of the witness that a rule of the older release rejects.
    pub(crate) fn try_change(
        &self,
        side: &Side,
        stored: &Object,
        after: &Value,
        place: &Place,
        is_status: bool,
    ) -> Verdict {
        let (write, answer) = side.clone().replace(&self.resource, is_status, stored, after);
        let section = side.unnamed_section().filter(|_| is_status);
        let is_rejected = answer.as_ref().is_err_and(|rejection| is_about(rejection, section, place));
        let outcome = Outcome { blocks_creation: is_rejected, ..Outcome::default() };
        Verdict { outcome, exchanges: vec![Exchange::of("make the change", &write, &answer)], read: None }
    }

    fn labels_are_blocked(
        &self,
        side: &Side,
        read: &Object,
        place: &Place,
        exchanges: &mut Vec<Exchange>,
    ) -> bool {
        let patch = json!({ "metadata": { "labels": { "edited": "true" } } });
        let write = Write::merge_patch(&self.resource, read.namespace(), read.name(), patch);
        let answer = side.clone().write(&write);
        exchanges.push(Exchange::of("set a label", &write, &answer));
        answer.is_err_and(|rejection| is_about(&rejection, None, place))
    }

    /// Whether the same object cannot be created again.
    fn creation_is_blocked(
        &self,
        side: &Side,
        read: &Object,
        witness: &Value,
        place: &Place,
        exchanges: &mut Vec<Exchange>,
    ) -> bool {
        let mut side = side.clone();
        side.remove(&self.resource, read);
        let mut requests = Vec::new();
        let again =
            Self { newer_has_status: self.version.has_status, resource: self.resource.clone(), ..*self };
        let answer = again.store(&mut side, &bare(witness), &mut requests);
        let Err(rejection) = answer else { return false };
        let section = if requests.len() > 1 { side.unnamed_section() } else { None };
        exchanges.extend(requests.pop().map(|exchange| Exchange { purpose: "create it again", ..exchange }));
        is_about(&rejection, section, place)
    }
}

/// Whether the server rejects replacements with an unrelated change because of the difference.
fn is_blocked(
    side: &Side,
    edits: &[Write],
    place: &Place,
    is_status: bool,
    exchanges: &mut Vec<Exchange>,
) -> bool {
    let (purpose, section) = if is_status {
        ("update the status with an unrelated change", side.unnamed_section())
    } else {
        ("update the object with an unrelated change", None)
    };
    for write in edits {
        let answer = side.clone().write(write);
        let is_aimed = answer.as_ref().err().is_some_and(|rejection| is_about(rejection, section, place));
        if answer.is_ok() || is_aimed {
            exchanges.push(Exchange::of(purpose, write, &answer));
            return is_aimed;
        }
    }
    false
}

/// Whether a rejection names the place of the difference, or one above or below it.
fn is_about(rejection: &Rejection, section: Option<&str>, place: &Place) -> bool {
    let is_near = |cause: &Cause| cause.place.is_within(place) || place.is_within(&cause.place);
    rejection.code == 422 && causes(rejection, section).iter().any(is_near)
}
