//! Alerts, as Prometheus tells of them.

use std::collections::BTreeMap;
use std::fmt;

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
        self.labels.get(NAME).map_or("", String::as_str)
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
