//! Validation of CronJobs (`validateCronJobSpec`).

pub(in crate::kinds::validation) mod schedule;
mod zone;

use serde_json::Value;

use crate::kinds::validation::workloads::job;
use crate::kinds::validation::{Errors, Path, non_negative, one_of, selector, text};

const CONCURRENCY_POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];
/// The names of jobs add 11 characters to that of their CronJob, and are labels.
const MOST_NAME: usize = 52;

/// Validates a CronJob.
pub(in crate::kinds::validation) fn cron_job(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let before = old.map(|old| &old["spec"]);
    schedule_and_zone(spec, before, at, errors);
    for field in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        non_negative(&spec[field], at.child(field), errors);
    }
    one_of(&spec["concurrencyPolicy"], &CONCURRENCY_POLICIES, at.child("concurrencyPolicy"), errors);
    job_template(&spec["jobTemplate"]["spec"], at.child("jobTemplate").child("spec"), errors);
    let name = text(&object["metadata"]["name"]);
    if old.is_none() && name.len() > MOST_NAME {
        let why = format!("must be no more than {MOST_NAME} characters");
        errors.invalid(Path::Root.child("metadata").child("name"), name, why);
    }
}

fn schedule_and_zone(spec: &Value, before: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let (given, place) = (text(&spec["schedule"]), at.child("schedule"));
    if given.is_empty() {
        errors.required(place, "");
    } else {
        if let Err(why) = schedule::parse(given) {
            errors.invalid(place, given, why);
        }
        // A schedule that had a zone may keep one.
        let may_have_zone = before.is_some_and(|before| text(&before["schedule"]).contains("TZ"));
        let why = match (given.contains("TZ"), may_have_zone) {
            (true, false) => Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
            (true, true) if !spec["timeZone"].is_null() => {
                Some("cannot use both timeZone field and TZ or CRON_TZ in schedule")
            }
            _ => None,
        };
        if let Some(why) = why {
            errors.invalid(place, given, why);
        }
    }
    if before.is_none_or(|before| before["timeZone"] != spec["timeZone"])
        && let Some(given) = spec["timeZone"].as_str()
    {
        zone::check(given, at.child("timeZone"), errors);
    }
}

/// Validates the specification of the jobs, whose selectors the server generates (`ValidateJobTemplateSpec`).
fn job_template(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    job::spec(spec, at, errors);
    if !spec["selector"].is_null() {
        let why = "`selector` will be auto-generated";
        selector::invalid(&spec["selector"], at.child("selector"), why, errors);
    }
    if spec["manualSelector"] == true {
        let known = ["nil", "false"];
        errors.unsupported_shown(at.child("manualSelector"), "true".to_owned(), "true".to_owned(), &known);
    }
}
