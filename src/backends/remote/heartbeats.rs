//! Keeps the Leases of simulated nodes fresh on the wall clock, which a real node lifecycle controller uses.
//! Kubelets renew them in cluster time, which a slow server makes slower than requested.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Clock, Time, after, parse_rfc3339, rfc3339_micro};
use windtunnel_core::resources::LEASES;

use super::marks::stamp::RUN;
use super::wire::{Wire, request};

/// The namespace of the Leases of nodes.
const NAMESPACE: &str = "kube-node-lease";
/// The interval of checks of Leases, and of renewals by kubelets, on the wall clock.
const EVERY: Duration = Duration::from_secs(10);
const RENEWED_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// The last renewals of the Lease of each node.
#[derive(Debug, Default)]
struct Heartbeats(BTreeMap<String, Heartbeat>);

#[derive(Debug, Default)]
struct Heartbeat {
    /// The last renewal by the kubelet, in cluster time.
    renewed: Time,
    /// The last `renewTime` that this module wrote.
    written: Option<Time>,
}

/// Keeps the Leases of a run fresh until the connection ends. In cluster time, its kubelets renew them
/// `speed` times less often than real ones.
pub(crate) fn start(wire: &Arc<Wire>, run: &str, speed: i32, clock: Arc<dyn Clock>) {
    let path = format!("{}?labelSelector={RUN}%3D{run}", LEASES.path(NAMESPACE, ""));
    wire.handle().spawn(keep_fresh(Arc::downgrade(wire), path, speed, clock));
}

async fn keep_fresh(wire: Weak<Wire>, path: String, speed: i32, clock: Arc<dyn Clock>) {
    let mut heartbeats = Heartbeats::default();
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(wire) = wire.upgrade().filter(|wire| wire.lost().is_none()) else { return };
        // A failed list or patch is repeated in the next round.
        let Ok(list) = wire.read(&path).await.checked() else { continue };
        for lease in list["items"].as_array().into_iter().flatten() {
            let Some(patch) = heartbeats.renewal(lease, clock.now(), speed) else { continue };
            let own = LEASES.path(NAMESPACE, lease["metadata"]["name"].as_str().unwrap_or_default());
            let media = "application/merge-patch+json";
            let Ok(request) = request(Method::PATCH, &own, Some((media, &patch)), None) else { continue };
            let _ = wire.ask(request).await;
        }
    }
}

impl Heartbeats {
    /// Returns the patch that keeps a Lease fresh at this cluster time. `None` once the kubelet should have
    /// renewed it, which means that the kubelet has stopped.
    fn renewal(&mut self, lease: &Value, now: Time, speed: i32) -> Option<Value> {
        let metadata = &lease["metadata"];
        let time = parse_rfc3339(lease["spec"]["renewTime"].as_str()?)?;
        let heartbeat = self.0.entry(metadata["name"].as_str()?.to_owned()).or_default();
        if heartbeat.written != Some(time) {
            heartbeat.renewed = time;
        }
        if now > after(heartbeat.renewed, RENEWED_EVERY.saturating_mul(speed.max(1))) {
            return None;
        }
        // The controller checks whether the time changes. It must stay before the kubelet's next renewal.
        let next = after(time, SignedDuration::from_micros(1));
        heartbeat.written = Some(next);
        let version = &metadata["resourceVersion"];
        Some(
            json!({ "metadata": { "resourceVersion": version }, "spec": { "renewTime": rfc3339_micro(next) } }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_lease_fresh_until_its_kubelet_misses_a_renewal() {
        let at = |seconds: i64| Time::from_second(1_000_000 + seconds).unwrap();
        let lease = |renewed: Time| {
            json!({
                "metadata": { "name": "worker-0", "resourceVersion": "7" },
                "spec": { "renewTime": rfc3339_micro(renewed) },
            })
        };
        let mut heartbeats = Heartbeats::default();
        let patch = heartbeats.renewal(&lease(at(0)), at(50), 60).unwrap();
        let next = after(at(0), SignedDuration::from_micros(1));
        let expected =
            json!({ "metadata": { "resourceVersion": "7" }, "spec": { "renewTime": rfc3339_micro(next) } });
        assert_eq!(patch, expected);
        assert!(heartbeats.renewal(&lease(next), at(600), 60).is_some(), "ten seconds on the wall");
        let written = after(next, SignedDuration::from_micros(1));
        assert!(heartbeats.renewal(&lease(written), at(601), 60).is_none(), "the kubelet is silent");
        assert!(heartbeats.renewal(&lease(at(700)), at(710), 60).is_some(), "it is back");
    }
}
