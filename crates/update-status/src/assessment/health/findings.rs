//! The causes of health problems, and the collection of problems that an assessment finds.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::truncate;

use crate::assessment::rules::Rules;
use crate::insight::{
    Detail, HealthInsight, Impact, ImpactLevel, ImpactType, Insight, Remediation, ResourceRef, Scope,
    ScopeType, uid,
};

/// Maximum length of a summary, by the API.
const SUMMARY_CHARACTERS_MAX: usize = 256;
/// Maximum length of a description, by the API.
const DESCRIPTION_CHARACTERS_MAX: usize = 4096;
/// Maximum length of a reference, by the API.
const REFERENCE_CHARACTERS_MAX: usize = 512;

/// `oc`'s placeholder for the empty message of an operator. Insights have it for every empty description.
pub(super) const NO_MESSAGE: &str = "<no message>";

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

/// The findings of an earlier assessment, for causes without a time of their own.
#[derive(Clone, Copy)]
pub struct PriorInsights<'a> {
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
    pub reassess_at: Option<Time>,
}

/// Collects problems during an assessment, and when to reassess.
pub struct Findings<'a> {
    rules: Rules,
    prior: PriorInsights<'a>,
    drafts: Vec<HealthDraft>,
    reassess_at: Option<Time>,
}

/// A problem, before it becomes an insight or a message of `oc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HealthDraft {
    pub(super) cause: &'static Cause,
    pub(crate) level: ImpactLevel,
    pub(super) scope: ScopeType,
    /// The affected objects. The uid depends on the first one and the cause.
    pub(crate) resources: Vec<ResourceRef>,
    /// Distinguishes insights with the same cause and object.
    pub(super) discriminator: String,
    /// URL that replaces the cause's reference, unless empty.
    pub(super) reference: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    /// When the problem started; `None`: when it was first seen.
    pub(crate) since: Option<Time>,
}

impl HealthDraft {
    /// Creates a draft on one object of the control plane, at the mildest level of `cause`.
    pub(super) fn new(cause: &'static Cause, resource: ResourceRef) -> Self {
        let level = cause.levels.first().copied().unwrap_or(ImpactLevel::Unknown);
        Self {
            cause,
            level,
            scope: ScopeType::ControlPlane,
            resources: vec![resource],
            discriminator: String::new(),
            reference: String::new(),
            summary: String::new(),
            description: String::new(),
            since: None,
        }
    }

    /// Returns the affected aspect of the cluster.
    pub(crate) fn impact(&self) -> ImpactType {
        self.cause.impact
    }

    /// Returns the URL of a page with instructions, or a placeholder.
    pub(crate) fn reference(&self) -> &str {
        if self.reference.is_empty() { self.cause.reference } else { &self.reference }
    }

    fn uid(&self) -> String {
        uid::of_health(self.cause.name, self.resources.first(), &self.discriminator)
    }
}

impl<'a> Findings<'a> {
    /// Creates an empty collection for insights.
    pub fn new(prior: PriorInsights<'a>) -> Self {
        Self { rules: Rules::Controller, prior, drafts: Vec::new(), reassess_at: None }
    }

    /// Creates an empty collection for the messages of `oc`, which judges durations at the time `now`.
    pub(crate) fn for_oc(now: Time) -> Self {
        let prior = PriorInsights { now, earlier: &|_| None };
        Self { rules: Rules::Oc, ..Self::new(prior) }
    }

    pub(super) fn rules(&self) -> Rules {
        self.rules
    }

    pub(super) fn now(&self) -> Time {
        self.prior.now
    }

    /// Returns the problems in the order in which they were found.
    pub(crate) fn into_drafts(self) -> Vec<HealthDraft> {
        self.drafts
    }

    /// Returns the insights in the order in which they were found.
    pub fn found(&self) -> Vec<Finding> {
        self.drafts.iter().map(|draft| self.finding(draft)).collect()
    }

    /// Finishes the collection.
    pub fn done(self) -> Outcome {
        let acquired_at = self.now();
        let insights = self.found().into_iter().map(|Finding { uid, insight, .. }| Insight {
            uid,
            acquired_at,
            detail: Detail::Health(insight),
        });
        Outcome { insights: insights.collect(), reassess_at: self.reassess_at }
    }

    /// Returns whether more than `span` has passed since `since`, or `since` is unknown. If not, schedules a
    /// reassessment.
    pub(super) fn is_older(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let Some(over) = self.rules.known_start(since).map(|since| after(since, span)) else { return true };
        if self.now() > over {
            return true;
        }
        // Times of the API are in whole seconds, so the next second is the first later time.
        self.schedule(after(over, SignedDuration::from_secs(1)));
        false
    }

    /// Returns whether at least `span` has passed since `since`, or `since` is unknown. If not, schedules a
    /// reassessment.
    pub(super) fn lasts(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let over = self.rules.known_start(since).map_or(self.now(), |since| after(since, span));
        self.schedule(over);
        self.now() >= over
    }

    /// Schedules a reassessment at this time, if none is due earlier.
    pub(super) fn schedule(&mut self, at: Time) {
        if at > self.now() {
            self.reassess_at = Some(self.reassess_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Returns the start of the existing insight with this uid; now, if there is none.
    pub(super) fn seen(&self, draft: &HealthDraft) -> Time {
        (self.prior.earlier)(&draft.uid()).unwrap_or(self.now())
    }

    /// Adds a problem.
    pub(super) fn add(&mut self, draft: HealthDraft) {
        self.drafts.push(draft);
    }

    fn finding(&self, draft: &HealthDraft) -> Finding {
        let description = if draft.description.is_empty() { NO_MESSAGE } else { &draft.description };
        let insight = HealthInsight {
            started_at: draft.since.unwrap_or_else(|| self.seen(draft)),
            scope: Scope { kind: draft.scope, resources: draft.resources.clone() },
            impact: Impact {
                level: draft.level,
                kind: draft.impact(),
                summary: truncate(&draft.summary, SUMMARY_CHARACTERS_MAX),
                description: truncate(description, DESCRIPTION_CHARACTERS_MAX),
            },
            remediation: Remediation {
                reference: truncate(draft.reference(), REFERENCE_CHARACTERS_MAX),
                estimated_finish: None,
            },
        };
        Finding { cause: draft.cause, uid: draft.uid(), insight }
    }
}
