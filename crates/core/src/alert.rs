//! Alerts, as Prometheus tells of them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::clock::{Time, parse_rfc3339};

/// The label that holds an alert's name.
pub const NAME: &str = "alertname";

/// One alert: a rule of Prometheus and the labels that its expression found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What it is about, its name and severity among them. No two alerts have the same.
    pub labels: BTreeMap<String, String>,
    /// What it says to people.
    pub annotations: BTreeMap<String, String>,
    /// How far it is.
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

/// An alert, and since when its expression has held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveAlert {
    /// The alert.
    pub alert: Alert,
    /// `activeAt` of Prometheus' API.
    pub active_at: Option<Time>,
}

impl ActiveAlert {
    /// Reads an element of `data.alerts` of Prometheus' `/api/v1/alerts`, where there is no alert that is inactive: one that is
    /// not pending fires.
    pub fn read(value: &Value) -> Self {
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

/// How far an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertState {
    /// Its expression has not held for long enough.
    Pending,
    /// It is told.
    Firing,
    /// Its expression holds no longer.
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
