//! Validation of status writes of Jobs (`ValidateJobStatusUpdate`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{indexes, is_indexed, texts};
use crate::kinds::validation::{Errors, Path, absent, items, non_negative, text};
use crate::profile::since;

const NUMBERS: [&str; 5] = ["active", "succeeded", "failed", "ready", "terminating"];

/// A Job before and after a status write.
struct Change<'a> {
    job: &'a Value,
    old: &'a Value,
    status: &'a Value,
    before: &'a Value,
    /// Whether the server has the rules that came with jobs of other controllers (`JobManagedBy`).
    is_strict: bool,
}

/// Validates the status of a Job.
pub(in crate::kinds::validation) fn check(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let Some(old) = old else { return };
    let is_strict = errors.profile.minor >= since::JOB_MANAGED_BY;
    let change = Change { job: object, old, status: &object["status"], before: &old["status"], is_strict };
    let at = Path::Root.child("status");
    for field in NUMBERS {
        non_negative(&change.status[field], at.child(field), errors);
    }
    uncounted(&change.status["uncountedTerminatedPods"], at.child("uncountedTerminatedPods"), errors);
    change.exclusive_conditions(at.child("conditions"), errors);
    if is_strict {
        change.times(at, errors);
        change.finished(at, errors);
        change.index_sets(at, errors);
        change.counters(at, errors);
        change.kept_conditions(at.child("conditions"), errors);
    }
    change.success_criteria(at.child("conditions"), errors);
}

/// Rejects empty and repeated pods.
fn uncounted(pods: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        let at = at.child(list);
        for (index, uid) in texts(&pods[list]).enumerate() {
            if uid.is_empty() {
                errors.invalid(at.index(index), uid, "must not be empty");
            } else if !seen.insert(uid) {
                errors.duplicate(at.index(index), uid);
            }
        }
    }
}

fn has(status: &Value, kind: &str, wanted: &str) -> bool {
    items(&status["conditions"]).iter().any(|one| one["type"] == kind && one["status"] == wanted)
}

fn is_true(status: &Value, kind: &str) -> bool {
    has(status, kind, "True")
}

fn is_finished(status: &Value) -> bool {
    is_true(status, "Complete") || is_true(status, "Failed")
}

