//! The usage that ResourceQuotas limit, as the API server and the controller of quotas count it.

pub mod amounts;
mod scope;
mod usage;

use serde_json::{Value, json};

use self::amounts::Amounts;
pub use self::scope::covers;
pub use self::usage::{container_usage, object_usage};
use crate::clock::Time;
use crate::quantity::Quantity;

/// Counts the usage of the resources that a quota limits.
#[derive(Debug)]
pub struct UsageCount<'q> {
    spec: &'q Value,
    hard: Amounts,
    used: Amounts,
    now: Time,
}

impl<'q> UsageCount<'q> {
    /// Starts to count for a quota with this `spec` and these limits.
    pub fn new(spec: &'q Value, hard: &Value, now: Time) -> Self {
        Self { spec, hard: amounts::read(hard), used: Amounts::new(), now }
    }

    /// Starts to count a kind. Returns whether the quota limits anything that objects of the kind use.
    pub fn add_kind(&mut self, group: &str, plural: &str) -> bool {
        let names: Vec<&String> = self.hard.keys().filter(|name| usage::uses(group, plural, name)).collect();
        let is_limited = !names.is_empty();
        for name in names {
            self.used.entry(name.clone()).or_insert(Quantity::ZERO);
        }
        is_limited
    }

    /// Adds an object of a kind.
    pub fn add(&mut self, group: &str, plural: &str, object: &Value) {
        if !covers(self.spec, group, plural, object) {
            return;
        }
        let mut found = object_usage(group, plural, object, self.now);
        found.retain(|name, _| self.hard.contains_key(name));
        amounts::add(&mut self.used, &found);
    }

    /// The usage. Resources that no counted kind uses are missing.
    pub fn used(&self) -> &Amounts {
        &self.used
    }

    /// The usage as the `status.used` of a quota.
    pub fn to_value(&self) -> Value {
        self.used.iter().map(|(name, amount)| (name.clone(), json!(amount.text()))).collect()
    }
}
