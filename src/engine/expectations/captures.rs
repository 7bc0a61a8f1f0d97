//! Values that steps keep (`keep`), and their insertion into later steps (`$(kept <name>)`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;
use windtunnel_core::text::did_you_mean;
use windtunnel_core::yaml;

use super::matching::objects;
use crate::engine::command;
use crate::engine::runtime::Simulation;
use crate::plan::{
    Action, Check, CommandCheck, ExpectedState, Keep, Step, TextMatch, ValueSource, path, placeholders,
};

/// Returns the current value to keep.
///
/// # Errors
/// There is no such object, or no command has run.
pub(in crate::engine) fn value(simulation: &Simulation, what: &ValueSource) -> Result<String, String> {
    match what {
        ValueSource::Output => Ok(command::last_output(simulation)?.actual.stdout.trim_end().to_owned()),
        ValueSource::OutputField(field) => {
            let output = command::last_output(simulation)?.actual.stdout;
            let parsed: Value = yaml::from_str(&output)
                .map_err(|error| format!("the output of the last command is no JSON or YAML: {error}"))?;
            Ok(path::text_at(&parsed, field))
        }
        ValueSource::Text(text) => Ok(text.clone()),
        ValueSource::Field(object, field) => {
            let found = objects(&simulation.view, object).next();
            let found = found.ok_or_else(|| format!("there is no {object}"))?;
            Ok(path::text_at(found, field))
        }
    }
}

/// Returns the step with kept values inserted in commands and in compared texts.
///
/// # Errors
/// No value was kept under that name.
pub(in crate::engine) fn fill_kept_values<'s>(
    step: &'s Step,
    kept_values: &BTreeMap<String, String>,
) -> Result<Cow<'s, Step>, String> {
    let mut filler = Filler { kept_values, unknown: None, changed: false };
    let mut copy = step.clone();
    filler.step(&mut copy);
    if let Some(name) = filler.unknown {
        let hint = did_you_mean(&name, kept_values.keys().map(String::as_str));
        return Err(format!("no earlier step kept a value as `{name}`{hint}"));
    }
    Ok(if filler.changed { Cow::Owned(copy) } else { Cow::Borrowed(step) })
}

/// Inserts kept values into texts.
struct Filler<'a> {
    kept_values: &'a BTreeMap<String, String>,
    /// A name without a kept value.
    unknown: Option<String>,
    changed: bool,
}

