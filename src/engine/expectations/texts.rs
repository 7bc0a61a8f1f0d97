//! The exact texts of a failed step that differ from what was seen, for `--update`.
//!
//! A text is replaced only if everything else in its step holds, so that `--update` never makes a step pass that fails for
//! another reason.

use serde_json::Value;
use windtunnel_core::{Object, condition, pod};

use super::matching::{check_all, insights, objects};
use super::monitoring;
use crate::engine::command;
use crate::engine::output::CapturedOutput;
use crate::engine::runtime::Simulation;
use crate::plan::{
    AlertMatch, Check, CommandCheck, Differences, Expectation, ExpectedState, ExpectedTime, TextDifference,
    TextMatch, TextPlace, path,
};

/// The fields whose values are texts for people. A step can wait for any other value.
const PROSE: [&str; 2] = ["impact.summary", "impact.description"];

/// Returns the differences of an expectation that is not met.
pub(in crate::engine) fn of_expectation(simulation: &Simulation, expected: &Expectation) -> Differences {
    if matches!(expected.when, ExpectedTime::Throughout(_)) {
        return Err("a text that must hold over a time is not replaced".to_owned());
    }
    let waits = matches!(expected.when, ExpectedTime::Within(_));
    match &expected.what {
        ExpectedState::Command(checks) => of_output(&command::last_output(simulation)?, checks),
        ExpectedState::Object(object, checks) => {
            let found: Vec<&Value> = objects(&simulation.view, object).map(|found| &**found).collect();
            of_candidates(&found, checks, waits)
        }
        ExpectedState::Insight(insight, checks) => {
            let found = insights(&simulation.view, insight);
            of_candidates(&found.iter().collect::<Vec<_>>(), checks, waits)
        }
        ExpectedState::Alert(wanted) => of_alert(simulation, wanted),
        ExpectedState::Log(_) => {
            Err("`contains` of a log is a part of a line, which is not replaced".to_owned())
        }
        ExpectedState::Status(wanted) if wanted.snapshot.is_none() => {
            Err("`contains` of a status is a part of it, which is not replaced".to_owned())
        }
        ExpectedState::Writes(..) | ExpectedState::OnlyWrites(..) => {
            Err("texts in `writes` are not replaced: which write is meant is not certain".to_owned())
        }
        _ => Err("the step has no exact text".to_owned()),
    }
}

/// Returns the differences of the output of a command.
pub(in crate::engine) fn of_output(output: &CapturedOutput, checks: &[CommandCheck]) -> Differences {
    let CapturedOutput { actual, redacted } = output;
    let has_secrets = actual != redacted;
    let mut found = Vec::new();
    for check in checks {
        let (place, wanted, seen) = match check {
            CommandCheck::Prints(wanted) => (TextPlace::Prints, wanted, Some(actual.stdout.trim_end())),
            CommandCheck::Warns(wanted) => (TextPlace::Warns, wanted, Some(actual.stderr.trim_end())),
            CommandCheck::Refused(wanted) => (TextPlace::Refused, wanted, actual.error_message()),
            CommandCheck::Says(wanted) => {
                let all = format!("{}{}", actual.stdout, actual.stderr);
                if wanted.fits(all.trim_end()) {
                    continue;
                }
                return Err(not_exact(wanted));
            }
            CommandCheck::Code(code) if actual.code == *code => continue,
            CommandCheck::Fails if actual.code != 0 => continue,
            CommandCheck::Code(_) | CommandCheck::Fails => {
                return Err(format!("the command ended with code {}", actual.code));
            }
        };
        let seen = seen.ok_or("the command was not refused")?;
        if !wanted.fits(seen) {
            if has_secrets {
                return Err("the output has values of Secrets".to_owned());
            }
            found.extend(difference(place, wanted, seen)?);
        }
    }
    Ok(found)
}

