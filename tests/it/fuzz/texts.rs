//! Hostile texts in records: reports show them within their lines, and drafts keep them.

use proptest::prelude::*;
use windtunnel::record::Record;
use windtunnel::report::story::Insights;
use windtunnel::report::{ScenarioResult, draft, github, junit, story, summary};
use windtunnel::scenario;
use windtunnel_core::text::visible;
use windtunnel_openshift::release::Release;

use super::campaign::{campaign, property};

/// A text with characters that act on a terminal, on YAML, XML or a CI system, and with the start of a line.
fn text() -> impl Strategy<Value = String> {
    proptest::string::string_regex(
        "(?s)([-:#,{}\\[\\]'\"&*!<>| \t\r\x1b\x7f\u{85}\u{9b}\u{2028}\u{202e}\u{200b}\u{feff}\u{fffe}\u{e0001}0.]|\
         \n|\nFORGED |\n::error::|##\\[x\\]|##vso\\[x\\]|\\]\\]>|.){1,20}",
    )
    .expect("a pattern")
}

#[test]
fn records_with_hostile_texts_have_harmless_reports_and_drafts() {
    let record = include_str!("readers/records/update.jsonl");
    campaign("texts::records_with_hostile_texts_have_harmless_reports_and_drafts", 20, |seed| {
        property(seed, &(text(), text()), |(name, word)| {
            let parsed = Record::parse(&hostile(record, &name, &word)).unwrap();
            let written = draft::draft(&parsed).unwrap().text;
            prop_assert_eq!(visible(&written), written.as_str());
            // The record lacks the control plane, which a scenario needs.
            let written = written.replace("control-plane: 0", "control-plane: 1");
            let plan = scenario::parse("draft.yaml", &written, &Release::find);
            let plan = plan.map_err(|problems| TestCaseError::fail(format!("{problems}\n{written}")))?;
            prop_assert_eq!(plan.name, format!("{name}, drafted"));
            check_reports(&parsed)
        })
    });
}

/// The record with another scenario name, channel and reason, and with another name of an operator and of its writer.
fn hostile(record: &str, name: &str, word: &str) -> String {
    let name = serde_json::Value::from(name).to_string();
    let word = serde_json::Value::from(word).to_string();
    let record = record.replace("\"A degraded operator during an update\"", &name);
    ["FaultInjected", "coredns", "operator/dns", "All is well", "ClusterVersionOperatorDown"]
        .iter()
        .fold(record, |record, text| record.replace(&format!("\"{text}\""), &word))
}

fn check_reports(record: &Record) -> Result<(), TestCaseError> {
    let result = ScenarioResult::from_record(record, &record.header.scenario);
    let failed = ScenarioResult { failure: Some(format!("x: {}", record.header.scenario)), ..result.clone() };
    let mut texts =
        vec![story::render(record, 100, Insights::Changed), story::render(record, 0, Insights::AtTheEnd)];
    for result in [&result, &failed] {
        texts.extend([summary::row(result), summary::scenario(result), summary::title(result)]);
        texts.push(summary::recap(std::slice::from_ref(result)));
    }
    for text in &texts {
        prop_assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{}", text);
    }
    let suite = junit::Suite { name: "windtunnel run", options: Some(&[]), wall: std::time::Duration::ZERO };
    let xml = junit::render(suite, &[(&failed, Some(record))], junit::Per::Scenario).unwrap();
    for text in [xml, github::render("windtunnel run", &[failed], &[])] {
        prop_assert_eq!(visible(&text), text.as_str());
    }
    Ok(())
}