impl Filler<'_> {
    fn step(&mut self, step: &mut Step) {
        match step {
            Step::Run(run) => {
                run.command.words.iter_mut().for_each(|word| self.plain(word));
                self.commands(&mut run.checks);
            }
            Step::Expect(expectation) => self.fill_expectation(&mut expectation.what),
            Step::Try(attempt) => self.texts(&mut attempt.refused),
            // The steps of a retry are filled when they run.
            Step::Act(Action::Apply(object) | Action::Patch { patch: object, .. }) => self.object(object),
            Step::Keep(Keep { what: ValueSource::Text(text), .. }) => self.plain(text),
            Step::Act(_)
            | Step::Advance(_)
            | Step::At(_)
            | Step::Keep(_)
            | Step::KeepCluster(_)
            | Step::Retry(_) => {}
        }
    }

    fn object(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.plain(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.object(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.object(field)),
            _ => {}
        }
    }

    fn fill_expectation(&mut self, what: &mut ExpectedState) {
        match what {
            ExpectedState::Object(_, checks)
            | ExpectedState::Never(_, checks)
            | ExpectedState::Insight(_, checks)
            | ExpectedState::NoInsight(_, checks)
            | ExpectedState::NeverInsight(_, checks) => self.checks(checks),
            ExpectedState::Command(checks) => self.commands(checks),
            ExpectedState::Alert(alert)
            | ExpectedState::NoAlert(alert)
            | ExpectedState::NeverAlert(alert) => {
                let texts = alert.labels.iter_mut().chain(&mut alert.annotations);
                texts.for_each(|(_, wanted)| self.text(wanted));
            }
            ExpectedState::Writes(writes, _) | ExpectedState::OnlyWrites(writes, _) => {
                for write in writes {
                    write.by.iter_mut().chain(&mut write.message).for_each(|wanted| self.text(wanted));
                    self.checks(&mut write.checks);
                }
            }
            ExpectedState::Log(log) => self.text(&mut log.line),
            ExpectedState::Status(status) => self.texts(&mut status.has),
            // These compare no free texts.
            ExpectedState::Absent(_)
            | ExpectedState::Metric(_)
            | ExpectedState::NoMetric(_)
            | ExpectedState::Phase { .. }
            | ExpectedState::Phases { .. }
            | ExpectedState::Reboots { .. }
            | ExpectedState::Restored(_)
            | ExpectedState::Requests(_)
            | ExpectedState::Leader(_)
            | ExpectedState::Statuses { .. } => {}
        }
    }

    fn commands(&mut self, checks: &mut [CommandCheck]) {
        for check in checks {
            match check {
                CommandCheck::Prints(wanted)
                | CommandCheck::Warns(wanted)
                | CommandCheck::Refused(wanted)
                | CommandCheck::Says(wanted) => self.text(wanted),
                CommandCheck::Code(_) | CommandCheck::Fails => {}
            }
        }
    }

    fn checks(&mut self, checks: &mut [Check]) {
        for check in checks {
            match check {
                Check::Condition { status, reason, message, .. } => {
                    [status, reason, message].into_iter().flatten().for_each(|wanted| self.text(wanted));
                }
                Check::Field { value: wanted, .. } | Check::PodStatus(wanted) => self.text(wanted),
                Check::Unchanged { .. } | Check::NoCondition(_) | Check::Updated => {}
            }
        }
    }

    fn texts(&mut self, wanted: &mut [TextMatch]) {
        for text in wanted {
            self.text(text);
        }
    }

    fn text(&mut self, wanted: &mut TextMatch) {
        match wanted {
            TextMatch::Equals(text) | TextMatch::Contains(text) | TextMatch::Lacks(text) => self.plain(text),
            TextMatch::Matches(pattern) if placeholders::has_placeholder(pattern.as_str()) => {
                // Kept values match literally. With literal text inserted, a pattern stays valid.
                let filled =
                    placeholders::fill(pattern.as_str(), |name| regex::escape(&self.kept_value(name)));
                if let Ok(filled) = Regex::new(&filled) {
                    *pattern = filled;
                }
            }
            TextMatch::Matches(_) => {}
            TextMatch::AnyOf(alternatives) => self.texts(alternatives),
        }
    }

    fn plain(&mut self, text: &mut String) {
        if placeholders::has_placeholder(text) {
            *text = placeholders::fill(text, |name| self.kept_value(name));
        }
    }

    fn kept_value(&mut self, name: &str) -> String {
        self.changed = true;
        let found = self.kept_values.get(name).cloned();
        if found.is_none() {
            self.unknown = Some(name.to_owned());
        }
        found.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{
        Action, AlertMatch, Attempt, CommandLine, Expectation, ExpectedTime, InsightRef, Program, Run, Since,
        WriteMatch,
    };

    /// Checks the texts of a step in which `$(kept x)` and /$(kept x)/ are replaced by `a.b`.
    fn check(step: &Step, expected: &str) {
        let kept_values = BTreeMap::from([("x".to_owned(), "a.b".to_owned())]);
        let filled = format!("{:?}", fill_kept_values(step, &kept_values).unwrap());
        assert!(filled.contains(expected) && !filled.contains("kept"), "{filled}");
        let error = fill_kept_values(step, &BTreeMap::new()).unwrap_err();
        assert_eq!(error, "no earlier step kept a value as `x`");
    }

    fn expected(what: ExpectedState) -> Step {
        Step::Expect(Expectation { what, when: ExpectedTime::Now })
    }

    fn place() -> TextMatch {
        TextMatch::Equals("$(kept x)".to_owned())
    }

    #[test]
    fn kept_values_are_inserted_into_all_compared_texts() {
        let insight = || InsightRef { kind: "Health".to_owned(), name: String::new(), about: None };
        let checks = || vec![Check::Field { path: "impact.summary".to_owned(), value: place() }];
        check(&expected(ExpectedState::NoInsight(insight(), checks())), "Equals(\"a.b\")");
        check(&expected(ExpectedState::NeverInsight(insight(), checks())), "Equals(\"a.b\")");
        let texts = vec![("name".to_owned(), place())];
        let alert = || AlertMatch {
            name: "A".to_owned(),
            state: None,
            labels: texts.clone(),
            annotations: Vec::new(),
        };
        check(&expected(ExpectedState::Alert(alert())), "Equals(\"a.b\")");
        check(&expected(ExpectedState::NoAlert(alert())), "Equals(\"a.b\")");
        let write = WriteMatch { message: Some(place()), ..WriteMatch::default() };
        check(&expected(ExpectedState::Writes(vec![write], Since::Start)), "Equals(\"a.b\")");
        check(&Step::Try(Attempt { action: Action::ClearUpdate, refused: vec![place()] }), "Equals(\"a.b\")");
        let pattern = TextMatch::parse("/^$(kept x)+$/").unwrap();
        check(&expected(ExpectedState::Command(vec![CommandCheck::Prints(pattern)])), r#"Regex("^a\\.b+$")"#);
    }

    #[test]
    fn a_kept_value_is_one_word_of_a_command() {
        let words = vec!["--to".to_owned(), "$(kept:x)".to_owned()];
        let command = CommandLine {
            line: "oc adm upgrade --to x".to_owned(),
            program: Program::Upgrade,
            words,
            gates: windtunnel_openshift::oc::Gates::default(),
        };
        check(&Step::Run(Run { command, checks: Vec::new() }), "[\"--to\", \"a.b\"]");
    }
}
