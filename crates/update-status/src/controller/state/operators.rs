//! The objects that insights on cluster operators depend on, and which insights are out of date.
//!
//! A changed operator costs the assessment of one operator. A new target version reassesses all of them.

use std::collections::BTreeSet;

use kube::runtime::watcher::Event;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml::YamlError;

use crate::assessment::cluster_operator::{self, MACHINE_CONFIG, Operator};
use crate::controller::publishing::informer::Informer;
use crate::controller::watch::cache::{Cache, Change};
use crate::insight::{Detail, Insight, uid};

/// Cluster operators, and everything else that their insights depend on.
#[derive(Debug, Default)]
pub(in crate::controller) struct Operators {
    known: Cache<Operator>,
    /// Their target version; `None` without a ClusterVersion.
    version: Option<String>,
    /// The image in the machine-config operator's Deployment, if known.
    image: Option<String>,
    /// Operators to reassess.
    stale: BTreeSet<String>,
    /// Whether to reassess all operators.
    all_stale: bool,
}

impl Operators {
    /// Applies an event of the watch of ClusterOperators. Returns whether anything changed.
    pub(in crate::controller) fn apply(&mut self, event: Event<(String, Operator)>) -> bool {
        match self.known.apply(event) {
            Change::Nothing => return false,
            Change::One(name) => drop(self.stale.insert(name)),
            Change::Any => self.all_stale = true,
        }
        true
    }

    /// Returns whether all operators are known, so that a missing one does not exist.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        self.known.is_synced()
    }

    pub(in crate::controller) fn all(&self) -> impl Iterator<Item = &Operator> {
        self.known.objects().values()
    }

    /// Returns the operators of the release payload.
    pub(in crate::controller) fn of_payload(&self) -> impl Iterator<Item = &Operator> {
        self.all().filter(|operator| operator.is_of_payload)
    }

    /// Sets the operators' target version, and the image in the machine-config operator's Deployment.
    pub(in crate::controller) fn set_target(&mut self, version: Option<&str>, image: Option<&str>) {
        if self.version.as_deref() != version || self.image.as_deref() != image {
            self.version = version.map(str::to_owned);
            self.image = image.map(str::to_owned);
            self.all_stale = true;
        }
    }

    /// Updates the insights in `informer` on operators that are out of date.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML.
    pub(in crate::controller) fn assess(
        &mut self,
        informer: &mut Informer,
        now: Time,
    ) -> Result<(), YamlError> {
        let stale = std::mem::take(&mut self.stale);
        if std::mem::take(&mut self.all_stale) {
            let all = self.all().filter_map(|operator| self.insight(operator, now));
            return informer.replace_matching(is_of_operator, all, now);
        }
        let mut outcome = Ok(());
        for name in stale {
            match self.known.get(&name).and_then(|operator| self.insight(operator, now)) {
                Some(insight) => outcome = outcome.and(informer.put(insight)),
                None => informer.remove(&uid::of_object("co", &name)),
            }
        }
        outcome
    }

    /// Returns the insight on an operator of the payload; for the machine-config operator, only once its
    /// image is known.
    fn insight(&self, operator: &Operator, now: Time) -> Option<Insight> {
        if !operator.is_of_payload {
            return None;
        }
        let image = if operator.name == MACHINE_CONFIG { self.image.as_deref()? } else { "" };
        let status = cluster_operator::assess(operator, self.version.as_deref()?, image, now);
        let uid = uid::of_object("co", &operator.name);
        Some(Insight { uid, acquired_at: now, detail: Detail::ClusterOperator(status) })
    }
}

pub(in crate::controller) fn is_of_operator(detail: &Detail) -> bool {
    matches!(detail, Detail::ClusterOperator(_))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operator(name: &str, version: &str) -> (String, Operator) {
        let metadata = json!({"name": name, "annotations": {"include.release.openshift.io/a": ""}});
        let status = json!({"versions": [{"name": "operator", "version": version}]});
        (name.to_owned(), Operator::read(&json!({"metadata": metadata, "status": status})))
    }

    /// The minutes at which the insights on `a` and `b` got their present content.
    fn acquired(informer: &Informer) -> [Option<i8>; 2] {
        ["co-a", "co-b"].map(|uid| {
            let at = informer.get(uid)?.acquired_at;
            Some(at.to_zoned(jiff::tz::TimeZone::UTC).minute())
        })
    }

    #[test]
    fn reassesses_the_changed_operator_or_all_on_a_new_target() {
        let (mut operators, mut informer) = (Operators::default(), Informer::new("cpi"));
        let at = |minute: u32| format!("2024-01-01T00:{minute:02}:00Z").parse::<Time>().unwrap();
        operators.set_target(Some("1"), None);
        for event in [Event::Init, Event::InitApply(operator("a", "1")), Event::InitApply(operator("b", "1"))]
        {
            operators.apply(event);
        }
        assert!(operators.apply(Event::InitDone));
        operators.assess(&mut informer, at(1)).unwrap();
        assert_eq!(acquired(&informer), [Some(1), Some(1)]);
        assert!(operators.apply(Event::Apply(operator("a", "2"))));
        assert!(!operators.apply(Event::Apply(operator("b", "1"))));
        operators.assess(&mut informer, at(2)).unwrap();
        assert_eq!(acquired(&informer), [Some(2), Some(1)]);
        operators.set_target(Some("2"), None);
        operators.assess(&mut informer, at(3)).unwrap();
        assert_eq!(acquired(&informer), [Some(3), Some(3)]);
        operators.apply(Event::Delete(operator("a", "2")));
        operators.assess(&mut informer, at(4)).unwrap();
        assert_eq!(acquired(&informer), [None, Some(3)]);
    }
}
