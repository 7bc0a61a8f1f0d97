//! Alerts that started firing during the update, or that are known to affect updates.

use std::collections::BTreeMap;

use windtunnel_core::alert::{ActiveAlert, AlertState};
use windtunnel_core::clock::Time;

use super::findings::{Cause, Findings, HealthDraft};
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

/// An alert fires.
pub(super) const FIRING: Cause = Cause {
    name: "Alert is firing",
    levels: &[ImpactLevel::Warning, ImpactLevel::Critical],
    impact: ImpactType::Unknown,
    reference: "<alert does not have a runbook_url annotation>",
};

/// Alerts known to affect updates, whenever they started.
const KNOWN: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];

/// Adds the alerts that `oc adm upgrade status` reports. `started` is the start of the current update; if it
/// is `None` (unknown), every alert with a start counts as part of the update.
pub fn assess(alerts: &[ActiveAlert], started: Option<Time>, findings: &mut Findings<'_>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for active in alerts {
        let labels: Vec<String> =
            active.alert.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let labels = labels.join("\n");
        // Alerts of two rules can have equal labels, so they are numbered. Prometheus lists them in the order
        // of the rules.
        let count = seen.entry(labels.clone()).or_default();
        let discriminator = if *count == 0 { labels } else { format!("{labels}\n#{count}") };
        *count += 1;
        if active.alert.state != AlertState::Firing {
            continue;
        }
        let name = active.alert.name();
        let level = match active.alert.label("severity") {
            "warning" => ImpactLevel::Warning,
            "critical" => ImpactLevel::Critical,
            _ => continue,
        };
        let is_known = KNOWN.contains(&name);
        let is_of_update = findings.rules().starts_after(active.active_at, started);
        if name.is_empty() || !(is_known || is_of_update) {
            continue;
        }
        let why = match (is_known, is_of_update) {
            (true, true) => "Alert known to affect updates started firing during the update.",
            (true, false) => "Alert known to affect updates has been firing since before the update started.",
            (false, _) => "Alert started firing during the update.",
        };
        add(active, level, why, discriminator, findings);
    }
}

fn add(
    active: &ActiveAlert,
    level: ImpactLevel,
    why: &str,
    discriminator: String,
    findings: &mut Findings<'_>,
) {
    let alert = &active.alert;
    let summary = match alert.annotation("summary") {
        "" => alert.name(),
        summary => summary,
    };
    let texts: Vec<&str> = [alert.annotation("description"), alert.annotation("message")]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    let text = if texts.is_empty() {
        "The alert has no description.".to_owned()
    } else {
        format!("The alert description is: {}", texts.join(" | "))
    };
    let resource =
        ResourceRef { namespace: alert.label("namespace").to_owned(), ..ResourceRef::alert(alert.name()) };
    findings.add(HealthDraft {
        level,
        discriminator,
        reference: alert.annotation("runbook_url").to_owned(),
        summary: format!("Alert is firing: {summary}"),
        description: format!("{why} {text}"),
        since: active.active_at,
        ..HealthDraft::new(&FIRING, resource)
    });
}
