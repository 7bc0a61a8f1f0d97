//! The result of the runs of a rehearsal, and its JSON.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::text::short_duration;
use windtunnel_core::yaml;

use super::back::Back;
use super::cause::Blamed;
use super::length::{self, Slow};
use super::run::{Rehearsed, Stop};
use super::unseen::Unseen;
use super::warnings::Warning;
use crate::record::Record;

/// Returns the JSON Schema (draft 2020-12) of reports.
pub fn schema() -> Value {
    yaml::from_str(include_str!("schema.yaml")).unwrap_or_else(|error| panic!("schema.yaml:{error}"))
}

/// Returns the JSON Schema of the list of reports of several dumps: each with its dump, or the dump with an error.
pub fn schema_of_several() -> Value {
    let report = schema();
    let mut schema = json!({
        "$schema": report["$schema"],
        "title": "Reports of windtunnel rehearse with several dumps",
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["dump"],
            "properties": {
                "dump": { "type": "string" },
                "error": { "type": "string", "description": "Why the dump is unusable." },
            },
        },
    });
    schema["$defs"] = report["$defs"].clone();
    let mut report = report;
    for key in ["$schema", "$defs"] {
        report.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(key)));
    }
    schema["$defs"]["report"] = report;
    schema["items"]["properties"]["report"] = json!({ "$ref": "#/$defs/report" });
    schema
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
    /// The releases of the updates in turn, each with whether a run requested it.
    updates: Vec<(String, bool)>,
    /// The stops, each with the number of runs in which it came, the most frequent order first.
    pub(super) stops: Vec<(Stop, usize)>,
    /// The number of runs.
    pub(super) runs: usize,
    /// From the request until everything is updated.
    pub(super) total: Option<Range>,
    pub(super) control_plane: Option<Range>,
    pub(super) pools: BTreeMap<String, Range>,
    /// What makes the update long.
    pub(super) slow: Vec<Slow>,
    /// The same update of a changed cluster, each with the change.
    pub what_if: Vec<(String, Report)>,
    /// The way back, if the rehearsal looked for it.
    pub back: Option<Back>,
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

    fn to_json(self) -> Value {
        json!({ "least": self.least.as_secs(), "most": self.most.as_secs() })
    }
}

impl Report {
    /// Merges the runs with different seeds.
    pub fn new(from: Version, targets: &[Version], runs: &[Rehearsed]) -> Self {
        let names = runs.iter().flat_map(|run| run.pools.keys().cloned());
        let pools = names.filter_map(|name| {
            let range = Range::of(runs.iter().filter_map(|run| run.pools.get(&name).copied()))?;
            Some((name, range))
        });
        let is_requested = |to: &String| runs.iter().any(|run| run.requests.iter().any(|(one, _)| one == to));
        let updates = targets.iter().map(ToString::to_string).map(|to| (is_requested(&to), to));
        Self {
            to: targets.last().cloned().unwrap_or_else(|| from.clone()),
            from,
            updates: updates.map(|(is_requested, to)| (to, is_requested)).collect(),
            stops: merge_stops(runs),
            runs: runs.len(),
            total: Range::of(runs.iter().filter_map(total_time)),
            control_plane: Range::of(runs.iter().filter_map(|run| run.control_plane)),
            pools: pools.collect(),
            slow: Vec::new(),
            what_if: Vec::new(),
            back: None,
            warnings: Vec::new(),
            unseen: Vec::new(),
            assumed: Vec::new(),
        }
    }

    /// Adds what makes a run long, from its record.
    pub fn explain_length(&mut self, record: &Record, run: &Rehearsed) {
        self.slow = length::find(record, run);
    }

    /// The stops, in the order in which the update meets them.
    pub fn stops(&self) -> impl Iterator<Item = &Stop> {
        self.stops.iter().map(|(stop, _)| stop)
    }

    /// The phases of each update, as far as they are known: the release, the phase, and whether a run reached it.
    pub fn phases(&self) -> Vec<(String, String, bool)> {
        let mut found: Vec<(String, String, bool)> = Vec::new();
        let last = self.updates.len().saturating_sub(1);
        for (index, (to, is_requested)) in self.updates.iter().enumerate() {
            let is_done = index < last || self.control_plane.is_some();
            let of_stops: Vec<&str> =
                self.stops().filter(|stop| stop.to == *to).map(|stop| stop.phase.as_str()).collect();
            let after_accept = of_stops.iter().any(|phase| *phase != "accept");
            found.push((to.clone(), "accept".to_owned(), *is_requested));
            found.push((to.clone(), "control-plane".to_owned(), *is_requested && (is_done || after_accept)));
            let pools = self.pools.keys().map(|name| format!("pool {name}"));
            let stopped = of_stops.iter().filter(|phase| phase.starts_with("pool ")).map(ToString::to_string);
            let pools: BTreeSet<String> = pools.chain(stopped).collect();
            found.extend(pools.into_iter().map(|pool| (to.clone(), pool, *is_requested)));
        }
        found
    }

