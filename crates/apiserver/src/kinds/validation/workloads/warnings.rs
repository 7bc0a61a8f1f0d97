//! Warnings about accepted workloads, besides those about their pod templates (`WarningsOnCreate`,
//! `WarningsOnUpdate`).

use serde_json::Value;

use super::job;
use crate::gotext::quote;
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{items, text};
use crate::names;

/// Adds the warnings about an object.
pub(in crate::kinds::validation) type Warner = fn(&Value, Option<&Value>, &mut Vec<String>);

/// Warns about the name of a new object whose pods get names from it.
pub(in crate::kinds::validation) fn name(object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let problems = names::label(text(&object["metadata"]["name"]));
    if old.is_none() && !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS \
             label is recommended: [{}]",
            problems.join(" ")
        ));
    }
}

pub(in crate::kinds::validation) fn job(object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    name(object, old, out);
    if changes_generation(object, old) {
        out.extend(job::limits::warning(&object["spec"], "spec"));
    }
}

pub(in crate::kinds::validation) fn cron_job(object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    name(object, old, out);
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

pub(in crate::kinds::validation) fn stateful_set(object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let spec = &object["spec"];
    // A real server writes the path of an update so.
    let part = if old.is_some() { ".Spec" } else { "" };
    for (index, claim) in items(&spec["volumeClaimTemplates"]).iter().enumerate() {
        let path = format!("spec.volumeClaimTemplates[{index}]{part}");
        claim_sizes(&claim["spec"]["resources"], &path, out);
    }
    if spec["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0) {
        out.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
}

/// Warns about sizes that are not whole bytes (`GetWarningsForPersistentVolumeClaimSpec`).
fn claim_sizes(resources: &Value, path: &str, out: &mut Vec<String>) {
    for list in ["requests", "limits"] {
        let size = Quantity::parse(text(&resources[list]["storage"])).ok().flatten();
        if let Some(size) = size.filter(|size| !size.is_whole()) {
            let shown = quote(&size.text());
            let why = format!("fractional byte value {shown} is invalid, must be an integer");
            out.push(format!("{path}.resources.{list}[storage]: {why}"));
        }
    }
}
