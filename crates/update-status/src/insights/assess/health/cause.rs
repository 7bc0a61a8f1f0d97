//! What health insights can be about, and how one is made.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::truncate;

use crate::insight::{
    Detail, HealthInsight, Impact, ImpactLevel, ImpactType, Insight, Remediation, ResourceRef, Scope,
    ScopeType,
};
use crate::insights::uid;

/// Most characters of a summary, by the API.
const SUMMARY_CHARACTERS_MAX: usize = 256;
/// Most characters of a description, by the API.
const DESCRIPTION_CHARACTERS_MAX: usize = 4096;
/// Most characters of a reference, by the API.
const REFERENCE_CHARACTERS_MAX: usize = 512;

/// What stands for a description that nobody wrote, as `oc` has it.
const NO_MESSAGE: &str = "<no message>";

/// One thing that health insights are about. `docs/insights.md` has a row for each.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// Its name in that table.
    pub name: &'static str,
    /// How bad it is, where time makes it worse the mildest first.
    pub levels: &'static [ImpactLevel],
    /// Bad for what.
    pub impact: ImpactType,
    /// The page that tells what to do.
    pub reference: &'static str,
}

/// When things were first seen, for causes that carry no time themselves.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The current moment.
    pub now: Time,
    /// Since when the insight of this uid has been there, if it was there before.
    pub earlier: &'a dyn Fn(&str) -> Option<Time>,
}

/// One insight, what made it, and its uid.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What made it.
    pub cause: &'static Cause,
    /// Unique among causes and what they are about; it stays while texts and levels change.
    pub uid: String,
    /// What is told.
    pub insight: HealthInsight,
}

/// What came of a look: insights, and when to look again.
#[derive(Debug)]
pub struct Outcome {
    /// The insights in their envelopes.
    pub insights: Vec<Insight>,
    /// The first moment at which the same facts come to something else.
    pub look_again: Option<Time>,
}

/// What was found at one moment, and when to look again.
pub struct Findings<'a> {
    sight: Sight<'a>,
    /// The insights, in the order in which they were found.
    pub found: Vec<Finding>,
    /// The first moment at which the same facts come to something else.
    pub look_again: Option<Time>,
}

/// A health insight that is about to be made.
pub(super) struct Draft<'a> {
    pub(super) cause: &'static Cause,
    pub(super) level: ImpactLevel,
    pub(super) scope: ScopeType,
    /// What it is about; the first object and the cause make the uid.
    pub(super) resources: Vec<ResourceRef>,
    /// What else tells it from others of its cause about the same object.
    pub(super) apart: &'a str,
    /// Another page than that of the cause; empty: that one.
    pub(super) reference: &'a str,
    pub(super) summary: String,
    pub(super) description: String,
    /// Since when it is so; `None`: since it was first seen.
    pub(super) since: Option<Time>,
}

impl Draft<'_> {
    /// A mild insight of `cause` on the control plane, about one object.
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
    /// Nothing found yet.
    pub fn new(sight: Sight<'a>) -> Self {
        Self { sight, found: Vec::new(), look_again: None }
    }

    /// What came of it.
    pub fn done(self) -> Outcome {
        let acquired_at = self.sight.now;
        let insights = self.found.into_iter().map(|Finding { uid, insight, .. }| Insight {
            uid,
            acquired_at,
            detail: Detail::Health(insight),
        });
        Outcome { insights: insights.collect(), look_again: self.look_again }
    }

    /// Whether more than `span` has passed since then, or nobody knows since when. If not, it is to be looked at again.
    pub(super) fn is_older(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let Some(over) = since.map(|since| after(since, span)) else { return true };
        if self.sight.now > over {
            return true;
        }
        // Times of the API are in whole seconds; the next one is the first that is later.
        self.look_at(after(over, SignedDuration::from_secs(1)));
        false
    }

    /// Whether `span` has passed since then, or nobody knows since when. If not, it is to be looked at again.
    pub(super) fn lasts(&mut self, since: Option<Time>, span: SignedDuration) -> bool {
        let over = since.map_or(self.sight.now, |since| after(since, span));
        self.look_at(over);
        self.sight.now >= over
    }

    /// Looks again at this moment, if not earlier.
    pub(super) fn look_at(&mut self, at: Time) {
        if at > self.sight.now {
            self.look_again = Some(self.look_again.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Since when this insight has been there; now, if it is new.
    pub(super) fn seen(&self, draft: &Draft<'_>) -> Time {
        (self.sight.earlier)(&draft.uid()).unwrap_or(self.sight.now)
    }

    /// Makes the insight.
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
