//! Persists valid signatures in the ConfigMap `signatures-managed` for the next process.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CONFIG_MAPS;
use windtunnel_core::{Object, View, Write};

use super::Verifier;
use crate::signature;

const NAME: &str = "signatures-managed";

/// The schedule of writes.
#[derive(Debug, Clone)]
pub(in crate::cvo) struct PersistSchedule {
    next: Time,
    every: SignedDuration,
    /// Whether the cache has signatures that are not persisted.
    pub(in crate::cvo) is_stale: bool,
}

impl PersistSchedule {
    /// Starts now and repeats at this interval.
    pub(in crate::cvo) fn new(every: SignedDuration, now: Time) -> Self {
        Self { next: now, every, is_stale: false }
    }

    /// Returns whether a write is due, and schedules the next one.
    fn take_due(&mut self, now: Time) -> bool {
        let is_due = self.next <= now;
        while self.next <= now {
            self.next += self.every;
        }
        is_due
    }
}

impl Verifier {
    /// The time of the next write, if there is something to persist.
    pub(in crate::cvo) fn wake_at(&self) -> Option<Time> {
        self.schedule.is_stale.then_some(self.schedule.next)
    }

    /// The write of signatures that were cached since the last one, if it is due.
    pub(in crate::cvo) fn persist(&mut self, view: &View, now: Time) -> Option<Write> {
        if !self.schedule.take_due(now) || !std::mem::take(&mut self.schedule.is_stale) {
            return None;
        }
        let existing = view.get(&CONFIG_MAPS, signature::NAMESPACE, NAME);
        let mut object = existing.map_or_else(
            || {
                json!({
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": { "name": NAME, "namespace": signature::NAMESPACE },
                })
            },
            Object::to_value,
        );
        object["metadata"]["labels"][signature::LABEL] = json!("");
        for (digest, documents) in &self.verified {
            for (number, document) in (1..).zip(documents) {
                let key = format!("{}{number}", signature::key_prefix(digest));
                object["binaryData"][key] = json!(STANDARD.encode(document));
            }
        }
        Some(match existing {
            None => Write::create(&CONFIG_MAPS, object),
            Some(_) => Write::update(&CONFIG_MAPS, object),
        })
    }

    /// Schedules a retry after a rejected write.
    pub(in crate::cvo) fn not_persisted(&mut self) {
        self.schedule.is_stale = true;
    }
}
