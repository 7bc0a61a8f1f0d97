//! Then: published insights, and the output of `oc adm upgrade status`.

use cucumber::gherkin::Step;
use cucumber::then;

use crate::plan::{Check, ExpectedState, InsightRef, StatusMatch, TextMatch};
use crate::steps::phrase::{
    self, Timing, condition, impact, insight, output_match, status_details, text_match,
};
use crate::steps::world::{ClusterWorld, StepError};

/// A condition of a published insight.
///
/// ```gherkin
/// Then within 1 minute the insight about ClusterVersion/version has condition Updating True
/// ```
#[then(
    regex = r"^((?:within|throughout) \d+ \w+ )?the insight about (\S+) has condition (\w+) (True|False|Unknown)(?: with (.+))?$"
)]
async fn insight_condition(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    kind: String,
    status: String,
    with: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::Insight(insight(&name)?, vec![condition(&kind, &status, &with)?]);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A field of a published insight, by its path.
///
/// ```gherkin
/// Then the insight about ClusterVersion/version has "versions.target.version" "4.14.8"
/// ```
#[then(regex = r#"^((?:within|throughout) \d+ \w+ )?the insight about (\S+) has "([^"]+)" ("[^"]*"|/.+/)$"#)]
async fn insight_field(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    path: String,
    value: String,
    step: &Step,
) -> Result<(), StepError> {
    let checks = vec![Check::Field { path, value: text_match(&value)? }];
    let what = ExpectedState::Insight(insight(&name)?, checks);
    world.expect(&step.value, timing.expectation(what)?).await
}

/// A published health insight with this subject and content exists, does not exist, or never existed since
/// the start.
///
/// ```gherkin
/// Then within 5 minutes there is a health insight with level "Critical" and summary /status/
/// Then there was never a health insight about ClusterVersion/version with impact "Update Stalled"
/// Then within 20 minutes there is a health insight about Alert/ClusterOperatorDown with level "Critical"
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?there (is a|is no|was never a) health insight(?: about ([A-Z]\w+/\S+))?((?: (?:with|and) (?:level|impact|summary|description) (?:"[^"]*"|/.+/))*)$"#
)]
async fn health_insight(
    world: &mut ClusterWorld,
    timing: Timing,
    there: String,
    about: String,
    content: String,
    step: &Step,
) -> Result<(), StepError> {
    let checks = impact(&content)?;
    let about = if about.is_empty() { None } else { Some(phrase::about(&world.kinds, &about)?) };
    let health = InsightRef { about, ..insight("Health")? };
    let what = match there.as_str() {
        "is a" => ExpectedState::Insight(health, checks),
        "is no" => ExpectedState::NoInsight(health, checks),
        _ => ExpectedState::NeverInsight(health, checks),
    };
    world.expect(&step.value, timing.expectation(what)?).await
}

/// No status insight about an object exists.
///
/// ```gherkin
/// Then within 5 minutes there is no insight about Node/worker-0
/// ```
#[then(regex = r"^((?:within|throughout) \d+ \w+ )?there is no insight about ([A-Z]\w+/\S+)$")]
async fn no_insight(
    world: &mut ClusterWorld,
    timing: Timing,
    name: String,
    step: &Step,
) -> Result<(), StepError> {
    let what = ExpectedState::NoInsight(insight(&name)?, Vec::new());
    world.expect(&step.value, timing.expectation(what)?).await
}

/// The output of `oc adm upgrade status` contains a text or matches a pattern.
///
/// ```gherkin
/// Then within 30 minutes the status with details "operators" contains "Updating:        etcd"
/// ```
#[then(
    regex = r#"^((?:within|throughout) \d+ \w+ )?the status(?: with details "(\w+)")? contains ("[^"]*(?:"[^"]*)*"|/.+/)$"#
)]
async fn status_contains(
    world: &mut ClusterWorld,
    timing: Timing,
    details: String,
    text: String,
    step: &Step,
) -> Result<(), StepError> {
    let part = match output_match(&text)? {
        TextMatch::Equals(part) => TextMatch::Contains(part),
        other => other,
    };
    let wanted = StatusMatch { details: status_details(&details)?, has: vec![part], snapshot: None };
    world.expect(&step.value, timing.expectation(ExpectedState::Status(wanted))?).await
}

/// The output of `oc adm upgrade status` equals the content of a file next to the feature.
///
/// ```gherkin
/// Then the status is as in "resting.txt"
/// ```
#[then(regex = r#"^the status(?: with details "(\w+)")? is as in "([^"]+)"$"#)]
async fn status_snapshot(
    world: &mut ClusterWorld,
    details: String,
    file: String,
    step: &Step,
) -> Result<(), StepError> {
    let (details, snapshot) = (status_details(&details)?, Some(world.snapshot(&file)?));
    let wanted = StatusMatch { details, has: Vec::new(), snapshot };
    world.expect(&step.value, Timing::default().expectation(ExpectedState::Status(wanted))?).await
}
