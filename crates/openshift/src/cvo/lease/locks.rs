//! The lock objects of leader election: the Lease, and up to 4.14 also a ConfigMap of the same name.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONFIG_MAPS, LEASES};
use windtunnel_core::{Object, View, Write};

use super::NAMESPACE;

const NAME: &str = "version";
/// The annotation with the lock record of a ConfigMap.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// The leader if the two objects disagree.
const UNKNOWN: &str = "leaderelection.k8s.io/unknown";

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

/// Reads the locks. `None` if there is no Lease yet.
pub(super) fn current(view: &View, with_config_map: bool) -> Option<Record> {
    let lease = view.get(&LEASES, NAMESPACE, NAME)?;
    let mut record = Record {
        holder: lease.text("/spec/holderIdentity").to_owned(),
        seconds: lease.number("/spec/leaseDurationSeconds").unwrap_or(0),
        acquired: lease.text("/spec/acquireTime").to_owned(),
        renewed: lease.text("/spec/renewTime").to_owned(),
        transitions: lease.number("/spec/leaseTransitions").unwrap_or(0),
        raw: lease["spec"].clone(),
    };
    if let Some(config_map_record) = with_config_map.then(|| annotated(view)).flatten() {
        if config_map_record["holderIdentity"] != record.holder.as_str() {
            UNKNOWN.clone_into(&mut record.holder);
        }
        record.raw = json!([record.raw, config_map_record]);
    }
    Some(record)
}

/// The record in the ConfigMap.
fn annotated(view: &View) -> Option<Value> {
    let map = view.get(&CONFIG_MAPS, NAMESPACE, NAME)?;
    serde_json::from_str(map["metadata"]["annotations"][LEADER].as_str()?).ok()
}

/// The writes that store a record in the locks.
pub(super) fn writes(view: &View, record: &Record, with_config_map: bool) -> Vec<Write> {
    let config_map = with_config_map.then(|| config_map(view.get(&CONFIG_MAPS, NAMESPACE, NAME), record));
    config_map.into_iter().chain([lease(view.get(&LEASES, NAMESPACE, NAME), record)]).collect()
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
