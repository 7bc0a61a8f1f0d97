//! The causes of health insights, and how an insight is built.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::truncate;

use crate::insight::{
    Detail, HealthInsight, Impact, ImpactLevel, ImpactType, Insight, Remediation, ResourceRef, Scope,
    ScopeType,
};
use crate::insights::uid;

/// Maximum length of a summary, by the API.
const SUMMARY_CHARACTERS_MAX: usize = 256;
/// Maximum length of a description, by the API.
const DESCRIPTION_CHARACTERS_MAX: usize = 4096;
/// Maximum length of a reference, by the API.
const REFERENCE_CHARACTERS_MAX: usize = 512;

/// `oc`'s placeholder for an empty description.
const NO_MESSAGE: &str = "<no message>";

/// A cause of health insights. The table in `docs/insights.md` has a row for each.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its name in that table.
    pub name: &'static str,
    /// The possible levels. If the level rises over time, the mildest comes first.
    pub levels: &'static [ImpactLevel],
    /// The affected aspect of the cluster.
    pub impact: ImpactType,
    /// URL of a page with instructions, or a placeholder.
    pub reference: &'static str,
}

/// The times at which problems were first seen, for causes without a time of their own.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The current time.
    pub now: Time,
    /// Returns the start of the existing insight with this uid, if there is one.
    pub earlier: &'a dyn Fn(&str) -> Option<Time>,
}

/// An insight with its cause and uid.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The cause.
    pub cause: &'static Cause,
    /// Derived from the cause and the affected object; it stays the same while texts and levels change.
    pub uid: String,
    /// The insight.
    pub insight: HealthInsight,
}

/// The result of an assessment: insights, and when to reassess.
#[derive(Debug)]
pub struct Outcome {
    /// The insights in their envelopes.
    pub insights: Vec<Insight>,
    /// The earliest time at which the same facts lead to a different result.
    pub look_again: Option<Time>,
}

/// Collects insights during an assessment, and when to reassess.
pub struct Findings<'a> {
    sight: Sight<'a>,
    /// The insights, in the order in which they were found.
    pub found: Vec<Finding>,
    /// The earliest time at which the same facts lead to a different result.
    pub look_again: Option<Time>,
}

/// The parts of a health insight.
pub(super) struct Draft<'a> {
    pub(super) cause: &'static Cause,
    pub(super) level: ImpactLevel,
    pub(super) scope: ScopeType,
    /// The affected objects. The uid depends on the first one and the cause.
    pub(super) resources: Vec<ResourceRef>,
    /// Distinguishes insights with the same cause and object.
    pub(super) apart: &'a str,
    /// URL that replaces the cause's reference, unless empty.
    pub(super) reference: &'a str,
    pub(super) summary: String,
    pub(super) description: String,
    /// When the problem started; `None`: when it was first seen.
    pub(super) since: Option<Time>,
}

impl Draft<'_> {
    /// Creates a draft on one object of the control plane, at the mildest level of `cause`.
    pub(super) fn of(cause: &'static Cause, resource: ResourceRef) -> Self {
        let level = cause.levels.first().copied().unwrap_or(ImpactLevel::Unknown);
        Self {
            cause,
            level,
            scope: ScopeType::ControlPlane,
            resources: vec![resource],
            apart: "",
            reference: "",
            summary: String::new(),
            description: String::new(),
            since: None,
        }
    }

    fn uid(&self) -> String {
        uid::of_health(self.cause.name, self.resources.first(), self.apart)
    }
}

impl<'a> Findings<'a> {
    /// Creates an empty collection.
    pub fn new(sight: Sight<'a>) -> Self {
        Self { sight, found: Vec::new(), look_again: None }
    }

    /// Finishes the collection.
    pub fn done(self) -> Outcome {
        let acquired_at = self.sight.now;
        let insights = self.found.into_iter().map(|Finding { uid, insight, .. }| Insight {
            uid,
            acquired_at,
            detail: Detail::Health(insight),
        });
        Outcome { insights: insights.collect(), look_again: self.look_again }
    }

    /// Returns whether more than `span` has passed since `since`, or `since` is unknown. If not, schedules a
    /// reassessment.
    pub(super) fn is_older(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let Some(over) = since.map(|since| after(since, span)) else { return true };
        if self.sight.now > over {
            return true;
        }
        // Times of the API are in whole seconds, so the next second is the first later time.
        self.look_at(after(over, SignedDuration::from_secs(1)));
        false
    }

    /// Returns whether at least `span` has passed since `since`, or `since` is unknown. If not, schedules a
    /// reassessment.
    pub(super) fn lasts(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let over = since.map_or(self.sight.now, |since| after(since, span));
        self.look_at(over);
        self.sight.now >= over
    }

    /// Schedules a reassessment at this time, if none is due earlier.
    pub(super) fn look_at(&mut self, at: Time) {
        if at > self.sight.now {
            self.look_again = Some(self.look_again.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Returns the start of the existing insight with this uid; now, if there is none.
    pub(super) fn seen(&self, draft: &Draft<'_>) -> Time {
        (self.sight.earlier)(&draft.uid()).unwrap_or(self.sight.now)
    }

    /// Builds the insight and adds it.
    pub(super) fn add(&mut self, draft: Draft<'_>) {
        let uid = draft.uid();
        let started_at = draft.since.unwrap_or_else(|| self.seen(&draft));
        let Draft { cause, level, scope, resources, reference, summary, description, .. } = draft;
        let reference = if reference.is_empty() { cause.reference } else { reference };
        let description = if description.is_empty() { NO_MESSAGE } else { &description };
        let insight = HealthInsight {
            started_at,
            scope: Scope { kind: scope, resources },
            impact: Impact {
                level,
                kind: cause.impact,
                summary: truncate(&summary, SUMMARY_CHARACTERS_MAX),
                description: truncate(description, DESCRIPTION_CHARACTERS_MAX),
            },
            remediation: Remediation {
                reference: truncate(reference, REFERENCE_CHARACTERS_MAX),
                estimated_finish: None,
            },
        };
        self.found.push(Finding { cause, uid, insight });
    }
}
