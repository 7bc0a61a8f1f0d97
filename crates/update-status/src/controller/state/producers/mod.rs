//! The registrations and deliveries of producers, the insights that follow from them, and what each producer's
//! UpdateInformer reports.

mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use kube::runtime::watcher::Event;
use serde_json::Value;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::yaml::YamlError;

use crate::controller::publishing::informer::Informer;
use crate::controller::watch::UPDATE_INFORMER_CRD;
use crate::controller::watch::cache::{Cache, Change};
use crate::insight::Insight;
use crate::producer::{
    Delivery, INFORMERS_MAX, InformerObject, InsightRejection, Outcome, Registration, RejectionReason, admit,
};
use report::Report;

/// The pause between two assessments, however often a producer changes its insights.
const PACE: SignedDuration = SignedDuration::from_secs(2);

/// A rejected insight or a change of a producer, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) enum ProducerNews {
    /// An insight is not published.
    Rejected {
        /// The informer that the insight claims.
        informer: String,
        /// The UpdateInsight, as `namespace/name`.
        insight: String,
        /// Why.
        why: String,
    },
    /// An informer has no insights left: they expired.
    Silent {
        /// The informer.
        informer: String,
    },
}

/// All producers.
#[derive(Debug)]
pub(in crate::controller) struct Producers {
    /// Whether the kind UpdateInformer is served, by the name of its CRD.
    definitions: Cache<bool>,
    registrations: Cache<InformerObject>,
    /// Deliveries by `namespace/name`.
    deliveries: Cache<Delivery>,
    /// Deliveries that changed since the last assessment.
    changed: BTreeSet<String>,
    /// When the controller observed the last change of a delivery.
    observed: BTreeMap<String, Time>,
    /// Whether an object changed since the last assessment.
    is_stale: bool,
    /// The next assessment takes place no earlier.
    paced_until: Option<Time>,
    /// When the next insight expires.
    next_expiry: Option<Time>,
    /// The rejections that were logged.
    logged: BTreeMap<String, String>,
    news: Vec<ProducerNews>,
    /// The reports that the UpdateInformers lack, by name.
    reports: BTreeMap<String, Value>,
    informer: Informer,
}

impl Default for Producers {
    fn default() -> Self {
        Self {
            definitions: Cache::default(),
            registrations: Cache::default(),
            deliveries: Cache::default(),
            changed: BTreeSet::new(),
            observed: BTreeMap::new(),
            is_stale: true,
            paced_until: None,
            next_expiry: None,
            logged: BTreeMap::new(),
            news: Vec::new(),
            reports: BTreeMap::new(),
            informer: Informer::of_producers(),
        }
    }
}

impl Producers {
    /// Applies an event of the watch of the CRD: whether the kind is served.
    pub(in crate::controller) fn apply_crd_event(&mut self, event: Event<(String, bool)>) {
        self.is_stale |= self.definitions.apply(event) != Change::Nothing;
        if !self.is_served() {
            (self.registrations, self.deliveries) = (Cache::default(), Cache::default());
        }
    }

    /// Applies an event of the watch of UpdateInformers.
    pub(in crate::controller) fn apply_registration(&mut self, event: Event<(String, InformerObject)>) {
        self.is_stale |= self.registrations.apply(event) != Change::Nothing;
    }

    /// Applies an event of the watch of UpdateInsights, named `namespace/name`.
    pub(in crate::controller) fn apply_delivery(&mut self, event: Event<(String, Delivery)>) {
        match self.deliveries.apply(event) {
            Change::Nothing => return,
            Change::One(name) => drop(self.changed.insert(name)),
            Change::Any => {}
        }
        self.is_stale = true;
    }

    pub(in crate::controller) fn is_served(&self) -> bool {
        self.definitions.get(UPDATE_INFORMER_CRD) == Some(&true)
    }

    /// Returns whether the insights follow from the objects. The controller's own insights do not wait for that.
    pub(in crate::controller) fn is_assessed(&self) -> bool {
        self.definitions.is_synced() && (!self.is_served() || self.informer.has_begun())
    }

    /// Returns whether all objects are known.
    fn is_synced(&self) -> bool {
        self.is_served() && self.registrations.is_synced() && self.deliveries.is_synced()
    }

    /// Returns when to assess even if nothing changes.
    pub(in crate::controller) fn due(&self) -> Option<Time> {
        let paced = self.paced_until.filter(|_| self.is_stale);
        [paced, self.next_expiry].into_iter().flatten().min().filter(|_| self.is_synced())
    }

    /// Returns whether an assessment is due.
    pub(in crate::controller) fn is_due(&self, now: Time) -> bool {
        let was_removed = !self.is_served() && self.is_stale && self.informer.has_begun();
        let is_paced = self.paced_until.is_some_and(|until| until > now);
        let changed = self.is_stale && !is_paced;
        was_removed || self.is_synced() && (changed || self.next_expiry.is_some_and(|at| at <= now))
    }

