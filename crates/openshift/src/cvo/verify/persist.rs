//! Keeping good signatures in the ConfigMap `signatures-managed`, where the next process finds them.

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

/// When signatures are kept.
#[derive(Debug, Clone)]
pub(super) struct Rhythm {
    next: Time,
    every: SignedDuration,
    /// Whether something was remembered since.
    pub(super) is_stale: bool,
}

impl Rhythm {
    /// At the beginning of the process, and then in these intervals.
    pub(super) fn new(every: SignedDuration, now: Time) -> Self {
        Self { next: now, every, is_stale: false }
    }

    /// Whether a time to keep signatures came, after which another one is waited for.
    fn strikes(&mut self, now: Time) -> bool {
        let strikes = self.next <= now;
        while self.next <= now {
            self.next += self.every;
        }
        strikes
    }
}

impl Verifier {
    /// When it has something to keep.
    pub(in crate::cvo) fn wake_at(&self) -> Option<Time> {
        self.kept.is_stale.then_some(self.kept.next)
    }

    /// The write that keeps what was remembered since the last one, when it is time for it.
    pub(in crate::cvo) fn persist(&mut self, view: &View, now: Time) -> Option<Write> {
        if !self.kept.strikes(now) || !std::mem::take(&mut self.kept.is_stale) {
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

    /// The last write was refused: what it held is to be kept next time.
    pub(in crate::cvo) fn not_persisted(&mut self) {
        self.kept.is_stale = true;
    }
}
