//! The parts of a ClusterVersion that the client reads and writes.

use serde::{Serialize, Serializer};
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

use super::semantic_version::newest_first;

/// A release in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Release<'a> {
    /// Version; may be empty.
    pub(super) version: &'a str,
    /// Pull specification; may be empty.
    pub(super) image: &'a str,
    /// URL of its page; may be empty.
    pub(super) url: &'a str,
}

impl<'a> Release<'a> {
    /// Reads a release; missing fields are empty.
    pub(super) fn from_value(value: &'a Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        Self { version: text("version"), image: text("image"), url: text("url") }
    }

    /// Returns the displayed name: the version, else the image.
    pub(super) fn name(self) -> &'a str {
        [self.version, self.image].into_iter().find(|name| !name.is_empty()).unwrap_or("<unknown>")
    }

    /// Returns whether it is the same release: compares images if both have one, else versions.
    pub(super) fn is_equivalent(self, other: Self) -> bool {
        if !self.image.is_empty() && !other.image.is_empty() {
            return self.image == other.image;
        }
        !self.version.is_empty() && self.version == other.version
    }
}

/// A conditional update whose condition `Recommended` is not `True`.
#[derive(Debug, Clone)]
pub(super) struct NotRecommended<'a> {
    /// The release to update to.
    pub(super) release: Release<'a>,
    /// The condition `Recommended`.
    pub(super) recommended: Condition,
}

/// `status.desired`.
pub(super) fn desired(cluster_version: &Object) -> Release<'_> {
    Release::from_value(&cluster_version["status"]["desired"])
}

/// Returns the channels that list the current release.
pub(super) fn channels(cluster_version: &Object) -> Vec<&str> {
    cluster_version.list("/status/desired/channels").iter().filter_map(Value::as_str).collect()
}

/// Returns `status.availableUpdates` in their order.
pub(super) fn available(cluster_version: &Object) -> Vec<Release<'_>> {
    cluster_version.list("/status/availableUpdates").iter().map(Release::from_value).collect()
}

/// Returns the conditional updates that are not recommended, in their order. Updates without the condition
/// are omitted.
pub(super) fn not_recommended(cluster_version: &Object) -> Vec<NotRecommended<'_>> {
    let updates = cluster_version.list("/status/conditionalUpdates").iter();
    updates
        .filter_map(|update| {
            let recommended = recommended(update)?;
            let release = Release::from_value(&update["release"]);
            (recommended.status != "True").then_some(NotRecommended { release, recommended })
        })
        .collect()
}

/// Returns the condition `Recommended` of a conditional update.
pub(super) fn recommended(update: &Value) -> Option<Condition> {
    condition::find(update["conditions"].as_array()?, "Recommended").map(Condition::from_value)
}

/// Sorts releases, the newest first.
pub(super) fn sort(releases: &mut [Release<'_>]) {
    releases.sort_by(|a, b| newest_first(a.version, b.version));
}

/// Returns `spec.desiredUpdate.acceptRisks` unchanged; `None` if there are none.
pub(super) fn accepted_risks(cluster_version: &Object) -> Option<&Value> {
    let risks = &cluster_version["spec"]["desiredUpdate"]["acceptRisks"];
    risks.as_array().is_some_and(|risks| !risks.is_empty()).then_some(risks)
}

/// `spec.desiredUpdate` as the client sends it: with every field, so that previous values are reset, but with
/// risks only if there are any.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Update<'a> {
    /// `Multi`, or empty.
    pub(super) architecture: &'a str,
    /// Version; may be empty.
    pub(super) version: &'a str,
    /// Pull specification; may be empty.
    pub(super) image: &'a str,
    /// Whether to skip the cluster-version operator's own checks.
    pub(super) force: bool,
    /// The accepted risks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accept_risks: Option<&'a Value>,
    /// Whether only to check the update.
    #[serde(skip_serializing_if = "Mode::is_kept")]
    pub(super) mode: Mode,
}

/// The mode of an update in a merge patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// There is no mode, and none is requested.
    #[default]
    Kept,
    /// The update is only checked.
    Preflight,
    /// An earlier preflight check ends.
    Reset,
}

impl Mode {
    /// Returns whether a patch omits it. The borrow is that of serde.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_kept(&self) -> bool {
        *self == Self::Kept
    }

    /// The mode of an update that is started or cancelled.
    pub(super) fn without_preflight(cluster_version: &Object) -> Self {
        if is_preflight(cluster_version) { Self::Reset } else { Self::Kept }
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Preflight => serializer.serialize_str("Preflight"),
            Self::Kept | Self::Reset => serializer.serialize_none(),
        }
    }
}

/// Returns whether the spec requests a preflight check.
pub(super) fn is_preflight(cluster_version: &Object) -> bool {
    cluster_version.text("/spec/desiredUpdate/mode") == "Preflight"
}

impl Update<'_> {
    pub(super) fn json(self) -> String {
        // Serialization fails only for maps whose keys are no strings.
        serde_json::to_string(&self).unwrap_or_default()
    }
}