    /// Derives the insights from the objects.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML.
    pub(in crate::controller) fn assess(&mut self, now: Time) -> Result<(), YamlError> {
        self.is_stale = false;
        if !self.is_served() {
            return self.informer.replace_at_once([]);
        }
        for name in std::mem::take(&mut self.changed) {
            self.observed.insert(name, now);
        }
        self.observed.retain(|name, _| self.deliveries.get(name).is_some());
        self.paced_until = Some(after(now, PACE));
        self.next_expiry = None;
        let (mut insights, mut reports, mut rejected) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (place, (name, object)) in self.registrations.objects().iter().enumerate() {
            let registration = match &object.registration {
                Err(why) => Err(("InvalidRegistration", why.clone())),
                Ok(_) if place >= INFORMERS_MAX => {
                    let why =
                        format!("the API takes {INFORMERS_MAX} informers besides those of the controller");
                    Err(("TooManyInformers", why))
                }
                Ok(registration) => Ok(registration),
            };
            let outcome = registration.as_ref().map(|registration| self.outcome(name, registration, now));
            let outcome = outcome.unwrap_or_default();
            self.next_expiry = [self.next_expiry, outcome.next_expiry].into_iter().flatten().min();
            let admitted = outcome.admitted.iter().cloned();
            insights.extend(
                admitted.map(|insight| Insight { uid: format!("{name}.{}", insight.uid), ..insight }),
            );
            for (insight, rejection) in &outcome.rejected {
                rejected.insert(insight.clone(), rejection.to_string());
            }
            let report = Report { registration, outcome: &outcome, generation: object.generation };
            reports.insert(name.clone(), (report.status(&object.status, now), object.status.clone()));
        }
        rejected.extend(self.strangers());
        self.log(rejected);
        for (name, (status, before)) in reports {
            self.report(name, status, &before);
        }
        self.informer.replace_at_once(insights)
    }

    /// Applies the rules to the deliveries of an informer. Those of its namespace that claim another informer are
    /// rejected here as well, so that its UpdateInformer shows them.
    fn outcome(&self, name: &str, registration: &Registration, now: Time) -> Outcome {
        let deliveries = self.deliveries.objects().values();
        let own = deliveries.clone().filter(|delivery| {
            let has_place =
                delivery.namespace == registration.producer.namespace || delivery.is_of_endpoint();
            delivery.informer == name && has_place
        });
        let own = own.map(|delivery| {
            let observed = self.observed.get(&delivery.key()).copied();
            (delivery, delivery.renewed_by(now, observed))
        });
        let mut outcome = admit(registration, own, now);
        let is_foreign = |delivery: &&Delivery| {
            let is_of_other = |name: &str| {
                let other = self.registrations.get(name).map(|object| &object.registration);
                matches!(other, Some(Ok(other)) if other.producer.namespace == delivery.namespace)
            };
            delivery.namespace == registration.producer.namespace && !is_of_other(&delivery.informer)
        };
        for delivery in deliveries.filter(is_foreign).filter(|delivery| delivery.informer != name) {
            let message = format!("spec.informer: {:?} is no informer of this namespace", delivery.informer);
            let rejection = InsightRejection::new(RejectionReason::ForeignInformer, message);
            outcome.rejected.push((delivery.key(), rejection));
        }
        outcome
    }

    /// Returns the deliveries in namespaces without an informer, and why they are rejected. No UpdateInformer
    /// shows them.
    fn strangers(&self) -> BTreeMap<String, String> {
        let objects = self.registrations.objects();
        let has_informer = |delivery: &&Delivery| {
            let mut registrations = objects.values().filter_map(|object| object.registration.as_ref().ok());
            let is_registered =
                matches!(objects.get(&delivery.informer), Some(object) if object.registration.is_ok());
            delivery.is_of_endpoint() && is_registered
                || registrations.any(|other| other.producer.namespace == delivery.namespace)
        };
        let strangers = self.deliveries.objects().values().filter(|delivery| !has_informer(delivery));
        let why = |delivery: &Delivery| format!("namespace {} has no informer", delivery.namespace);
        strangers.map(|delivery| (delivery.key(), why(delivery))).collect()
    }

    /// Logs rejections that are new or have another reason.
    fn log(&mut self, rejected: BTreeMap<String, String>) {
        for (insight, why) in &rejected {
            if self.logged.get(insight) != Some(why) {
                let informer = self.deliveries.get(insight).map(|delivery| delivery.informer.clone());
                let (informer, insight, why) = (informer.unwrap_or_default(), insight.clone(), why.clone());
                self.news.push(ProducerNews::Rejected { informer, insight, why });
            }
        }
        self.logged = rejected;
    }

    fn report(&mut self, name: String, status: Value, before: &Value) {
        if report::is_silent(&status) && !report::is_silent(before) {
            self.news.push(ProducerNews::Silent { informer: name.clone() });
        }
        if status == report::without_rejected_delivery(before) {
            self.reports.remove(&name);
        } else {
            self.reports.insert(name, status);
        }
    }

    /// Returns the news since the last call.
    pub(in crate::controller) fn take_news(&mut self) -> Vec<ProducerNews> {
        std::mem::take(&mut self.news)
    }

    /// Returns a status that an UpdateInformer lacks, with its name.
    pub(in crate::controller) fn next_report(&self) -> Option<(&String, &Value)> {
        self.reports.first_key_value()
    }

    /// Notes that a status was written, or cannot be.
    pub(in crate::controller) fn reported(&mut self, name: &str) {
        self.reports.remove(name);
    }

    pub(in crate::controller) fn informer(&self) -> &Informer {
        &self.informer
    }

    pub(in crate::controller) fn informer_mut(&mut self) -> &mut Informer {
        &mut self.informer
    }
}
