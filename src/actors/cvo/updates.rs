//! What the update service offers: `status.availableUpdates` and the condition RetrievedUpdates.

use semver::Version;
use serde_json::Value;

use crate::model::Object;
use crate::model::condition::Condition;
use crate::model::release::Release;
use crate::model::world::World;

/// What one look at the update service came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Updates {
    /// Releases to update to, newest first; `Null` for none.
    pub(super) available: Value,
    /// RetrievedUpdates.
    pub(super) condition: Condition,
}

/// Asks the update service for updates from `current` in the channel that spec names.
pub(super) fn retrieve(world: &World, cluster_version: &Object, current: &Release) -> Updates {
    if cluster_version.text("/spec/channel").is_empty() {
        let message = "The update channel has not been configured.";
        let condition = Condition::new("RetrievedUpdates", "False", "NoChannel", message);
        return Updates { available: Value::Null, condition };
    }
    let mut targets: Vec<&Release> = world
        .recommended
        .iter()
        .filter(|version| is_ahead(version, &current.version))
        .filter_map(|version| world.releases.get(version))
        .collect();
    targets.sort_by(|a, b| b.version.cmp(&a.version));
    let list: Vec<Value> = targets.into_iter().map(Release::as_status).collect();
    Updates {
        available: if list.is_empty() { Value::Null } else { Value::Array(list) },
        condition: Condition::new("RetrievedUpdates", "True", "", ""),
    }
}

/// Update graphs lead to later releases of the same or the next minor.
fn is_ahead(target: &Version, current: &Version) -> bool {
    target > current && target.major == current.major && target.minor <= current.minor + 1
}
