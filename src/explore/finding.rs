//! Findings: shrunk cases that break a rule, and their scenarios.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windtunnel_core::rng::fnv1a;
use windtunnel_core::yaml::comment;

use super::case::Case;
use super::oracles::{OracleFinding, rules};
use super::place::Place;
use crate::oracles::ORACLES;
use crate::record::{Secrets, redact_secret};

/// A case that breaks a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The id of the oracle.
    pub oracle: String,
    /// The cause, by which findings differ.
    pub cause: String,
    /// What the oracle found, in words.
    pub text: String,
    /// The case, as small as it could be made.
    pub case: Case,
    /// Steps of the scenario language that fail because of it.
    pub last_steps: Vec<Value>,
    /// The entry of the record in which it shows, when the scenario runs.
    pub place: Option<Place>,
    /// The number of the run that found it.
    pub found_in_run: u64,
    /// The shard that found it, such as `2/3`; empty without shards.
    pub shard: String,
    /// The number of runs with this cause.
    pub runs: u64,
    /// Whether nothing is left to make smaller.
    pub is_shrunk: bool,
    /// Whether the case breaks the rule again when it runs from its start, and its scenario fails.
    pub is_reproduced: bool,
}

impl Finding {
    /// The finding about a case that is not shrunk yet.
    pub(super) fn new(case: &Case, oracle_finding: &OracleFinding) -> Self {
        Self {
            oracle: oracle_finding.oracle.clone(),
            cause: oracle_finding.cause(),
            text: oracle_finding.text.clone(),
            case: case.clone(),
            last_steps: oracle_finding.last_steps.clone(),
            place: None,
            found_in_run: 0,
            shard: String::new(),
            runs: 1,
            is_shrunk: false,
            is_reproduced: false,
        }
    }

    /// A name for files, the same for the same cause.
    pub fn file_name(&self) -> String {
        let oracle = self.oracle.replace('/', "-");
        format!("{oracle}-{:08x}.yaml", fnv1a(self.cause.as_bytes()) & 0xffff_ffff)
    }

    /// The rule that the case breaks, in one sentence.
    pub fn rule(&self) -> String {
        let known = rules().find(|(id, _)| *id == self.oracle);
        known
            .map_or("Every run keeps this invariant of docs/scenario-language.md.", |(_, rule)| rule)
            .to_owned()
    }

    /// The scenario that fails because of it, with comments for its reader.
    pub fn scenario(&self) -> String {
        let text = self.text.lines().next().unwrap_or_default();
        let place = self.place.as_ref().map_or_else(String::new, |place| format!("Shows in {place}\n"));
        let comments = format!(
            "Broken: {text}\nRule: {}: {}\n{place}Run it: {}",
            self.oracle,
            self.rule(),
            self.command()
        );
        comment(&comments) + &self.case.to_yaml(&self.name(), &self.last_steps)
    }

    /// The finding for reports: without the values of the Secrets in a scenario of the user.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut shown = self.clone();
        let secrets = Secrets::default();
        shown.case.values_mut().for_each(|value| redact_secrets(value, &secrets));
        let values = shown.case.values_mut().chain(&mut shown.last_steps);
        values.for_each(|value| secrets.hide_in_value(value));
        for text in [&mut shown.cause, &mut shown.text] {
            *text = secrets.hide(text);
        }
        shown
    }

    /// Whether the scenario fails when it runs as any other. Some rules only the exploration checks.
    pub(super) fn fails_in_run(&self) -> bool {
        self.oracle == "rbac" || self.oracle != "same-record" && !self.is_of_record()
    }

    /// Whether `windtunnel check` shows the finding.
    fn is_of_record(&self) -> bool {
        ORACLES.iter().any(|oracle| oracle.id == self.oracle)
    }

    /// The command that shows the finding.
    pub fn command(&self) -> String {
        let file = self.file_name();
        match &*self.oracle {
            "same-record" => format!("windtunnel run --check-determinism {file}"),
            "panic" => format!("windtunnel run {file}"),
            _ if self.fails_in_run() => format!("windtunnel run {file} --record record.jsonl"),
            _ => format!("windtunnel run {file} --record record.jsonl && windtunnel check record.jsonl"),
        }
    }

    /// The name of the scenario.
    fn name(&self) -> String {
        let text: String = self.cause.chars().filter(|c| !"\"\\`".contains(*c)).take(90).collect();
        format!("Found: {text}")
    }

    /// The finding of the oracle.
    pub(super) fn oracle_finding(&self) -> OracleFinding {
        OracleFinding::known(&self.oracle, &self.text, &self.cause, self.last_steps.clone())
    }
}

/// Learns the values of the Secrets in a part of a scenario, and removes all of them from there.
fn redact_secrets(value: &mut Value, secrets: &Secrets) {
    let is_patch = value["object"].as_str().is_some_and(|object| object.starts_with("Secret/"));
    let secret = match value {
        Value::Object(_) if value["kind"] == "Secret" => Some(&mut *value),
        _ => value.get_mut("merge").filter(|_| is_patch),
    };
    if let Some(secret) = secret {
        secrets.learn_secret(secret);
        redact_secret(secret);
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redact_secrets(item, secrets)),
        Value::Object(map) => map.values_mut().for_each(|item| redact_secrets(item, secrets)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finding_for_reports_lacks_the_secrets_of_the_user() {
        let text = "name: s\ncluster: {version: 4.14.1}\ntimeline:\n\
                    - apply: {kind: Secret, apiVersion: v1, metadata: {name: s}, stringData: {pin: \"7531\", a: correct horse}}\n\
                    - patch: {object: Secret/default/s, merge: {stringData: {b: battery staple}}}\n\
                    - apply: {kind: ConfigMap, apiVersion: v1, metadata: {name: c}, data: {c: correct horse}}\n";
        let oracle_finding = OracleFinding::known(
            "rbac",
            "it is battery staple",
            "cause",
            vec![json!({ "a": "correct horse" })],
        );
        let finding = Finding::new(&Case::of_scenario(text).unwrap(), &oracle_finding);
        let shown = finding.without_secrets().scenario();
        for value in ["7531", "correct horse", "battery staple"] {
            assert!(finding.scenario().contains(value) && !shown.contains(value), "{value} in {shown}");
        }
        assert!(shown.contains("c: \"REDACTED\"") || shown.contains("c: REDACTED"), "{shown}");
    }
}
