//! The condition Recommended of a conditional update.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::model::condition::Condition;
use crate::model::graph::{Risk, Rule};

/// What reasons of conditions may look like; a risk with another name has a general reason.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static REASON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$").expect("pattern"));

/// Recommended, by the risks and whether the cluster is exposed to each. False beats Unknown, and that beats True.
pub(super) fn recommended<'a>(risks: impl Iterator<Item = (&'a Risk, Result<bool, String>)>) -> Condition {
    let told: Vec<Condition> = risks.filter_map(|(risk, exposed)| doubt(risk, exposed)).collect();
    let status = if told.iter().any(|one| one.status == "False") { "False" } else { "Unknown" };
    let message: Vec<&str> = told.iter().map(|one| one.message.as_str()).collect();
    let message = message.join("\n\n");
    match told.as_slice() {
        [] => Condition::new(
            "Recommended",
            "True",
            "NotExposedToRisks",
            "The update is recommended, because none of the conditional update risks apply to this cluster.",
        ),
        [one] => one.clone(),
        _ => Condition::new("Recommended", status, "MultipleReasons", message),
    }
}

/// Why one risk speaks against the update, if it does.
fn doubt(risk: &Risk, exposed: Result<bool, String>) -> Option<Condition> {
    let Risk { name, url, message, .. } = risk;
    match exposed {
        Ok(false) => None,
        Ok(true) => {
            let reason = if REASON.is_match(name) { name } else { "ExposedToRisks" };
            Some(Condition::new("Recommended", "False", reason, format!("{message} {url}")))
        }
        Err(error) => {
            let text = format!(
                "Could not evaluate exposure to update risk {name} ({error})\n  {name} description: {message}\n  {name} URL: {url}"
            );
            Some(Condition::new("Recommended", "Unknown", "EvaluationFailed", text))
        }
    }
}

/// A risk as `conditionalUpdates` shows it.
pub(super) fn as_status(risk: &Risk) -> Value {
    let rule = |rule: &Rule| match rule {
        Rule::Always => json!({ "type": "Always" }),
        Rule::PromQl(text) => json!({ "type": "PromQL", "promql": { "promql": text } }),
    };
    let rules: Vec<Value> = risk.rules.iter().map(rule).collect();
    json!({ "name": risk.name, "url": risk.url, "message": risk.message, "matchingRules": rules })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(risks: &[(&str, Result<bool, &str>)], expected: (&str, &str, &str)) {
        let risks: Vec<(Risk, Result<bool, String>)> = risks
            .iter()
            .map(|(name, exposed)| {
                let (url, message) = (format!("https://example.com/{name}"), format!("{name} breaks."));
                let risk = Risk { name: (*name).to_owned(), url, message, rules: vec![Rule::Always] };
                (risk, exposed.map_err(str::to_owned))
            })
            .collect();
        let found = recommended(risks.iter().map(|(risk, exposed)| (risk, exposed.clone())));
        assert_eq!((found.status.as_str(), found.reason.as_str(), found.message.as_str()), expected);
    }

    #[test]
    fn risks_make_the_condition() {
        check(
            &[("A", Ok(false)), ("B", Ok(false))],
            (
                "True",
                "NotExposedToRisks",
                "The update is recommended, because none of the conditional update risks apply to this cluster.",
            ),
        );
        check(&[("A", Ok(false)), ("B", Ok(true))], ("False", "B", "B breaks. https://example.com/B"));
        check(&[("a-b", Ok(true))], ("False", "ExposedToRisks", "a-b breaks. https://example.com/a-b"));
        let unknown = "Could not evaluate exposure to update risk B (invalid PromQL result length must be one, but is 0)\n  B description: B breaks.\n  B URL: https://example.com/B";
        let error = Err("invalid PromQL result length must be one, but is 0");
        check(&[("A", Ok(false)), ("B", error)], ("Unknown", "EvaluationFailed", unknown));
        check(
            &[("B", error), ("A", Ok(true))],
            ("False", "MultipleReasons", &format!("{unknown}\n\nA breaks. https://example.com/A")),
        );
    }
}
