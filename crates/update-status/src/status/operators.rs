//! The cluster operators that the status counts, and the table of updating operators.

use std::fmt::Write as _;

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::text::truncate;

use super::go_time::{ZERO_TIME, moment, short, since};
use super::{Inputs, TABLE};

/// Annotation prefixes of operators that are part of a release payload; other operators do not count.
const FROM_PAYLOAD: [&str; 2] = ["exclude.release.openshift.io/", "include.release.openshift.io/"];

/// The operator that counts as updated only if it also reports the image of its Deployment.
const MACHINE_CONFIG: &str = "machine-config";

/// Maximum length of a displayed reason, in characters.
const REASON_WIDTH: usize = 20;

/// Counts of the payload's operators by state.
#[derive(Debug)]
pub(super) struct Census<'a> {
    /// All of them, in listed order.
    pub all: Vec<&'a Object>,
    /// The operators at the desired version.
    pub updated: usize,
    /// Outdated operators with `Progressing=True`, in listed order.
    pub updating: Vec<&'a Object>,
    /// Outdated operators with `Progressing=False`.
    pub waiting: usize,
    pub unavailable: usize,
    /// Available operators with `Degraded=True`.
    pub degraded: usize,
    /// The latest `Progressing` transition; that of the machine-config operator if only it is outdated and
    /// progressing.
    pub last_progress: Time,
}

impl<'a> Census<'a> {
    pub(super) fn take(inputs: &'a Inputs) -> Self {
        let desired = inputs.cluster_version.text("/status/desired/version");
        let mco_image = mco_image(inputs);
        let mut census = Self {
            all: Vec::new(),
            updated: 0,
            updating: Vec::new(),
            waiting: 0,
            unavailable: 0,
            degraded: 0,
            last_progress: ZERO_TIME,
        };
        for operator in inputs.cluster_operators.iter().filter(|operator| is_from_payload(operator)) {
            census.count(operator, is_updated(operator, desired, mco_image));
        }
        if let [last] = census.updating[..]
            && last.name() == MACHINE_CONFIG
            && census.all.len() - census.updated == 1
        {
            census.last_progress = progress_transition(last);
        }
        census
    }

    fn count(&mut self, operator: &'a Object, updated: bool) {
        self.all.push(operator);
        self.last_progress = self.last_progress.max(progress_transition(operator));
        match (updated, status(operator, "Progressing")) {
            (true, _) => self.updated += 1,
            (false, "True") => self.updating.push(operator),
            (false, "False") => self.waiting += 1,
            _ => {}
        }
        if status(operator, "Available") != "True" {
            self.unavailable += 1;
        } else if status(operator, "Degraded") == "True" {
            self.degraded += 1;
        }
    }

    pub(super) fn all_updated(&self) -> bool {
        self.updated == self.all.len()
    }

    /// Returns the fraction of updated operators, from 0 to 1; 1 when there are no operators.
    pub(super) fn share(&self) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if self.all.is_empty() { 1.0 } else { number(self.updated) / number(self.all.len()) }
    }

    /// Returns the text of the line `Operator Health:`.
    pub(super) fn health(&self) -> String {
        let mut text = format!("{} Healthy", self.all.len() - self.unavailable - self.degraded);
        for (count, what) in [(self.unavailable, "Unavailable"), (self.degraded, "Available but degraded")] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
    }

    /// Returns the table of updating operators.
    pub(super) fn table(&self, now: Time) -> String {
        let mut rows = "NAME\tSINCE\tREASON\tMESSAGE\n".to_owned();
        for operator in &self.updating {
            let progressing = condition(operator, "Progressing").unwrap_or(&Value::Null);
            let text = |field: &str| progressing[field].as_str().unwrap_or_default();
            let reason = if text("reason").is_empty() { "-" } else { text("reason") };
            // Keeps nanoseconds, unlike the other displayed durations, as `oc` does.
            let since = short(since(now, moment(progressing, "lastTransitionTime")));
            // Aligns the continuation lines of a message with its first line.
            let message = text("message").replace('\n', "\n\t\t\t");
            let _ =
                writeln!(rows, "{}\t{since}\t{}\t{message}", operator.name(), truncate(reason, REASON_WIDTH));
        }
        TABLE.layout(&rows)
    }
}

fn is_from_payload(operator: &Object) -> bool {
    let annotations = operator.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations
        .is_some_and(|all| all.keys().any(|key| FROM_PAYLOAD.iter().any(|start| key.starts_with(start))))
}

fn is_updated(operator: &Object, desired: &str, mco_image: &str) -> bool {
    let mut versions = operator.list("/status/versions").iter().map(|entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        (text("name"), text("version"))
    });
    let runs_another_image = operator.name() == MACHINE_CONFIG
        && versions.clone().any(|(name, version)| name == "operator-image" && version != mco_image);
    !runs_another_image && versions.any(|entry| entry == ("operator", desired))
}

/// Returns the image of the machine-config operator in its Deployment; empty if unknown.
fn mco_image(inputs: &Inputs) -> &str {
    let deployment = inputs.machine_config_operator.as_ref();
    let containers = deployment.map_or(&[][..], |object| object.list("/spec/template/spec/containers"));
    let container = containers.iter().find(|container| container["name"] == "machine-config-operator");
    container.and_then(|found| found["image"].as_str()).unwrap_or_default()
}

/// Returns the last condition of this type: the one that counts if there are several.
pub(super) fn condition<'a>(operator: &'a Object, kind: &str) -> Option<&'a Value> {
    operator.list("/status/conditions").iter().rfind(|condition| condition["type"] == kind)
}

fn status<'a>(operator: &'a Object, kind: &str) -> &'a str {
    condition(operator, kind).and_then(|found| found["status"].as_str()).unwrap_or_default()
}

fn progress_transition(operator: &Object) -> Time {
    condition(operator, "Progressing").map_or(ZERO_TIME, |found| moment(found, "lastTransitionTime"))
}