    /// The shortest and the longest time of the whole update; `None` if no run completed it.
    pub fn total(&self) -> Option<(SignedDuration, SignedDuration)> {
        self.total.map(|range| (range.least, range.most))
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
        let warnings = self
            .warnings
            .iter()
            .map(|warning| json!({ "cause": cause_json(&warning.cause), "text": warning.text }));
        let unseen =
            self.unseen.iter().map(|unseen| json!({ "what": unseen.what, "collect": unseen.collect }));
        let mut report = json!({
            "result": self.verdict().word(),
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "runs": self.runs,
            "stops": self.stops_json(),
            "warnings": warnings.collect::<Vec<_>>(),
            "unknown": unseen.collect::<Vec<_>>(),
            "duration": self.duration_json(),
            "assumed": self.assumed,
        });
        if !self.what_if.is_empty() {
            let changed = self.what_if.iter().map(|(change, report)| {
                json!({
                    "change": change,
                    "result": report.verdict().word(),
                    "stops": report.stops_json(),
                    "duration": report.duration_json(),
                })
            });
            report["whatIf"] = changed.collect();
        }
        if let Some(back) = &self.back {
            report["back"] = back.to_json();
        }
        report
    }

    fn stops_json(&self) -> Value {
        let stops = self.stops.iter().map(|(stop, seeds)| {
            json!({
                "at": short_duration(stop.at),
                "to": stop.to,
                "phase": stop.phase,
                "waits": stop.waits,
                "cause": stop.cause.as_ref().map(cause_json),
                "message": stop.message,
                "halfDone": stop.half_done,
                "mend": stop.repair.as_ref().map(|repair| &repair.text),
                "seeds": seeds,
            })
        });
        stops.collect()
    }

    fn duration_json(&self) -> Value {
        let slow = self.slow.iter().map(|slow| json!({ "pool": slow.pool, "text": slow.text }));
        json!({
            "total": self.total.map(Range::to_json),
            "controlPlane": self.control_plane.map(Range::to_json),
            "pools": self.pools.iter().map(|(name, range)| (name.clone(), range.to_json())).collect::<serde_json::Map<_, _>>(),
            "slow": slow.collect::<Vec<_>>(),
        })
    }
}

/// The stops of all runs, each with the number of runs in which it came. A run stops twice for the same reason if the change did
/// not help: then no change lets it go on.
fn merge_stops(runs: &[Rehearsed]) -> Vec<(Stop, usize)> {
    let mut stops: Vec<(Stop, usize)> = Vec::new();
    for run in runs {
        let mut counted = BTreeSet::new();
        for stop in &run.stops {
            let is_same = |(known, _): &(Stop, usize)| {
                (&known.to, &known.phase, &known.cause) == (&stop.to, &stop.phase, &stop.cause)
            };
            let index = stops.iter().position(is_same).unwrap_or_else(|| {
                stops.push((stop.clone(), 0));
                stops.len() - 1
            });
            let (known, count) = &mut stops[index];
            *count += usize::from(counted.insert(index));
            known.at = known.at.min(stop.at);
            if stop.repair.is_none() {
                known.repair = None;
            }
        }
    }
    stops
}

/// The time of a run that completed the update.
fn total_time(run: &Rehearsed) -> Option<SignedDuration> {
    run.pools.values().chain(&run.control_plane).max().copied().filter(|_| run.is_complete)
}

fn cause_json(blamed: &Blamed) -> Value {
    json!({ "kind": blamed.kind, "namespace": blamed.namespace, "name": blamed.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(phase: &str, at: i64) -> Stop {
        Stop {
            at: SignedDuration::from_mins(at),
            to: "4.18.3".to_owned(),
            phase: phase.to_owned(),
            waits: String::new(),
            cause: None,
            message: String::new(),
            half_done: String::new(),
            repair: None,
            found_at: SignedDuration::ZERO,
        }
    }

    #[test]
    fn a_stop_counts_once_for_each_run() {
        let run = |stops: Vec<Stop>| Rehearsed { stops, ..Rehearsed::default() };
        let twice = run(vec![stop("accept", 3), stop("accept", 9), stop("pool worker", 20)]);
        let merged = merge_stops(&[twice, run(vec![stop("accept", 2)])]);
        let counts: Vec<(&str, i64, usize)> =
            merged.iter().map(|(stop, runs)| (stop.phase.as_str(), stop.at.as_mins(), *runs)).collect();
        assert_eq!(counts, [("accept", 2, 2), ("pool worker", 20, 1)]);
    }
}
