//! The lock objects of leader election: the Lease, and up to 4.14 a ConfigMap of the same name.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONFIG_MAPS, LEASES};
use windtunnel_core::{Object, View, Write};

use super::NAMESPACE;

const NAME: &str = "version";
/// The annotation with the lock record of a ConfigMap.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// The leader if the two objects disagree.
const UNKNOWN: &str = "leaderelection.k8s.io/unknown";

/// The objects that a release's operator locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cvo) enum Locks {
    /// The ConfigMap (up to 4.10).
    ConfigMap,
    /// The ConfigMap and the Lease (`configmapsleases`, 4.11 to 4.14).
    Both,
    /// The Lease (from 4.15).
    Lease,
}

impl Locks {
    /// Whether it locks the ConfigMap.
    pub(in crate::cvo) fn has_config_map(self) -> bool {
        self != Self::Lease
    }

    /// Whether it locks the Lease.
    pub(in crate::cvo) fn has_lease(self) -> bool {
        self != Self::ConfigMap
    }
}

/// The record in a lock.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// The leader's identity, or empty.
    pub(super) holder: String,
    /// How long the lock is valid after a renewal, in seconds.
    pub(super) seconds: i64,
    /// Since when the holder is the leader.
    pub(super) acquired: String,
    /// The last renewal.
    pub(super) renewed: String,
    /// How often the holder changed.
    pub(super) transitions: i64,
    /// The whole record, to detect changes.
    pub(super) raw: Value,
}

/// Reads the locks. `None` if none of them exists yet. A lock that an operator of another release did not
/// create is left out.
pub(super) fn current(view: &View, locks: Locks) -> Option<Record> {
    let lease = locks.has_lease().then(|| in_lease(view)).flatten();
    let map = locks.has_config_map().then(|| in_config_map(view)).flatten();
    match (lease, map) {
        (Some(mut record), Some(other)) => {
            if record.holder != other.holder {
                UNKNOWN.clone_into(&mut record.holder);
            }
            record.raw = json!([record.raw, other.raw]);
            Some(record)
        }
        (one, other) => one.or(other),
    }
}

/// The record in the Lease.
fn in_lease(view: &View) -> Option<Record> {
    let lease = view.get(&LEASES, NAMESPACE, NAME)?;
    Some(Record {
        holder: lease.text("/spec/holderIdentity").to_owned(),
        seconds: lease.number("/spec/leaseDurationSeconds").unwrap_or(0),
        acquired: lease.text("/spec/acquireTime").to_owned(),
        renewed: lease.text("/spec/renewTime").to_owned(),
        transitions: lease.number("/spec/leaseTransitions").unwrap_or(0),
        raw: lease["spec"].clone(),
    })
}

/// The record in the ConfigMap.
fn in_config_map(view: &View) -> Option<Record> {
    let map = view.get(&CONFIG_MAPS, NAMESPACE, NAME)?;
    let raw: Value = serde_json::from_str(map["metadata"]["annotations"][LEADER].as_str()?).ok()?;
    let text = |field: &str| raw[field].as_str().unwrap_or_default().to_owned();
    let number = |field: &str| raw[field].as_i64().unwrap_or(0);
    Some(Record {
        holder: text("holderIdentity"),
        seconds: number("leaseDurationSeconds"),
        acquired: text("acquireTime"),
        renewed: text("renewTime"),
        transitions: number("leaderTransitions"),
        raw,
    })
}

/// The writes that store a record in the locks.
pub(super) fn writes(view: &View, record: &Record, locks: Locks) -> Vec<Write> {
    let config_map =
        locks.has_config_map().then(|| config_map(view.get(&CONFIG_MAPS, NAMESPACE, NAME), record));
    let lease = locks.has_lease().then(|| lease(view.get(&LEASES, NAMESPACE, NAME), record));
    config_map.into_iter().chain(lease).collect()
}

fn lease(existing: Option<&Object>, record: &Record) -> Write {
    let mut object = existing.map_or_else(|| new("coordination.k8s.io/v1", "Lease"), Object::to_value);
    for (field, value) in [
        ("holderIdentity", json!(record.holder)),
        ("leaseDurationSeconds", json!(record.seconds)),
        ("acquireTime", json!(record.acquired)),
        ("renewTime", json!(record.renewed)),
        ("leaseTransitions", json!(record.transitions)),
    ] {
        object["spec"][field] = value;
    }
    match existing {
        None => Write::create(&LEASES, object),
        Some(_) => Write::update(&LEASES, object),
    }
}

fn config_map(existing: Option<&Object>, record: &Record) -> Write {
    let mut object = existing.map_or_else(|| new("v1", "ConfigMap"), Object::to_value);
    // The record in the ConfigMap has times in whole seconds.
    let whole = |time: &str| format!("{}Z", time.split(['.', 'Z']).next().unwrap_or_default());
    let leader = json!({
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": whole(&record.acquired),
        "renewTime": whole(&record.renewed),
        "leaderTransitions": record.transitions,
    });
    object["metadata"]["annotations"][LEADER] = json!(leader.to_string());
    match existing {
        None => Write::create(&CONFIG_MAPS, object),
        Some(_) => Write::update(&CONFIG_MAPS, object),
    }
}

fn new(api_version: &str, kind: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": NAME, "namespace": NAMESPACE },
    })
}
