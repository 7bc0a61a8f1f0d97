//! Reports pools whose pause keeps the CA of kubelets from their nodes.
//!
//! The kube-apiserver operator replaces the certificate that signs the clients of kubelets before it expires. In 4.11 and
//! 4.12 a paused pool does not get the new bundle. Windtunnel does not render the bundle, so the pool is not behind.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use windtunnel_controllers::counter::Counter;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, after, parse_rfc3339};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIG_POOLS};
use windtunnel_core::{Object, View, pool};

use super::controller_line;
use crate::manifests::MajorMinor;

/// The minors whose controller reports this.
const FIRST: MajorMinor = (4, 11);
const LAST: MajorMinor = (4, 12);

/// How long a signing certificate is used, and how long it is valid (`kube-apiserver-to-kubelet-signer` in OpenShift's
/// documentation of certificates: renewed after 292 days, removed after 365).
const USED: SignedDuration = SignedDuration::from_hours(24 * 292);
const VALID: SignedDuration = SignedDuration::from_hours(24 * 365);

const NAME: &str = "machine-config-controller/paused-certificates";

/// The metric of paused pools that block a rotation: when the old certificate expires, or 0.
pub(crate) const PAUSED_CERTIFICATES: &str = "machine_config_controller_paused_pool_kubelet_ca";

/// The part of the node controller that reports blocked rotations.
#[derive(Debug, Clone, Default)]
pub(super) struct PausedCertificates {
    /// When each paused pool was paused. A pool that was paused before the first step counts from that on.
    paused: BTreeMap<String, Time>,
    blocking: BTreeSet<String>,
}

impl PausedCertificates {
    fn notice(&mut self, view: &View, now: Time) {
        let paused: BTreeSet<&str> = view
            .list(&MACHINE_CONFIG_POOLS)
            .filter(|object| pool::is_paused(object))
            .map(Object::name)
            .collect();
        self.paused.retain(|name, _| paused.contains(name.as_str()));
        for name in paused {
            self.paused.entry(name.to_owned()).or_insert(now);
        }
    }

    /// The pools that block the certificate that is used now, with the expiry of theirs.
    fn blocked(&self, view: &View, now: Time) -> BTreeMap<String, Time> {
        let Some(born) = born(view).filter(|_| (FIRST..=LAST).contains(&controller_line(view))) else {
            return BTreeMap::new();
        };
        let current = signed_at(born, now);
        let signed = self.paused.iter().map(|(name, since)| (name, signed_at(born, *since)));
        signed.filter(|(_, at)| *at < current).map(|(name, at)| (name.clone(), after(at, VALID))).collect()
    }

    fn report(&mut self, blocked: &BTreeMap<String, Time>) -> Vec<Effect> {
        let freed: Vec<String> =
            self.blocking.iter().filter(|name| !blocked.contains_key(*name)).cloned().collect();
        let mut effects: Vec<Effect> = freed.iter().map(|name| count(name, 0)).collect();
        self.blocking.retain(|name| !freed.contains(name));
        for (name, expires) in blocked {
            if self.blocking.insert(name.clone()) {
                effects.push(count(name, u64::try_from(expires.as_second()).unwrap_or_default()));
            }
        }
        effects
    }
}

fn count(pool: &str, count: u64) -> Effect {
    let labels = BTreeMap::from([("pool".to_owned(), pool.to_owned())]);
    Effect::Count(Counter { by: NAME.to_owned(), metric: PAUSED_CERTIFICATES, labels, count })
}

/// The creation of the cluster, and so of its first certificates.
fn born(view: &View) -> Option<Time> {
    parse_rfc3339(view.cluster_version()?.text("/metadata/creationTimestamp"))
}

/// When the certificate that is used at a moment was made.
fn signed_at(born: Time, at: Time) -> Time {
    let uses = at.duration_since(born).as_secs().max(0) / USED.as_secs();
    after(born, SignedDuration::from_secs(USED.as_secs() * uses))
}

impl Actor for PausedCertificates {
    fn name(&self) -> &'static str {
        NAME
    }

    fn identity(&self) -> Identity {
        super::controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        [MACHINE_CONFIG_POOLS, CONTROLLER_CONFIGS].map(Interest::Kind).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input.view, input.now);
        let blocked = self.blocked(input.view, input.now);
        let waits = self.paused.keys().any(|name| !blocked.contains_key(name))
            && (FIRST..=LAST).contains(&controller_line(input.view));
        let next = born(input.view).map(|born| after(signed_at(born, input.now), USED));
        Step { wake_at: next.filter(|_| waits), effects: self.report(&blocked), ..Step::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::clock::rfc3339;
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_core::{Change, ChangeKind, Object, Resource};

    use super::*;

    const BORN: Time = Time::constant(1_704_067_200, 0);

    fn put(view: &mut View, resource: &Resource, name: &str, mut object: Value) {
        object["metadata"]["name"] = json!(name);
        object["metadata"]["creationTimestamp"] = json!(rfc3339(BORN));
        let (key, object) = (resource.key("", name), Object::new(object));
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }

    fn cluster(version: &str, paused: bool) -> View {
        let mut view = View::default();
        put(&mut view, &CLUSTER_VERSIONS, "version", json!({}));
        let annotations = json!({ super::super::annotations::RELEASE_VERSION: version });
        let config = json!({ "metadata": { "annotations": annotations } });
        put(&mut view, &CONTROLLER_CONFIGS, super::super::CONTROLLER_CONFIG, config);
        put(&mut view, &MACHINE_CONFIG_POOLS, "worker", json!({ "spec": { "paused": paused } }));
        put(&mut view, &MACHINE_CONFIG_POOLS, "master", json!({ "spec": {} }));
        view
    }

    #[test]
    fn a_pool_that_is_paused_during_a_rotation_blocks_it_in_minors_that_report_it() {
        let at = |days: i64| after(BORN, SignedDuration::from_hours(24 * days));
        let blocked = |version: &str, paused_on: i64, day: i64| {
            let (view, mut actor) = (cluster(version, true), PausedCertificates::default());
            actor.notice(&view, at(paused_on));
            actor.blocked(&view, at(day))
        };
        assert_eq!(blocked("4.12.20", 10, 293), BTreeMap::from([("worker".to_owned(), at(365))]));
        assert_eq!(blocked("4.11.20", 300, 600), BTreeMap::from([("worker".to_owned(), at(292 + 365))]));
        for (version, paused_on, day) in
            [("4.12.20", 10, 291), ("4.12.20", 293, 400), ("4.10.20", 10, 300), ("4.13.20", 10, 300)]
        {
            assert!(blocked(version, paused_on, day).is_empty(), "{version} {paused_on} {day}");
        }
    }

    #[test]
    fn the_metric_is_zero_again_after_the_pause() {
        let mut actor = PausedCertificates::default();
        let blocked = BTreeMap::from([("worker".to_owned(), BORN)]);
        let counts = |effects: Vec<Effect>| -> Vec<u64> {
            let counts = effects.into_iter().filter_map(|effect| match effect {
                Effect::Count(counter) => Some(counter.count),
                _ => None,
            });
            counts.collect()
        };
        assert_eq!(counts(actor.report(&blocked)), [1_704_067_200]);
        assert_eq!(counts(actor.report(&blocked)), [0_u64; 0]);
        assert_eq!(counts(actor.report(&BTreeMap::new())), [0]);
    }
}