/// Returns the differences of the message of a rejection.
pub(in crate::engine) fn of_rejection(wanted: &[TextMatch], message: &str) -> Differences {
    let wrong = wanted.iter().filter(|text| !text.fits(message));
    let found: Result<Vec<_>, String> =
        wrong.map(|text| difference(TextPlace::Refused, text, message)).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Returns the difference of a text that does not fit.
fn difference(place: TextPlace, wanted: &TextMatch, seen: &str) -> Result<Option<TextDifference>, String> {
    match wanted {
        TextMatch::Equals(text) => {
            Ok(Some(TextDifference { place, wanted: text.clone(), seen: seen.to_owned() }))
        }
        other => Err(format!("{place}: {}", not_exact(other))),
    }
}

fn not_exact(wanted: &TextMatch) -> String {
    let what = match wanted {
        TextMatch::Equals(_) => "a text",
        TextMatch::Contains(_) => "`contains`",
        TextMatch::Lacks(_) => "`lacks`",
        TextMatch::Matches(_) => "a regular expression",
        TextMatch::AnyOf(_) => "`any-of`",
    };
    format!("{what} is not replaced: only exact texts are")
}

/// Returns the differences of the only candidate that differs in texts and in nothing else.
fn of_candidates(found: &[&Value], checks: &[Check], waits: bool) -> Differences {
    let all: Vec<Differences> = found.iter().map(|found| of_checks(found, checks, waits)).collect();
    match all.as_slice() {
        [] => Err("there is no such object".to_owned()),
        [one] => one.clone(),
        _ => {
            let mut fitting = all.iter().filter(|found| found.is_ok());
            match (fitting.next(), fitting.next()) {
                (Some(one), None) => one.clone(),
                (None, _) => Err("of no object everything holds except for exact texts".to_owned()),
                _ => Err("several objects differ in their texts only".to_owned()),
            }
        }
    }
}

fn of_checks(found: &Value, checks: &[Check], waits: bool) -> Differences {
    let mut differences = Vec::new();
    for check in checks {
        let Err(why) = check_all(found, None, std::slice::from_ref(check)) else { continue };
        match check {
            Check::Condition { kind, status, reason, message } => {
                let list =
                    found["status"]["conditions"].as_array().or_else(|| found["conditions"].as_array());
                let condition = list.and_then(|list| condition::find(list, kind)).ok_or(why)?;
                let text = |field: &str| condition[field].as_str().unwrap_or_default();
                let fits = |wanted: &Option<TextMatch>, field| {
                    wanted.as_ref().is_none_or(|wanted| wanted.fits(text(field)))
                };
                if !fits(status, "status") {
                    return Err(format!("condition {kind} has the status {}", text("status")));
                }
                if let Some(wanted) = reason.as_ref().filter(|wanted| !wanted.fits(text("reason"))) {
                    let place = TextPlace::Reason(kind.clone());
                    reject_awaited(&place, waits)?;
                    differences.extend(difference(place, wanted, text("reason"))?);
                }
                if let Some(wanted) = message.as_ref().filter(|wanted| !wanted.fits(text("message"))) {
                    differences.extend(difference(
                        TextPlace::Message(kind.clone()),
                        wanted,
                        text("message"),
                    )?);
                }
            }
            Check::Field { path, value } => {
                let place = TextPlace::Field(path.clone());
                if !PROSE.contains(&path.as_str()) {
                    reject_awaited(&place, waits)?;
                }
                differences.extend(difference(place, value, &path::text_at(found, path))?);
            }
            Check::PodStatus(wanted) => {
                reject_awaited(&TextPlace::PodStatus, waits)?;
                let seen = pod::status_column(&Object::new(found.clone()));
                differences.extend(difference(TextPlace::PodStatus, wanted, &seen)?);
            }
            Check::NoCondition(_) | Check::Updated | Check::Unchanged { .. } => return Err(why),
        }
    }
    Ok(differences)
}

/// Rejects a value for which the step waits: at the end of its time, the value is only what it is not.
fn reject_awaited(place: &TextPlace, waits: bool) -> Result<(), String> {
    if waits { Err(format!("{place} is what `within` waits for, so it is not replaced")) } else { Ok(()) }
}

fn of_alert(simulation: &Simulation, wanted: &AlertMatch) -> Differences {
    let facts = AlertMatch { annotations: Vec::new(), ..wanted.clone() };
    let active = simulation.alerts.borrow();
    let fitting = active.iter().map(|active| &active.alert);
    let fitting: Vec<_> = fitting.filter(|alert| monitoring::alert_matches(alert, &facts)).collect();
    let [alert] = fitting.as_slice() else {
        return Err(format!("{} active alerts have the name, state and labels, not one", fitting.len()));
    };
    let mut differences = Vec::new();
    for (name, wanted) in &wanted.annotations {
        let seen = alert.annotations.get(name).map(String::as_str).unwrap_or_default();
        if !wanted.fits(seen) {
            differences.extend(difference(TextPlace::Annotation(name.clone()), wanted, seen)?);
        }
    }
    Ok(differences)
}