fn number(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

impl Change<'_> {
    fn changes(&self, field: &str) -> bool {
        self.status[field] != self.before[field]
    }

    fn changes_condition(&self, kind: &str) -> bool {
        is_true(self.status, kind) != is_true(self.before, kind)
    }

    fn changes_completion(&self) -> bool {
        is_finished(self.status) != is_finished(self.before)
    }

    /// Rejects pairs of conditions that contradict each other.
    fn exclusive_conditions(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let changed = |kinds: [&str; 2]| kinds.into_iter().any(|kind| self.changes_condition(kind));
        let both = |kinds: [&str; 2]| kinds.into_iter().all(|kind| is_true(self.status, kind));
        let pairs = [
            (["Complete", "Failed"], true),
            (["Complete", "FailureTarget"], true),
            (["SuccessCriteriaMet", "Failed"], false),
            (["SuccessCriteriaMet", "FailureTarget"], false),
        ];
        for (kinds, only_if_changed) in pairs {
            let applies = !only_if_changed || self.is_strict && changed(kinds);
            if applies && both(kinds) {
                let why = format!("cannot set {}=True and {}=true conditions", kinds[0], kinds[1]);
                errors.invalid_omitted(at, why);
            }
        }
    }

    /// The times of a Job, and the conditions that come before the final ones.
    fn times(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let (start, end) = (&self.status["startTime"], &self.status["completionTime"]);
        let place = at.child("completionTime");
        let is_complete = is_true(self.status, "Complete");
        let completes = self.changes_condition("Complete") || self.changes("completionTime");
        if completes && !end.is_null() && !is_complete {
            let why = "cannot set completionTime when there is no Complete=True condition";
            errors.invalid_time(place, end, why);
        }
        if completes && end.is_null() && is_complete {
            errors.required(place, "completionTime is required for Complete jobs");
        }
        let timed = self.changes("startTime") || self.changes("completionTime");
        // Times in UTC compare like text.
        if timed && !start.is_null() && !end.is_null() && text(end) < text(start) {
            errors.invalid_time(place, end, "must be equal to or after `startTime`");
        }
        let place = at.child("conditions");
        let failing = self.changes_condition("Failed") || self.changes("failedIndexes");
        if failing && is_true(self.status, "Failed") && !is_true(self.status, "FailureTarget") {
            let why = "cannot set Failed=True condition without the FailureTarget=true condition";
            errors.invalid_omitted(place, why);
        }
        let succeeding = self.changes_condition("Complete") || self.changes_condition("SuccessCriteriaMet");
        if succeeding && is_complete && !is_true(self.status, "SuccessCriteriaMet") {
            let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            errors.invalid_omitted(place, why);
        }
    }

    /// A finished Job has a start, and no pods that run or wait to be counted.
    fn finished(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let ready = &self.status["ready"];
        if (self.changes("ready") || self.changes("active"))
            && ready.as_i64().is_some_and(|ready| ready > number(self.status, "active"))
        {
            errors.invalid(at.child("ready"), ready.clone(), "cannot set more ready pods than active");
        }
        if !is_finished(self.status) {
            return;
        }
        for field in ["active", "terminating"] {
            let count = number(self.status, field);
            if (self.changes_completion() || self.changes(field)) && count > 0 {
                errors.invalid(at.child(field), count, format!("{field}>0 is invalid for finished job"));
            }
        }
        let spec = &self.job["spec"];
        let is_empty = spec["suspend"] == true && spec["completions"] == 0;
        let starts = (self.changes_completion() || self.changes("startTime")) && !is_empty;
        if starts && self.status["startTime"].is_null() {
            errors.required(at.child("startTime"), "startTime is required for finished job");
        }
        let pods = &self.status["uncountedTerminatedPods"];
        let has_pods = ["succeeded", "failed"].iter().any(|list| !items(&pods[*list]).is_empty());
        if (self.changes_completion() || self.changes("uncountedTerminatedPods")) && has_pods {
            let json = format!("{{\"Succeeded\":{},\"Failed\":{}}}", pods["succeeded"], pods["failed"]);
            let syntax = format!("&batch.UncountedTerminatedPods{json}");
            let place = at.child("uncountedTerminatedPods");
            errors.invalid_shown(place, json, syntax, "must be empty for finished job");
        }
    }

    /// The sets of completed and failed indexes.
    fn index_sets(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let spec = &self.job["spec"];
        let (completed, failed) = (&self.status["completedIndexes"], &self.status["failedIndexes"]);
        let (done, broken) = (self.changes("completedIndexes"), self.changes("failedIndexes"));
        let completions = spec["completions"].as_i64();
        let has_limit = !spec["backoffLimitPerIndex"].is_null();
        let mut parse = |set: &Value, field: &str| {
            let counted = completions.map(|completions| indexes::count(text(set), completions));
            if let Some(Err(why)) = counted {
                errors.invalid(at.child(field), set.clone(), format!("error parsing {field}: {why}"));
            }
        };
        if done {
            parse(completed, "completedIndexes");
        }
        if broken && has_limit && !failed.is_null() {
            parse(failed, "failedIndexes");
        }
        if done && !absent(completed) && !is_indexed(spec) {
            let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.invalid(at.child("completedIndexes"), completed.clone(), why);
        }
        if broken && !has_limit && !failed.is_null() {
            let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.invalid(at.child("failedIndexes"), failed.clone(), why);
        }
        let overlap = completions
            .filter(|_| (done || broken) && !absent(completed) && !absent(failed))
            .and_then(|completions| indexes::overlap(text(completed), text(failed), completions));
        if let Some(index) = overlap {
            let why = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.invalid(at.child("failedIndexes"), failed.clone(), why);
        }
    }

    /// Counters do not decrease, and times do not change.
    fn counters(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let spec = &self.job["spec"];
        let is_elastic = is_indexed(spec) && spec["completions"] == spec["parallelism"];
        for field in ["failed", "succeeded"] {
            let (count, before) = (number(self.status, field), number(self.before, field));
            if count < before && !(field == "succeeded" && is_elastic) {
                errors.invalid(at.child(field), count, format!("cannot decrease the {field} counter"));
            }
        }
        let (end, old_end) = (&self.status["completionTime"], &self.before["completionTime"]);
        if !end.is_null() && !old_end.is_null() && end != old_end {
            let why = errors.profile.since(
                since::SHORTER_DETAILS,
                "completionTime cannot be mutated",
                "field is immutable",
            );
            errors.invalid_time(at.child("completionTime"), end, why);
        }
        let resumes = is_true(self.before, "Suspended") && has(self.status, "Suspended", "False");
        let (start, old_start) = (&self.status["startTime"], &self.before["startTime"]);
        if start != old_start && !resumes && !old_start.is_null() && spec["suspend"] != true {
            if start.is_null() && errors.profile.minor < since::START_TIME_IMMUTABLE {
                errors.required(at.child("startTime"), "startTime cannot be removed for unsuspended job");
                return;
            }
            let why = "field is immutable for unsuspended job once set";
            errors.invalid_time(at.child("startTime"), start, why);
        }
    }

    /// Final conditions stay.
    fn kept_conditions(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        for kind in ["Failed", "Complete", "FailureTarget"] {
            if is_true(self.before, kind) && !is_true(self.status, kind) {
                errors.invalid_omitted(at, format!("cannot disable the terminal {kind}=True condition"));
            }
        }
    }

    /// The condition that a Job has succeeded, before it is complete.
    fn success_criteria(&self, at: Path<'_>, errors: &mut Errors<'_>) {
        let is_met = |status| is_true(status, "SuccessCriteriaMet");
        let is_complete = |status| is_true(status, "Complete");
        if !self.job["spec"]["successPolicy"].is_null() && !is_met(self.status) && is_complete(self.status) {
            let why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            errors.invalid_omitted(at, why);
        }
        if is_met(&self.old["status"]) && !is_met(self.status) {
            errors.invalid_omitted(at, "cannot disable the SuccessCriteriaMet=True condition");
        }
        if is_complete(self.before) && !is_met(self.before) && is_met(self.status) {
            let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            errors.invalid_omitted(at, why);
        }
    }
}
