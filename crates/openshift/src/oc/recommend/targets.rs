//! The possible updates of a cluster, by minor.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::cluster_version::desired_version;
use windtunnel_core::condition::Condition;

use crate::oc::cluster_version::{Release, recommended};
use crate::oc::conditions;
use crate::oc::semantic_version::{self, newest_first};

/// An update: a conditional one, or an available one in the form of a conditional one without risks.
#[derive(Debug)]
pub(super) struct Target(Value);

impl Target {
    /// Returns the release to update to.
    pub(super) fn release(&self) -> Release<'_> {
        Release::from_value(&self.0["release"])
    }

    fn risks(&self) -> &[Value] {
        self.0["risks"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the reason against the update, if there is one. An update with risks needs a condition
    /// `Recommended=True`.
    pub(super) fn not_recommended(&self) -> Option<Condition> {
        if self.risks().is_empty() {
            return None;
        }
        if let Some(found) = recommended(&self.0) {
            return (found.status != "True").then_some(found);
        }
        // The client lists each risk twice, the first time without a name.
        let mut names = vec![""; self.risks().len()];
        names.extend(self.risks().iter().filter_map(|risk| risk["name"].as_str()));
        names.sort_unstable();
        let (version, names) = (self.release().version, names.join(", "));
        let message = format!("Conditional update to {version} has risks ({names}), but no conditions.");
        Some(Condition::new("Recommended", "Unknown", "NoConditions", message))
    }

    /// Adds the message of `Upgradeable=False` as a risk, unless one of the risks has it already.
    fn add(&mut self, upgradeable: &Condition) {
        let has_message = |risk: &Value| {
            risk["message"].as_str().is_some_and(|message| message.contains(&upgradeable.message))
        };
        if self.risks().iter().any(has_message) {
            return;
        }
        let (reason, message) = match recommended(&self.0).filter(|found| found.status != "True") {
            None => (upgradeable.reason.clone(), upgradeable.message.clone()),
            Some(old) => {
                ("MultipleReasons".to_owned(), format!("{}\n\n{}", upgradeable.message, old.message))
            }
        };
        let mut risks = self.risks().to_vec();
        risks.push(json!({ "name": "UpgradeableFalse", "message": upgradeable.message }));
        self.0["risks"] = Value::Array(risks);
        self.0["conditions"] = json!([
            { "type": "Recommended", "status": "False", "reason": reason, "message": message },
        ]);
    }
}

/// Updates by minor, each with its newest release first.
#[derive(Debug, Default)]
pub(super) struct Targets(BTreeMap<(u64, u64), Vec<Target>>);

impl Targets {
    /// Reads the updates of a ClusterVersion. Also returns warnings about those with invalid versions.
    pub(super) fn from_cluster_version(cluster_version: &Object) -> (Self, String) {
        let (mut targets, mut warnings) = (Self::default(), String::new());
        let conditional = cluster_version.list("/status/conditionalUpdates");
        let is_conditional =
            |update: &&Value| conditional.iter().any(|other| other["release"]["image"] == update["image"]);
        let available = cluster_version.list("/status/availableUpdates").iter();
        let available = available.filter(|update| !is_conditional(update));
        let available = available.map(|update| json!({ "release": update }));
        for target in conditional.iter().cloned().chain(available).map(Target) {
            let version = target.release().version;
            match semantic_version::parse(version) {
                Ok(version) => {
                    targets.0.entry((version.major, version.minor)).or_default().push(target);
                }
                Err(error) => {
                    warnings +=
                        &format!("warning: Cannot parse SemVer available update {version:?}: {error}");
                }
            }
        }
        let version = |target: &Target| target.release().version.to_owned();
        for releases in targets.0.values_mut() {
            releases.sort_by(|a, b| newest_first(&version(a), &version(b)));
        }
        targets.judge(cluster_version, &mut warnings);
        (targets, warnings)
    }

    /// Adds `Upgradeable=False` as a risk of updates to later minors.
    fn judge(&mut self, cluster_version: &Object, warnings: &mut String) {
        let found = conditions::find(cluster_version, "Upgradeable");
        let Some(upgradeable) = found.filter(|found| found.status == "False") else { return };
        let version = desired_version(cluster_version);
        match semantic_version::parse(version) {
            Ok(current) => {
                let later = self.0.range_mut((current.major, current.minor + 1)..);
                later.flat_map(|(_, targets)| targets).for_each(|target| target.add(&upgradeable));
            }
            Err(error) => {
                *warnings += &format!(
                    "warning: Cannot inject Upgradeable=False as a conditional update risk: cannot parse SemVer version {version:?}: {error}\n\nReason: {}\n  Message: {}\n\n",
                    upgradeable.reason,
                    conditions::indented(&upgradeable.message)
                );
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the minors, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = ((u64, u64), &[Target])> {
        self.0.iter().rev().map(|(minor, targets)| (*minor, targets.as_slice()))
    }

    /// Returns the update to a version, or the reason why there is none.
    pub(super) fn find(&self, version: &Version) -> Result<&Target, String> {
        let (major, minor) = (version.major, version.minor);
        let nothing = "so cannot display context for the requested release";
        let Some(targets) = self.0.get(&(major, minor)) else {
            return Err(if self.0.is_empty() {
                format!("no updates available, {nothing} {version}")
            } else if self.0.keys().any(|(known, _)| *known == major) {
                format!("no updates to {major}.{minor} available, {nothing} {version}")
            } else {
                format!("no updates to {major} available, {nothing} {version}")
            });
        };
        let text = version.to_string();
        let found = targets.iter().find(|target| target.release().version == text);
        found.ok_or_else(|| format!("no update to {version} available, {nothing}"))
    }
}
