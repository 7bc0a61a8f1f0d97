//! The condition Recommended of a conditional update.

use std::sync::LazyLock;

use regex::Regex;
use windtunnel_core::condition::Condition;

use super::accepted::Accepted;
use crate::graph::Risk;

const NOT_EXPOSED: &str = "NotExposedToRisks";
/// The reason in releases up to 4.14.
const AS_EXPECTED: &str = "AsExpected";
const ACCEPTED: &str = "AllExposedRisksAccepted";

/// The valid form of a condition's reason. A risk with another name gets a general reason.
#[expect(clippy::expect_used, reason = "a constant pattern, which a test compiles")]
static REASON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$").expect("pattern"));

/// The condition Recommended, from the risks and the cluster's exposure to each. False wins over Unknown, and
/// Unknown over True. Accepted risks do not count. Operators up to 4.14 ([`Behaviour::reports_exposure`]) use
/// other reasons and messages.
///
/// [`Behaviour::reports_exposure`]: crate::cvo::behaviour::Behaviour::reports_exposure
pub(super) fn recommended(
    risks: &[(&Risk, Result<bool, String>)],
    accepted: Option<&Accepted>,
    reports_exposure: bool,
) -> Condition {
    let none = if reports_exposure { NOT_EXPOSED } else { AS_EXPECTED };
    let (mut applying, mut reason, mut all_accepted) = (Vec::new(), none.to_owned(), false);
    for (risk, exposed) in risks {
        let found = match exposed {
            Ok(true) if accepted.is_some_and(|names| names.has(&risk.name)) => {
                all_accepted = true;
                Condition::new("Recommended", "True", ACCEPTED, "")
            }
            exposed => match doubt(risk, exposed, reports_exposure) {
                Some(found) => found,
                None => continue,
            },
        };
        let first = reason == none || reason == ACCEPTED || reason == found.reason;
        reason = if first { found.reason.clone() } else { "MultipleReasons".to_owned() };
        applying.extend((found.status != "True").then_some(found));
    }
    let status = |status: &str| applying.iter().any(|one: &Condition| one.status == status);
    let status = ["False", "Unknown"].into_iter().find(|wanted| status(wanted)).unwrap_or("True");
    let message: Vec<&str> = applying.iter().map(|one| one.message.as_str()).collect();
    let message = match (message.as_slice(), all_accepted) {
        ([], false) => "The update is recommended, because none of the conditional update risks apply to this cluster.".to_owned(),
        ([], true) => "The update is recommended, because either risk does not apply to this cluster or it is accepted by cluster admins.".to_owned(),
        (messages, _) => messages.join("\n\n"),
    };
    Condition::new("Recommended", status, &reason, message)
}

/// The condition for one risk, unless the cluster is not exposed to it.
fn doubt(risk: &Risk, exposed: &Result<bool, String>, reports_exposure: bool) -> Option<Condition> {
    let Risk { name, url, message, .. } = risk;
    match exposed {
        Ok(false) => None,
        Ok(true) => {
            let reason = if REASON.is_match(name) || !reports_exposure { name } else { "ExposedToRisks" };
            Some(Condition::new("Recommended", "False", reason, format!("{message} {url}")))
        }
        Err(error) => {
            let text = if reports_exposure {
                unknown(risk, error)
            } else {
                format!(
                    "Exposure to {name} is unknown due to an evaluation failure: {error}\n{message} {url}"
                )
            };
            Some(Condition::new("Recommended", "Unknown", "EvaluationFailed", text))
        }
    }
}

/// The message for a risk that could not be evaluated.
pub(super) fn unknown(risk: &Risk, error: &str) -> String {
    let Risk { name, url, message, .. } = risk;
    format!(
        "Could not evaluate exposure to update risk {name} ({error})\n  {name} description: {message}\n  {name} URL: {url}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::MatchingRule;

    fn check(risks: &[(&str, Result<bool, &str>)], expected: (&str, &str, &str)) {
        check_accepted(None, true, risks, expected);
    }

    fn check_accepted(
        accepted: Option<&Accepted>,
        reports_exposure: bool,
        risks: &[(&str, Result<bool, &str>)],
        expected: (&str, &str, &str),
    ) {
        let risks: Vec<(Risk, Result<bool, String>)> = risks
            .iter()
            .map(|(name, exposed)| {
                let (url, message) = (format!("https://example.com/{name}"), format!("{name} breaks."));
                let risk = Risk { name: (*name).to_owned(), url, message, rules: vec![MatchingRule::Always] };
                (risk, exposed.map_err(str::to_owned))
            })
            .collect();
        let risks: Vec<_> = risks.iter().map(|(risk, exposed)| (risk, exposed.clone())).collect();
        let found = recommended(&risks, accepted, reports_exposure);
        assert_eq!((found.status.as_str(), found.reason.as_str(), found.message.as_str()), expected);
    }

    #[test]
    fn accepted_risks_do_not_count() {
        let accepted = Accepted::of(&["A", "C"]);
        let check = |risks: &[(&str, Result<bool, &str>)], expected| {
            check_accepted(Some(&accepted), true, risks, expected);
        };
        let message = "The update is recommended, because either risk does not apply to this cluster or it is accepted by cluster admins.";
        check(&[("A", Ok(true)), ("B", Ok(false))], ("True", "AllExposedRisksAccepted", message));
        check(&[("A", Ok(true)), ("C", Ok(true))], ("True", "AllExposedRisksAccepted", message));
        check(&[("A", Ok(true)), ("B", Ok(true))], ("False", "B", "B breaks. https://example.com/B"));
        check(
            &[("B", Ok(true)), ("A", Ok(true))],
            ("False", "MultipleReasons", "B breaks. https://example.com/B"),
        );
        let not_exposed =
            "The update is recommended, because none of the conditional update risks apply to this cluster.";
        check(&[("A", Ok(false))], ("True", "NotExposedToRisks", not_exposed));
    }

    #[test]
    fn false_wins_over_unknown_and_unknown_over_true() {
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

    #[test]
    fn operators_up_to_4_14_use_other_reasons_and_messages() {
        let check = |risks: &[(&str, Result<bool, &str>)], expected| {
            check_accepted(None, false, risks, expected);
        };
        let none =
            "The update is recommended, because none of the conditional update risks apply to this cluster.";
        check(&[("A", Ok(false))], ("True", "AsExpected", none));
        check(&[("a-b", Ok(true))], ("False", "a-b", "a-b breaks. https://example.com/a-b"));
        let unknown = "Exposure to B is unknown due to an evaluation failure: no route\nB breaks. https://example.com/B";
        check(&[("B", Err("no route"))], ("Unknown", "EvaluationFailed", unknown));
    }
}
