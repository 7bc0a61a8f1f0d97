//! Warnings about accepted workloads, besides those about their pod templates (`WarningsOnCreate`,
//! `WarningsOnUpdate`).

use serde_json::Value;

use super::job;
use crate::kinds::validation::storage::warnings::claim_sizes;
use crate::kinds::validation::{Path, items, text};
use crate::names;
use crate::profile::since;

/// Warns about the name of a new object whose pods get names from it.
pub(in crate::kinds::validation) fn name(
    object: &Value,
    old: Option<&Value>,
    _minor: u32,
    out: &mut Vec<String>,
) {
    let problems = names::label(text(&object["metadata"]["name"]));
    if old.is_none() && !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS \
             label is recommended: [{}]",
            problems.join(" ")
        ));
    }
}

pub(in crate::kinds::validation) fn job(
    object: &Value,
    old: Option<&Value>,
    minor: u32,
    out: &mut Vec<String>,
) {
    name(object, old, minor, out);
    if changes_generation(object, old) {
        out.extend(job::limits::warning(&object["spec"], "spec"));
    }
}

pub(in crate::kinds::validation) fn cron_job(
    object: &Value,
    old: Option<&Value>,
    minor: u32,
    out: &mut Vec<String>,
) {
    name(object, old, minor, out);
    if changes_generation(object, old) {
        out.extend(job::limits::warning(&object["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec"));
    }
    if old.is_some() && text(&object["spec"]["schedule"]).contains("TZ") {
        out.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
}

fn changes_generation(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| old["metadata"]["generation"] != object["metadata"]["generation"])
}

pub(in crate::kinds::validation) fn stateful_set(
    object: &Value,
    old: Option<&Value>,
    minor: u32,
    out: &mut Vec<String>,
) {
    let spec = &object["spec"];
    let at = Path::Root.child("spec");
    let list = at.child("volumeClaimTemplates");
    for (index, claim) in items(&spec["volumeClaimTemplates"]).iter().enumerate() {
        let (resources, at) = (&claim["spec"]["resources"], list.index(index));
        if old.is_some() {
            // A real server writes the path of an update so.
            claim_sizes(resources, at.child("Spec").child("resources"), out);
        } else {
            claim_sizes(resources, at.child("resources"), out);
        }
    }
    let is_negative = spec["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0);
    if is_negative && minor >= since::HISTORY_LIMIT_WARNING {
        out.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
}
