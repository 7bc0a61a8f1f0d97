//! A sequence of events around a cluster-version operator, as in `tests/operator/sequences.yaml`.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windtunnel_core::yaml;

use crate::recordings::ours;

/// A sequence: the releases that exist, and what happens after the installation of the first one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sequence {
    /// The name, which is also that of its recording.
    pub(super) name: String,
    /// The releases by version, in addition to the two that every sequence has.
    #[serde(default)]
    pub(super) releases: BTreeMap<String, Content>,
    /// The spec of the ClusterVersion during installation, besides its clusterID.
    #[serde(default)]
    pub(super) spec: Value,
    /// The versions whose images nobody signed.
    #[serde(default)]
    pub(super) unsigned: Vec<String>,
    /// What happens, in order.
    pub(super) steps: Vec<Event>,
}

/// What the payload of a release has besides that of every release.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Content {
    /// More files, or other contents of them; null for a file that the payload does not have.
    pub(super) files: BTreeMap<String, Option<String>>,
    /// Fields of its `release-metadata`.
    pub(super) metadata: Value,
}

/// One event.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Event {
    /// Nothing, for this number of seconds.
    Wait(u64),
    /// A merge patch of the ClusterVersion. `image` in `desiredUpdate` may be a version.
    ClusterVersion(Value),
    /// All operators but these report a version.
    Operators {
        version: String,
        #[serde(default)]
        except: Vec<String>,
    },
    /// A condition of one operator changes, or it reports a version.
    Operator {
        name: String,
        #[serde(default)]
        condition: Option<Value>,
        #[serde(default)]
        version: Option<String>,
    },
    /// An object is created, or replaced by a merge patch.
    Apply(Value),
    /// An object is deleted.
    Delete(Value),
    /// The end of the next version pods.
    Retrieval(Retrieval),
    /// The process gets SIGTERM, and one with the payload of this version starts when it is gone.
    Restart(String),
    /// The process is killed, and one with the payload of this version starts.
    Kill(String),
}

/// How a version pod ends.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Retrieval {
    /// The payload is on the machine after two seconds.
    #[default]
    Succeeds,
    /// The pod stays pending.
    Waits,
    /// The pod gets this status after two seconds.
    Status(Value),
}

/// All sequences, in order.
pub(super) fn all() -> Vec<Sequence> {
    let text = fs::read_to_string(ours("operator/sequences.yaml")).unwrap();
    let value: Value = yaml::from_str(&text).unwrap_or_else(|error| panic!("sequences.yaml:{error}"));
    serde_json::from_value(value).unwrap_or_else(|error| panic!("sequences.yaml: {error}"))
}
