//! Health insights: what a cluster administrator may have to act on. One cause, one file, one row of `ALL`.

mod failing;
mod forced;
pub mod frozen_status;
mod unretrievable_payload;

use serde_json::Value;

use crate::base::clock::Time;
use crate::base::text::truncate;
use crate::insights::uid;
use crate::model::insight::{
    HealthInsight, Impact, ImpactLevel, ImpactType, Remediation, ResourceRef, Scope, ScopeType,
};

/// Most characters of a summary, by the API.
const SUMMARY_CHARACTERS_MAX: usize = 256;
/// Most characters of a description, by the API.
const DESCRIPTION_CHARACTERS_MAX: usize = 4096;

/// What the health of one ClusterVersion is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The ClusterVersion.
    pub cluster_version: &'a Value,
    /// The CustomResourceDefinition of ClusterVersions, if there is one.
    pub crd: Option<&'a Value>,
    /// Minor of the Kubernetes 1.x that the API server is; `None` while that is not known.
    pub kubernetes_minor: Option<u32>,
}

/// When things were first seen, for causes that carry no time themselves.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The current moment.
    pub now: Time,
    /// Since when the insight of this uid has been there, if it was there before.
    pub earlier: &'a dyn Fn(&str) -> Option<Time>,
}

type Assess = fn(&Facts<'_>, &Sight<'_>) -> Option<HealthInsight>;

/// All causes, in the order of their insights.
const ALL: &[Assess] =
    &[forced::assess, unretrievable_payload::assess, failing::assess, frozen_status::assess];

/// All health insights of one ClusterVersion.
pub fn assess(facts: &Facts<'_>, sight: &Sight<'_>) -> Vec<HealthInsight> {
    ALL.iter().filter_map(|assess| assess(facts, sight)).collect()
}

/// A health insight on the control plane, about one ClusterVersion.
struct Draft<'a> {
    cluster_version: &'a Value,
    level: ImpactLevel,
    kind: ImpactType,
    summary: String,
    reference: &'static str,
}

impl Draft<'_> {
    /// The insight of a cause that tells since when it is so; if it fails to, since it was first seen.
    fn dated(self, since: Option<Time>, description: &str, sight: &Sight<'_>) -> HealthInsight {
        self.described(sight, |seen| (since.unwrap_or(seen), description.to_owned()))
    }

    /// The insight; `tell` gets the moment of the first sight and gives the start and the description.
    fn described(self, sight: &Sight<'_>, tell: impl FnOnce(Time) -> (Time, String)) -> HealthInsight {
        let name = self.cluster_version["metadata"]["name"].as_str().unwrap_or_default();
        let mut insight = HealthInsight {
            started_at: sight.now,
            scope: Scope {
                kind: ScopeType::ControlPlane,
                resources: vec![ResourceRef::cluster_version(name)],
            },
            impact: Impact {
                level: self.level,
                kind: self.kind,
                summary: truncate(&self.summary, SUMMARY_CHARACTERS_MAX),
                description: String::new(),
            },
            remediation: Remediation { reference: self.reference.to_owned(), estimated_finish: None },
        };
        let seen = (sight.earlier)(&uid::of_health(&insight)).unwrap_or(sight.now);
        let (since, description) = tell(seen);
        insight.started_at = since;
        insight.impact.description = truncate(&description, DESCRIPTION_CHARACTERS_MAX);
        insight
    }
}

#[cfg(test)]
mod tests;
