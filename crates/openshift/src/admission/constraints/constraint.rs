//! A SecurityContextConstraints object: its users and groups, and its strictness.

use std::cmp::Reverse;

use serde_json::Value;
use windtunnel_core::text::go_quote::quote;
use windtunnel_core::{Identity, name_of};

/// The weight of each privilege. A heavier one exceeds the sum of all lighter ones.
const PRIVILEGED: i64 = 1_600_000;
const HOST_PORTS: i64 = 800_000;
const HOST_NETWORK: i64 = 400_000;
const HOST_VOLUMES: i64 = 200_000;
const OTHER_VOLUMES: i64 = 100_000;
/// The base weight of capabilities and its changes. The sum is limited to [`CAPABILITIES_RANGE`].
const CAPABILITIES: i64 = 5_000;
const CAPABILITY_ADDED: i64 = 300;
const ALL_ALLOWED: i64 = 4_000;
const ONE_ALLOWED: i64 = 10;
const ALL_DROPPED: i64 = -3_000;
const ONE_DROPPED: i64 = -50;
const CAPABILITIES_RANGE: (i64, i64) = (0, 9_999);
/// Volumes without weight.
const TRIVIAL_VOLUMES: [&str; 6] = ["secret", "configMap", "emptyDir", "downwardAPI", "projected", "none"];

/// A SecurityContextConstraints object, with the values that are needed for each pod.
#[derive(Debug)]
pub(super) struct Constraint {
    pub(super) name: String,
    priority: i64,
    weight: i64,
    users: Vec<String>,
    groups: Vec<String>,
    /// The whole object.
    pub(super) object: Value,
}

impl Constraint {
    pub(super) fn from_object(object: &Value) -> Self {
        Self {
            name: name_of(object).to_owned(),
            priority: object["priority"].as_i64().unwrap_or(0),
            weight: weight(object),
            users: texts(&object["users"]).map(str::to_owned).collect(),
            groups: texts(&object["groups"]).map(str::to_owned).collect(),
            object: object.clone(),
        }
    }

    /// The sort key: the highest priority first, then the strictest, then by name.
    pub(super) fn rank(&self) -> (Reverse<i64>, i64, &str) {
        (Reverse(self.priority), self.weight, &self.name)
    }

    /// Returns whether it lists a user or one of the user's groups.
    pub(super) fn lists_user(&self, user: &Identity) -> bool {
        let is_named = |group: &str| self.groups.iter().any(|named| named == group);
        self.users.contains(&user.user) || user.all_groups().any(is_named)
    }

    /// The error for users who may not use it.
    pub(super) fn forbidden(&self) -> String {
        format!("provider {}: Forbidden: not usable by user or serviceaccount", quote(&self.name))
    }
}

/// The strings in a list.
pub(super) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn weight(object: &Value) -> i64 {
    let flags = [
        ("allowPrivilegedContainer", PRIVILEGED),
        ("allowHostPorts", HOST_PORTS),
        ("allowHostNetwork", HOST_NETWORK),
    ];
    let flags: i64 = flags.iter().filter(|(flag, _)| object[flag] == true).map(|(_, weight)| weight).sum();
    let strategies = ["runAsUser", "seLinuxContext"];
    let strategies: i64 = strategies.iter().map(|field| strategy_weight(&object[field])).sum();
    flags + volumes_weight(object) + strategies + capabilities_weight(object)
}

fn strategy_weight(strategy: &Value) -> i64 {
    match strategy["type"].as_str() {
        Some("RunAsAny") => 40_000,
        Some("MustRunAsNonRoot") => 30_000,
        Some("MustRunAsRange") => 20_000,
        Some("MustRunAs") => 10_000,
        _ => 0,
    }
}

fn volumes_weight(object: &Value) -> i64 {
    let mut volumes = texts(&object["volumes"]);
    let each = |volume: &str| match volume {
        "hostPath" | "*" => HOST_VOLUMES,
        trivial if TRIVIAL_VOLUMES.contains(&trivial) => 0,
        _ => OTHER_VOLUMES,
    };
    volumes.by_ref().map(each).max().unwrap_or(0)
}

fn capabilities_weight(object: &Value) -> i64 {
    let count = |field: &str| i64::try_from(texts(&object[field]).count()).unwrap_or(i64::MAX / 1_000);
    let has = |field: &str, all: &[&str]| {
        texts(&object[field]).any(|name| all.contains(&name.to_uppercase().as_str()))
    };
    let allowed = if has("allowedCapabilities", &["*", "ALL"]) {
        ALL_ALLOWED
    } else {
        ONE_ALLOWED * count("allowedCapabilities")
    };
    let dropped = if has("requiredDropCapabilities", &["ALL"]) {
        ALL_DROPPED
    } else {
        ONE_DROPPED * count("requiredDropCapabilities")
    };
    let sum = CAPABILITIES + CAPABILITY_ADDED * count("defaultAddCapabilities") + allowed + dropped;
    sum.clamp(CAPABILITIES_RANGE.0, CAPABILITIES_RANGE.1)
}
