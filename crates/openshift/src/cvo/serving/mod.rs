//! The serving certificate of a process's metrics endpoint, which it reloads from its pod's volume.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_controllers::counter::Counter;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::rng::Stream;
use windtunnel_core::{Change, Key, View};

use super::NAME;
use super::lease::NAMESPACE;
use crate::certificate::Certificate;
use crate::monitoring::{CERTIFICATE, SERVING_CERTIFICATE};

/// Seconds until a changed Secret has reached the volume and the process has reloaded it.
const RELOAD_DELAY_SECONDS: (u64, u64) = (30, 90);

#[derive(Debug, Clone)]
pub(super) struct Serving {
    delays: Stream,
    /// The key that signed the current certificate.
    signer: Option<String>,
    /// When the process reloads the volume next.
    reload_at: Option<Time>,
}

impl Serving {
    /// The state of a process that starts with its volume mounted.
    pub(super) fn starting(delays: Stream, now: Time) -> Self {
        Self { delays, signer: None, reload_at: Some(now) }
    }

    /// The key of the Secret with the certificate.
    pub(super) fn secret() -> Key {
        SECRETS.key(NAMESPACE, CERTIFICATE)
    }

    /// Schedules a reload when the Secret changes.
    pub(super) fn notice(&mut self, change: &Change, now: Time) {
        if self.reload_at.is_none() && change.key == Self::secret() {
            let seconds = self.delays.between(RELOAD_DELAY_SECONDS.0, RELOAD_DELAY_SECONDS.1);
            self.reload_at = Some(now + SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0)));
        }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        self.reload_at
    }

    /// Reloads the certificate if a reload is due. Returns the counters that changed for clients that
    /// connect. Without a new certificate the old one stays in use.
    pub(super) fn reload_if_due(&mut self, view: &View, now: Time) -> Vec<Counter> {
        if self.reload_at.is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.reload_at = None;
        let Some(found) = view.get_key(&Self::secret()).and_then(|secret| Certificate::in_secret(secret))
        else {
            return Vec::new();
        };
        if self.signer.as_ref() == Some(&found.signed_by) {
            return Vec::new();
        }
        let before = self.signer.replace(found.signed_by.clone());
        before.map(|signer| served(signer, 0)).into_iter().chain([served(found.signed_by, 1)]).collect()
    }
}

fn served(signer: String, count: u64) -> Counter {
    let labels = BTreeMap::from([("signer".to_owned(), signer)]);
    Counter { by: NAME.to_owned(), metric: SERVING_CERTIFICATE, labels, count }
}
