//! AgenticRuns (OTA-1966): one request per available update to assess its risks, with readiness data of the
//! cluster. The operator creates them from 4.23 on, in clusters with a preview feature set and the AgenticRun
//! CustomResourceDefinition.

mod readiness;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{AGENTIC_RUNS, CUSTOM_RESOURCE_DEFINITIONS, FEATURE_GATES};
use windtunnel_core::{Object, View, Write, condition};

use super::outbox::{Outbox, Purpose};
use super::updates::Updates;
use crate::graph::Node;
use crate::manifests::is_preview;
use crate::release::Release;

const NAMESPACE: &str = "openshift-lightspeed";
/// The label with the creator of a run.
const SOURCE: &str = "agentic.openshift.io/source";
const CURRENT: &str = "agentic.openshift.io/current-version";
const TARGET: &str = "agentic.openshift.io/target-version";
const KIND: &str = "agentic.openshift.io/update-type";
/// A run is replaced when it is older than this.
const VALIDITY: SignedDuration = SignedDuration::from_hours(24);
/// The maximum of other recommended releases in a request.
const OTHERS_MAX: usize = 5;

/// Creates and deletes AgenticRuns after each check for available updates.
#[derive(Debug, Clone, Default)]
pub(super) struct AgenticRuns {
    /// Time of the update check that was processed last.
    processed: Option<Time>,
}

impl AgenticRuns {
    /// Creates and deletes runs, once per check for updates.
    pub(super) fn update(
        &mut self,
        updates: &Updates,
        own: &Release,
        view: &View,
        now: Time,
        out: &mut Outbox,
    ) {
        let requested_at = updates.requested_at();
        if requested_at == self.processed || !are_enabled(own, view) {
            return;
        }
        self.processed = requested_at;
        let Some(cluster_version) = view.cluster_version() else { return };
        let offer = Offer { cluster_version, own, updates, view };
        for write in offer.removals().chain(offer.creations(now)) {
            out.push(Purpose::AgenticRun, write);
        }
    }
}

/// Returns whether the operator manages AgenticRuns in this cluster.
fn are_enabled(own: &Release, view: &View) -> bool {
    let gate = view.get(&FEATURE_GATES, "", "cluster");
    (own.version.major, own.version.minor) >= (4, 23)
        && gate.is_some_and(|gate| is_preview(gate.text("/spec/featureSet")))
        && view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", "agenticruns.agentic.openshift.io").is_some()
}

/// The update targets of the cluster.
struct Offer<'a> {
    cluster_version: &'a Object,
    own: &'a Release,
    updates: &'a Updates,
    view: &'a View,
}

impl Offer<'_> {
    /// Deletions of this operator's runs that are neither about an available update of the current release
    /// nor about a release in the history.
    fn removals(&self) -> impl Iterator<Item = Write> {
        let targets: Vec<String> = self.targets().map(|(node, _)| label(&node.version.to_string())).collect();
        let history = self.cluster_version.list("/status/history").iter();
        let past: Vec<String> =
            history.map(|entry| label(entry["version"].as_str().unwrap_or_default())).collect();
        let own = label(&self.own.version.to_string());
        self.view.list(&AGENTIC_RUNS).filter(|run| is_ours(run)).filter_map(move |run| {
            let target = run.label(TARGET).unwrap_or_default();
            let is_offered = run.label(CURRENT) == Some(&own) && targets.iter().any(|one| one == target);
            let is_past = past.iter().any(|one| one == target);
            (!is_offered && !is_past).then(|| Write::delete(&AGENTIC_RUNS, run.namespace(), run.name()))
        })
    }

    /// Creations of missing runs and replacements of expired ones. There are none during an update, because
    /// the readiness data would describe only that update.
    fn creations(&self, now: Time) -> Vec<Write> {
        if condition::is_true(self.cluster_version, "Progressing") {
            return Vec::new();
        }
        let mut writes = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for (node, path) in self.targets() {
            let name = name(&self.own.version.to_string(), &node.version.to_string());
            if names.contains(&name) {
                continue;
            }
            match self.view.get(&AGENTIC_RUNS, NAMESPACE, &name) {
                Some(run) if !is_ours(run) || !has_expired(run, now) => continue,
                Some(_) => writes.push(Write::delete(&AGENTIC_RUNS, NAMESPACE, &name)),
                None => {}
            }
            writes.push(Write::create(&AGENTIC_RUNS, self.run(&name, node, path)));
            names.push(name);
        }
        writes
    }

    /// The target releases, each with `Recommended` or `Conditional`.
    fn targets(&self) -> impl Iterator<Item = (&Node, &'static str)> {
        let (recommended, conditional) = self.updates.targets();
        let recommended = recommended.into_iter().map(|node| (node, "Recommended"));
        recommended.chain(conditional.into_iter().map(|node| (node, "Conditional")))
    }

    fn run(&self, name: &str, node: &Node, path: &str) -> Value {
        let (current, target) = (self.own.version.to_string(), node.version.to_string());
        let same_line =
            (self.own.version.major, self.own.version.minor) == (node.version.major, node.version.minor);
        let kind = if same_line { "z-stream" } else { "minor" };
        json!({
            "apiVersion": AGENTIC_RUNS.api_version(),
            "kind": AGENTIC_RUNS.kind,
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": {
                    SOURCE: super::NAME, CURRENT: label(&current), TARGET: label(&target), KIND: kind,
                },
            },
            "spec": {
                "request": self.request(&current, &target, kind, path),
                "analysis": { "agent": "smart" },
                "analysisOutput": { "mode": "Minimal" },
            },
        })
    }

    fn request(&self, current: &str, target: &str, kind: &str, path: &str) -> String {
        let channel = self.cluster_version.text("/spec/channel");
        let mut text = format!(
            "Assess the risks of an update of this cluster by the readiness data below.\n\n---\n\n\
             Current version: OCP {current}\nTarget version: OCP {target}\nChannel: {channel}\n\
             Update type: {kind}\nUpdate path: {path}\n\n"
        );
        let (recommended, _) = self.updates.targets();
        let others: Vec<String> =
            recommended.iter().map(|node| node.version.to_string()).filter(|other| other != target).collect();
        if recommended.len() > 1 {
            text += "Other recommended versions available:\n";
            others.iter().take(OTHERS_MAX).for_each(|other| text += &format!("  - {other}\n"));
            if others.len() > OTHERS_MAX {
                text += &format!("  ... and {} more\n", others.len() - OTHERS_MAX);
            }
            text += "\n";
        }
        let data = readiness::report(self.cluster_version, current, target, self.view);
        text + &format!("## Cluster Readiness Data\n\n```json\n{data}\n```\n")
    }
}

fn is_ours(run: &Object) -> bool {
    run.label(SOURCE) == Some(super::NAME)
}

fn has_expired(run: &Object, now: Time) -> bool {
    run.time("/metadata/creationTimestamp").is_some_and(|created| after(created, VALIDITY) < now)
}

/// Shortens a version to a label value, which has at most 63 characters.
fn label(version: &str) -> String {
    shortened(version.to_owned())
}

fn shortened(text: String) -> String {
    if text.len() > 63 && text.is_char_boundary(60) { format!("{}xxx", &text[..60]) } else { text }
}

/// The name of the run for an update from `current` to `target`, an RFC 1035 label.
fn name(current: &str, target: &str) -> String {
    let text = format!("ota-{current}-to-{target}").to_lowercase();
    let parts: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    shortened(parts.join("-"))
}
