//! Cluster operators that have been unavailable or degraded for too long.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::{Impact, Insight, Level, RUNBOOKS};
use crate::status::go_time::moment;
use crate::status::operators::condition;

/// A problem that a condition of an operator reports.
struct Trouble {
    condition: &'static str,
    status: &'static str,
    word: &'static str,
    /// Reported as a warning after longer than this.
    warning: SignedDuration,
    /// Reported as an error after longer than this.
    error: SignedDuration,
    runbook: &'static str,
}

const TROUBLES: [Trouble; 2] = [
    Trouble {
        condition: "Available",
        status: "False",
        word: "unavailable",
        warning: SignedDuration::from_mins(5),
        error: SignedDuration::from_mins(20),
        runbook: "ClusterOperatorDown.md",
    },
    Trouble {
        condition: "Degraded",
        status: "True",
        word: "degraded",
        warning: SignedDuration::from_mins(5),
        error: SignedDuration::from_mins(40),
        runbook: "ClusterOperatorDegraded.md",
    },
];

pub(super) fn of_operator(operator: &Object, now: Time, insights: &mut Vec<Insight>) {
    for trouble in &TROUBLES {
        let found = condition(operator, trouble.condition).filter(|found| found["status"] == trouble.status);
        insights.extend(found.and_then(|found| trouble.insight(operator.name(), found, now)));
    }
}

impl Trouble {
    fn insight(&self, operator: &str, condition: &Value, now: Time) -> Option<Insight> {
        let started = moment(condition, "lastTransitionTime");
        let lasts_longer_than = |span: SignedDuration| now > after(started, span);
        if !lasts_longer_than(self.warning) {
            return None;
        }
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let message = if text("message").is_empty() { "<no message>" } else { text("message") };
        Some(Insight {
            started,
            level: if lasts_longer_than(self.error) { Level::Error } else { Level::Warning },
            impact: Impact::ApiAvailability,
            summary: format!("Cluster Operator {operator} is {} ({})", self.word, text("reason")),
            description: message.to_owned(),
            reference: format!("{RUNBOOKS}/{}", self.runbook),
            resource: format!("clusteroperators.config.openshift.io: {operator}"),
        })
    }
}
