//! Alerts in the form that Prometheus reports them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::clock::{Time, parse_rfc3339};

/// The label that holds an alert's name.
pub const NAME: &str = "alertname";

/// One alert: a rule of Prometheus and the labels that its expression found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Its labels, including its name and severity. They are unique among alerts.
    pub labels: BTreeMap<String, String>,
    /// Texts for people, such as `summary` and `description`.
    pub annotations: BTreeMap<String, String>,
    /// Whether it is pending, firing or inactive.
    pub state: AlertState,
}

impl Alert {
    /// Its name, such as `ClusterOperatorDown`.
    pub fn name(&self) -> &str {
        self.label(NAME)
    }

    /// One of its labels; empty where there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// One of its annotations; empty where there is none.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", String::as_str)
    }
}

/// An alert, with the time at which its expression became true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveAlert {
    /// The alert.
    pub alert: Alert,
    /// `activeAt` of Prometheus' API.
    pub active_at: Option<Time>,
}

impl ActiveAlert {
    /// Parses an element of `data.alerts` of Prometheus' `/api/v1/alerts`. That API never returns inactive
    /// alerts, so every alert that is not pending is firing.
    pub fn parse(value: &Value) -> Self {
        let texts = |of: &str| {
            let texts = value[of].as_object().into_iter().flatten();
            texts.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
        };
        let is_pending = value["state"] == AlertState::Pending.as_str();
        let state = if is_pending { AlertState::Pending } else { AlertState::Firing };
        let alert = Alert { labels: texts("labels"), annotations: texts("annotations"), state };
        Self { alert, active_at: value["activeAt"].as_str().and_then(parse_rfc3339) }
    }
}

/// The state of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertState {
    /// Its expression holds, but not yet for as long as the rule requires.
    Pending,
    /// Prometheus sends it to Alertmanager.
    Firing,
    /// Its expression no longer holds.
    Inactive,
}

impl AlertState {
    /// All states.
    pub const ALL: &'static [Self] = &[Self::Pending, Self::Firing, Self::Inactive];

    /// Its name in Prometheus' API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Firing => "firing",
            Self::Inactive => "inactive",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == name)
    }
}

impl fmt::Display for AlertState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
