//! The certificate by which a process serves its metrics: the one that was in its pod's volume when it looked last.

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

/// How long it takes until a change of a Secret is in a volume, and the process has seen it, in seconds.
const SEEN_AFTER: (u64, u64) = (30, 90);

/// What a process serves by.
#[derive(Debug, Clone)]
pub(super) struct Serving {
    delays: Stream,
    /// The key that signed its certificate.
    signer: Option<String>,
    /// When it looks next.
    look_at: Option<Time>,
}

impl Serving {
    /// Of a process that starts now, with its volume in place.
    pub(super) fn starting(delays: Stream, now: Time) -> Self {
        Self { delays, signer: None, look_at: Some(now) }
    }

    /// The Secret.
    pub(super) fn secret() -> Key {
        SECRETS.key(NAMESPACE, CERTIFICATE)
    }

    /// Takes a change of the Secret in.
    pub(super) fn notice(&mut self, change: &Change, now: Time) {
        if self.look_at.is_none() && change.key == Self::secret() {
            let seconds = self.delays.between(SEEN_AFTER.0, SEEN_AFTER.1);
            self.look_at = Some(now + SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0)));
        }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        self.look_at
    }

    /// Looks, when it is time to; gives what who connects sees differently from then on. What was loaded once is served until
    /// there is something else.
    pub(super) fn look(&mut self, view: &View, now: Time) -> Vec<Counter> {
        if self.look_at.is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.look_at = None;
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
