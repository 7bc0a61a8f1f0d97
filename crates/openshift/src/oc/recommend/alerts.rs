//! Alerts that are a reason against updating.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::alert;
use windtunnel_core::condition::Condition;

/// An alert from Prometheus' `/api/v1/alerts`. Missing fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alert {
    /// `firing` or `pending`.
    pub state: String,
    /// Label `alertname`.
    pub name: String,
    /// Label `severity`.
    pub severity: String,
    /// Label `namespace`.
    pub namespace: String,
    /// Label `poddisruptionbudget`.
    pub pod_disruption_budget: String,
    /// Whether label `openShiftUpdatePrecheck` is `true`, which marks alerts to check before updates.
    pub is_precheck: bool,
    /// Annotation `summary`.
    pub summary: String,
    /// Annotation `description`.
    pub description: String,
    /// Annotation `message`, which old alerts have instead of `description`.
    pub message: String,
    /// Annotation `runbook_url`.
    pub runbook_url: String,
}

impl From<&alert::Alert> for Alert {
    fn from(alert: &alert::Alert) -> Self {
        let text = |texts: &BTreeMap<String, String>, name| texts.get(name).cloned().unwrap_or_default();
        let state = alert.state.as_str();
        Self::from_texts(state, |name| text(&alert.labels, name), |name| text(&alert.annotations, name))
    }
}

impl Alert {
    /// Reads an element of `data.alerts`.
    pub fn read(value: &Value) -> Self {
        let text = |map: &str, field: &str| value[map][field].as_str().unwrap_or_default().to_owned();
        let state = value["state"].as_str().unwrap_or_default();
        Self::from_texts(state, |field| text("labels", field), |field| text("annotations", field))
    }

    fn from_texts(
        state: &str,
        label: impl Fn(&'static str) -> String,
        annotation: impl Fn(&'static str) -> String,
    ) -> Self {
        Self {
            state: state.to_owned(),
            name: label("alertname"),
            severity: label("severity"),
            namespace: label("namespace"),
            pod_disruption_budget: label("poddisruptionbudget"),
            is_precheck: label("openShiftUpdatePrecheck") == "true",
            summary: annotation("summary"),
            description: annotation("description"),
            message: annotation("message"),
            runbook_url: annotation("runbook_url"),
        }
    }

    /// Returns why the alert matters for updates, if it does.
    fn class(&self) -> Option<&'static Class> {
        CLASSES.iter().find(|class| (class.fits)(self))
    }

    /// Returns the details of the alert, from its summary to its runbook.
    fn details(&self) -> String {
        let Self { name, summary, description, message, .. } = self;
        let summary = if summary.is_empty() { name } else { summary };
        let stop = if summary.ends_with('.') { "" } else { "." };
        let description = match (description.as_str(), message.as_str()) {
            ("", "") => "The alert has no description.".to_owned(),
            (text, "") | ("", text) => format!("The alert description is: {text}"),
            (description, message) => format!("The alert description is: {description} | {message}"),
        };
        let runbook = match self.runbook_url.as_str() {
            "" => "<alert does not have a runbook_url annotation>",
            url => url,
        };
        let budget = if self.is_about_budgets() {
            let (namespace, budget) = (&self.namespace, &self.pod_disruption_budget);
            format!("Namespace={namespace}, PodDisruptionBudget={budget}. ")
        } else {
            String::new()
        };
        format!("{budget}{summary}{stop} {description} {runbook}")
    }

    fn is_about_budgets(&self) -> bool {
        self.name == "PodDisruptionBudgetAtLimit"
            || (self.name == "PodDisruptionBudgetLimit" && self.severity == "critical")
    }
}

/// Alerts that matter for updates for the same reason.
struct Class {
    name: &'static str,
    fits: fn(&Alert) -> bool,
    why: &'static str,
    /// Whether the absence of such alerts is reported.
    reports_absence: bool,
}

const NODES: [&str; 4] =
    ["KubeletHealthState", "KubeNodeNotReady", "KubeNodeReadinessFlapping", "KubeNodeUnreachable"];
const VIRTUALIZATION: [&str; 2] = ["VirtHandlerDaemonSetRolloutFailing", "VMCannotBeEvicted"];
const SLOWS_NODES: &str = "which may slow workload redistribution during rolling node updates.";

/// Classes in the order in which they are tried.
const CLASSES: &[Class] = &[
    Class {
        name: "CriticalAlerts",
        fits: |alert| alert.severity == "critical",
        why: "suggesting significant cluster issues worth investigating.",
        reports_absence: true,
    },
    Class {
        name: "PodDisruptionBudgetAlerts",
        fits: |alert| alert.name == "PodDisruptionBudgetAtLimit",
        why: "which might slow node drains.",
        reports_absence: true,
    },
    Class {
        name: "PodImagePullAlerts",
        fits: |alert| alert.name == "KubeContainerWaiting",
        why: SLOWS_NODES,
        reports_absence: true,
    },
    Class {
        name: "NodeAlerts",
        fits: |alert| NODES.contains(&alert.name.as_str()),
        why: SLOWS_NODES,
        reports_absence: true,
    },
    Class {
        name: "UpdatePrecheckAlerts",
        fits: |alert| alert.is_precheck,
        why: "suggesting issues worth investigating before updating the cluster.",
        reports_absence: true,
    },
    Class {
        name: "VirtAlerts",
        fits: |alert| VIRTUALIZATION.contains(&alert.name.as_str()),
        why: SLOWS_NODES,
        reports_absence: false,
    },
];

/// A condition derived from alerts, and the name of its issue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) condition: Condition,
    pub(super) issue: String,
}

/// Derives conditions from alerts: one for each alert that matters, in their order, then one for each class
/// without alerts.
pub(super) fn derive_conditions(alerts: &[Alert]) -> Vec<Judgement> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for alert in alerts.iter().filter(|alert| !alert.name.is_empty() && alert.state != "pending") {
        let Some(class) = alert.class() else { continue };
        let Alert { name, severity, state, .. } = alert;
        seen.push(class.name);
        if alert.is_about_budgets() {
            seen.push("PodDisruptionBudgetAlerts");
        }
        let message = format!("{severity} alert {name} {state}, {} {}", class.why, alert.details());
        let kind = format!("recommended/{}/{name}/{}", class.name, found.len());
        let condition = Condition::new(&kind, "False", &format!("Alert:{state}"), message);
        found.push(Judgement { condition, issue: name.clone() });
    }
    let silent = CLASSES.iter().filter(|class| class.reports_absence && !seen.contains(&class.name));
    found.extend(silent.map(|class| {
        let kind = format!("recommended/{}", class.name);
        Judgement { condition: Condition::new(&kind, "True", "AsExpected", ""), issue: String::new() }
    }));
    found
}
