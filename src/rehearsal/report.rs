//! The result of the runs of a rehearsal, and its JSON.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::text::short_duration;
use windtunnel_core::yaml;

use super::cause::Blamed;
use super::run::{Rehearsed, Stop};
use super::unseen::Unseen;
use super::warnings::Warning;

/// Returns the JSON Schema (draft 2020-12) of reports.
pub fn schema() -> Value {
    yaml::from_str(include_str!("schema.yaml")).unwrap_or_else(|error| panic!("schema.yaml:{error}"))
}

/// What a rehearsal says about an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The update stops.
    Stops,
    /// Nothing stops it, and the dump shows everything that matters.
    NothingFound,
    /// Nothing that the dump shows stops it.
    Unknown,
}

impl Verdict {
    /// The word of the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stops => "stops",
            Self::NothingFound => "nothing-found",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of all runs.
#[derive(Debug, Clone)]
pub struct Report {
    /// The release before.
    pub from: Version,
    /// The release that is requested.
    pub to: Version,
    /// The stops, each with the number of runs in which it came, the most frequent order first.
    pub(super) stops: Vec<(Stop, usize)>,
    /// The number of runs.
    pub(super) runs: usize,
    pub(super) control_plane: Option<Range>,
    pub(super) pools: BTreeMap<String, Range>,
    /// Findings without a run.
    pub warnings: Vec<Warning>,
    /// What the dump cannot show.
    pub unseen: Vec<Unseen>,
    /// What was taken for granted.
    pub assumed: Vec<String>,
}

/// The shortest and the longest time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) least: SignedDuration,
    pub(super) most: SignedDuration,
}

impl Range {
    fn of(times: impl Iterator<Item = SignedDuration>) -> Option<Self> {
        times.fold(None, |range: Option<Self>, time| {
            let range = range.unwrap_or(Self { least: time, most: time });
            Some(Self { least: range.least.min(time), most: range.most.max(time) })
        })
    }

    fn json(self) -> Value {
        json!({ "least": self.least.as_secs(), "most": self.most.as_secs() })
    }
}

impl Report {
    /// Merges the runs with different seeds.
    pub fn new(from: Version, to: Version, runs: &[Rehearsed]) -> Self {
        let mut stops: Vec<(Stop, usize)> = Vec::new();
        for stop in runs.iter().flat_map(|run| &run.stops) {
            let is_same = |known: &Stop| {
                (&known.to, &known.phase, &known.cause) == (&stop.to, &stop.phase, &stop.cause)
            };
            match stops.iter_mut().find(|(known, _)| is_same(known)) {
                Some((known, count)) => {
                    *count += 1;
                    known.at = known.at.min(stop.at);
                }
                None => stops.push((stop.clone(), 1)),
            }
        }
        let names = runs.iter().flat_map(|run| run.pools.keys().cloned());
        let pools = names.filter_map(|name| {
            let range = Range::of(runs.iter().filter_map(|run| run.pools.get(&name).copied()))?;
            Some((name, range))
        });
        Self {
            from,
            to,
            stops,
            runs: runs.len(),
            control_plane: Range::of(runs.iter().filter_map(|run| run.control_plane)),
            pools: pools.collect(),
            warnings: Vec::new(),
            unseen: Vec::new(),
            assumed: Vec::new(),
        }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match (self.stops.is_empty(), self.unseen.is_empty()) {
            (false, _) => Verdict::Stops,
            (true, true) => Verdict::NothingFound,
            (true, false) => Verdict::Unknown,
        }
    }

    /// The report as JSON, as `windtunnel schema rehearsal` describes it.
    pub fn to_json(&self) -> Value {
        let cause = |blamed: &Blamed| json!({ "kind": blamed.kind, "namespace": blamed.namespace, "name": blamed.name });
        let stops = self.stops.iter().map(|(stop, seeds)| {
            json!({
                "at": short_duration(stop.at),
                "to": stop.to,
                "phase": stop.phase,
                "waits": stop.waits,
                "cause": stop.cause.as_ref().map(cause),
                "message": stop.message,
                "halfDone": stop.half_done,
                "mend": stop.repair.as_ref().map(|repair| &repair.text),
                "seeds": seeds,
            })
        });
        let warnings = self
            .warnings
            .iter()
            .map(|warning| json!({ "cause": cause(&warning.cause), "text": warning.text }));
        let unseen =
            self.unseen.iter().map(|unseen| json!({ "what": unseen.what, "collect": unseen.collect }));
        json!({
            "result": self.verdict().word(),
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "runs": self.runs,
            "stops": stops.collect::<Vec<_>>(),
            "warnings": warnings.collect::<Vec<_>>(),
            "unknown": unseen.collect::<Vec<_>>(),
            "duration": {
                "controlPlane": self.control_plane.map(Range::json),
                "pools": self.pools.iter().map(|(name, range)| (name.clone(), range.json())).collect::<serde_json::Map<_, _>>(),
            },
            "assumed": self.assumed,
        })
    }
}
