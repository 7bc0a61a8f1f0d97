//! Then: published insights, and the output of `oc adm upgrade status`.

use super::definition::{Definition, Words, meaning, names, then};
use crate::plan::{Check, ExpectedState, InsightRef, StatusMatch, TextMatch};
use crate::steps::phrase::{self, condition, field, impact, insight, output_match, status_details};

const HEALTH: &str = concat!(
    r"{timing}there {word} health insight(?: about ([A-Z]\w+/\S+))?",
    r#"((?: (?:with|and) (?:level|impact|summary|description) (?:"[^"]*"|/.+/))*)"#,
);

const EXISTENCE: Words<fn(InsightRef, Vec<Check>) -> ExpectedState> = &[
    ("is a", ExpectedState::Insight),
    ("is no", ExpectedState::NoInsight),
    ("was never a", ExpectedState::NeverInsight),
];

pub(in crate::steps) const STEPS: &[Definition] = &[
    then(
        r"{timing}the insight about (\S+) has condition (\w+) (True|False|Unknown)(?: with (.+))?",
        "A condition of a published insight.",
        &["within 1 minute the insight about ClusterVersion/version has condition Updating True"],
        |_, call| {
            let [name, kind, status, with] = call.values();
            Ok(ExpectedState::Insight(insight(&name)?, vec![condition(&kind, &status, &with)?]))
        },
    ),
    then(
        r#"{timing}the insight about (\S+) has "([^"]+)" {text}"#,
        "A field of a published insight, by its path.",
        &[r#"the insight about ClusterVersion/version has "versions.target.version" "4.14.8""#],
        |_, call| {
            let [name, path, value] = call.values();
            let checks = vec![field(path, &value)?];
            Ok(ExpectedState::Insight(insight(&name)?, checks))
        },
    ),
    then(
        HEALTH,
        "A published health insight with this subject and content exists, does not exist, or never \
         existed since the start.",
        &[
            r#"within 5 minutes there is a health insight with level "Critical" and summary /status/"#,
            r#"there was never a health insight about ClusterVersion/version with impact "Update Stalled""#,
            r#"within 20 minutes there is a health insight about Alert/ClusterOperatorDown with level "Critical""#,
        ],
        |world, call| {
            let [there, about, content] = call.values();
            let checks = impact(&content)?;
            let about = if about.is_empty() { None } else { Some(phrase::about(&world.kinds, &about)?) };
            let health = InsightRef { about, ..insight("Health")? };
            Ok(meaning(EXISTENCE, &there)?(health, checks))
        },
    )
    .with_words(|| names(EXISTENCE)),
    then(
        r"{timing}there is no insight about ([A-Z]\w+/\S+)",
        "No status insight about an object exists.",
        &["within 5 minutes there is no insight about Node/worker-0"],
        |_, call| {
            let [name] = call.values();
            Ok(ExpectedState::NoInsight(insight(&name)?, Vec::new()))
        },
    ),
    then(
        r#"{timing}the status(?: with details "(\w+)")? contains ("[^"]*(?:"[^"]*)*"|/.+/)"#,
        "The output of `oc adm upgrade status` contains a text or matches a pattern.",
        &[r#"within 30 minutes the status with details "operators" contains "Updating:        etcd""#],
        |_, call| {
            let [details, text] = call.values();
            let part = match output_match(&text)? {
                TextMatch::Equals(part) => TextMatch::Contains(part),
                other => other,
            };
            let wanted = StatusMatch { details: status_details(&details)?, has: vec![part], snapshot: None };
            Ok(ExpectedState::Status(wanted))
        },
    ),
    then(
        r#"the status(?: with details "(\w+)")? is as in "([^"]+)""#,
        "The output of `oc adm upgrade status` equals the content of a file next to the feature.",
        &[r#"the status is as in "resting.txt""#],
        |world, call| {
            let [details, file] = call.values();
            let (details, snapshot) = (status_details(&details)?, Some(world.snapshot(&file)?));
            let wanted = StatusMatch { details, has: Vec::new(), snapshot };
            Ok(ExpectedState::Status(wanted))
        },
    ),
];
