//! What the client reads in a ClusterVersion.

use serde::Serialize;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;

use super::semantic_version::newest_first;

/// A release in status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Release<'a> {
    /// Version; may be empty.
    pub(super) version: &'a str,
    /// Pull specification; may be empty.
    pub(super) image: &'a str,
    /// Page of it; may be empty.
    pub(super) url: &'a str,
}

impl<'a> Release<'a> {
    /// Reads a release; missing fields are empty.
    pub(super) fn read(value: &'a Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        Self { version: text("version"), image: text("image"), url: text("url") }
    }

    /// What it is called: by its version, else by its image.
    pub(super) fn name(self) -> &'a str {
        [self.version, self.image].into_iter().find(|name| !name.is_empty()).unwrap_or("<unknown>")
    }

    /// Whether it is what was asked for: images count where both have one, else versions.
    pub(super) fn is_equivalent(self, other: Self) -> bool {
        if !self.image.is_empty() && !other.image.is_empty() {
            return self.image == other.image;
        }
        !self.version.is_empty() && self.version == other.version
    }
}

/// A conditional update that its condition Recommended speaks against.
#[derive(Debug, Clone)]
pub(super) struct NotRecommended<'a> {
    /// Where it leads.
    pub(super) release: Release<'a>,
    /// Recommended, which is not True.
    pub(super) recommended: Condition,
}

/// `status.desired`.
pub(super) fn desired(cluster_version: &Object) -> Release<'_> {
    Release::read(&cluster_version["status"]["desired"])
}

/// Channels that list the current release.
pub(super) fn channels(cluster_version: &Object) -> Vec<&str> {
    cluster_version.list("/status/desired/channels").iter().filter_map(Value::as_str).collect()
}

/// `status.availableUpdates` as they stand there.
pub(super) fn available(cluster_version: &Object) -> Vec<Release<'_>> {
    cluster_version.list("/status/availableUpdates").iter().map(Release::read).collect()
}

/// Conditional updates that are not recommended, as they stand there. Those without the condition are none of them.
pub(super) fn not_recommended(cluster_version: &Object) -> Vec<NotRecommended<'_>> {
    let updates = cluster_version.list("/status/conditionalUpdates").iter();
    updates
        .filter_map(|update| {
            let recommended = recommended(update)?;
            let release = Release::read(&update["release"]);
            (recommended.status != "True").then_some(NotRecommended { release, recommended })
        })
        .collect()
}

/// The condition Recommended of a conditional update.
pub(super) fn recommended(update: &Value) -> Option<Condition> {
    condition::find(update["conditions"].as_array()?, "Recommended").map(Condition::read)
}

/// Sorts releases, the newest first.
pub(super) fn sort(releases: &mut [Release<'_>]) {
    releases.sort_by(|a, b| newest_first(a.version, b.version));
}

/// `spec.desiredUpdate.acceptRisks` as it stands there; `None`: there are none.
pub(super) fn accepted_risks(cluster_version: &Object) -> Option<&Value> {
    let risks = &cluster_version["spec"]["desiredUpdate"]["acceptRisks"];
    risks.as_array().is_some_and(|risks| !risks.is_empty()).then_some(risks)
}

/// `spec.desiredUpdate` as the client sends it: every field always, so that what stood there before is reset, but risks
/// only where there are some.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Update<'a> {
    /// `Multi`, or empty.
    pub(super) architecture: &'a str,
    /// Version; may be empty.
    pub(super) version: &'a str,
    /// Pull specification; may be empty.
    pub(super) image: &'a str,
    /// Whether the operator's own guards are waived.
    pub(super) force: bool,
    /// Risks that are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accept_risks: Option<&'a Value>,
}

impl Update<'_> {
    /// The update as JSON.
    pub(super) fn json(self) -> String {
        // Only maps with keys that are no texts fail.
        serde_json::to_string(&self).unwrap_or_default()
    }
}
