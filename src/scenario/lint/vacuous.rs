//! Warns of expectations that hold whatever the cluster does.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS};

use crate::plan::{
    Check, CommandCheck, Expectation, ExpectedState, ExpectedTime, Keep, ObjectRef, Step, TextMatch,
    ValueSource, WriteMatch, placeholders,
};

/// The fields that are the same in all objects of a name.
const CONSTANT: [&str; 4] = ["apiVersion", "kind", "metadata.name", "metadata.namespace"];

/// The writer of the scenario's actions in a record.
const ADMINISTRATOR: &str = "administrator";

/// Texts that are unlike each other: a comparison that fits all of them fits any text.
const PROBES: [&str; 4] = ["", "True", "4.20.1\n", "\u{1}~ a B-9"];

/// What the earlier steps have shown about this moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Vacuous {
    /// The texts of expectations that hold at this moment.
    met: BTreeSet<String>,
    /// The fields whose values at this moment are kept, by the names of the values.
    kept: BTreeMap<String, (ObjectRef, String)>,
}

impl Vacuous {
    /// Returns warnings about the next step of the run.
    pub(super) fn warnings_about(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Expect(expectation) => self.expectation_warnings(expectation),
            Step::Keep(Keep { name, what }) => {
                if let ValueSource::Field(object, path) = what {
                    self.kept.insert(name.clone(), (object.clone(), path.clone()));
                }
                Vec::new()
            }
            Step::Run(run) => {
                *self = Self::default();
                run.checks.iter().filter_map(command_warning).collect()
            }
            Step::Retry(retry) => {
                *self = Self::default();
                let checked = retry.steps.iter().filter_map(|planned| match &planned.step {
                    Step::Expect(expectation) => Some(expectation),
                    _ => None,
                });
                checked.flat_map(|expectation| always_true(&expectation.what)).collect()
            }
            Step::KeepCluster(_) => Vec::new(),
            Step::Act(_) | Step::Try(_) | Step::Advance(_) | Step::At(_) => {
                *self = Self::default();
                Vec::new()
            }
        }
    }

    fn expectation_warnings(&mut self, expectation: &Expectation) -> Vec<String> {
        let Expectation { what, when } = expectation;
        let mut found = always_true(what);
        if matches!(when, ExpectedTime::Throughout(_)) {
            found.extend(constant(what));
            *self = Self::default();
        } else {
            found.extend(self.compared_with_itself(what));
        }
        let text = what.to_string();
        if !matches!(when, ExpectedTime::Throughout(_)) && self.met.contains(&text) {
            let why = "an earlier step expects the same, and nothing happens between them, so this expectation always holds";
            found.push(why.to_owned());
        }
        if matches!(when, ExpectedTime::Within(_)) {
            *self = Self::default();
        }
        if is_of_objects(what) {
            self.met.insert(text);
        }
        found
    }

    /// Returns why an expectation compares a field with its own value.
    fn compared_with_itself(&self, what: &ExpectedState) -> Option<String> {
        let ExpectedState::Object(object, checks) = what else { return None };
        checks.iter().find_map(|check| {
            let Check::Field { path, value: TextMatch::Equals(text) } = check else { return None };
            let name = placeholders::only(text)?;
            let (kept_object, kept_path) = self.kept.get(name)?;
            (kept_object == object && kept_path == path).then(|| {
                format!(
                    "{path} is compared with itself: `{name}` is its value at this moment, so this expectation always \
                     holds; let something happen between the steps"
                )
            })
        })
    }
}

/// Whether an expectation depends only on the objects and insights of a moment.
fn is_of_objects(what: &ExpectedState) -> bool {
    matches!(
        what,
        ExpectedState::Object(..)
            | ExpectedState::Absent(_)
            | ExpectedState::Insight(..)
            | ExpectedState::NoInsight(..)
            | ExpectedState::Alert(_)
            | ExpectedState::NoAlert(_)
            | ExpectedState::Phase { .. }
    )
}

/// Returns warnings about comparisons that any text, or any write, passes.
fn always_true(what: &ExpectedState) -> Vec<String> {
    match what {
        ExpectedState::Object(_, checks) | ExpectedState::Insight(_, checks) => {
            checks.iter().filter_map(check_warning).collect()
        }
        ExpectedState::Command(checks) => checks.iter().filter_map(command_warning).collect(),
        ExpectedState::Status(status) => {
            status.has.iter().filter_map(|text| any_text("the status", text)).collect()
        }
        ExpectedState::Log(log) => any_text("each line of the log", &log.line).into_iter().collect(),
        ExpectedState::Writes(writes, _) => {
            let fit = writes.iter().all(fits_the_action);
            let why = "each action of the scenario is such a write, so this expectation always holds: add an `object`, \
                       a `verb` or another writer (`by`)";
            fit.then(|| why.to_owned()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn check_warning(check: &Check) -> Option<String> {
    match check {
        Check::Field { path, value } => any_text(path, value),
        Check::PodStatus(status) => any_text("the pod's status", status),
        Check::Condition { kind, status, reason, message } => {
            let texts = [("status", status), ("reason", reason), ("message", message)];
            texts
                .into_iter()
                .find_map(|(name, text)| any_text(&format!("the {name} of {kind}"), text.as_ref()?))
        }
        Check::Unchanged { .. } | Check::NoCondition(_) | Check::Updated => None,
    }
}

fn command_warning(check: &CommandCheck) -> Option<String> {
    match check {
        CommandCheck::Prints(text) | CommandCheck::Warns(text) | CommandCheck::Says(text) => {
            any_text("the output of the command", text)
        }
        CommandCheck::Refused(_) | CommandCheck::Code(_) | CommandCheck::Fails => None,
    }
}

fn any_text(subject: &str, wanted: &TextMatch) -> Option<String> {
    fits_any_text(wanted).then(|| {
        format!("any text is {wanted}, so the check of {subject} always holds: expect a certain text")
    })
}

/// Whether a comparison holds for every text.
fn fits_any_text(wanted: &TextMatch) -> bool {
    match wanted {
        TextMatch::Equals(_) | TextMatch::Lacks(_) => false,
        TextMatch::Contains(part) => part.is_empty(),
        TextMatch::Matches(_) => PROBES.iter().all(|probe| wanted.fits(probe)),
        TextMatch::AnyOf(all) => {
            // A text has the part, or it lacks everything that contains the part.
            let is_lacked = |part: &str| {
                all.iter().any(|other| matches!(other, TextMatch::Lacks(text) if text.contains(part)))
            };
            all.iter().any(|one| match one {
                TextMatch::Contains(part) => part.is_empty() || is_lacked(part),
                other => fits_any_text(other),
            })
        }
    }
}

/// Whether every action of a scenario makes such a write.
fn fits_the_action(wanted: &WriteMatch) -> bool {
    let WriteMatch { by, verb, object, subresource, code, message, checks } = wanted;
    by.as_ref().is_none_or(|by| by.fits(ADMINISTRATOR))
        && verb.is_none()
        && object.is_none()
        && subresource.is_none()
        && code.is_none()
        && message.is_none()
        && checks.is_empty()
}

/// Returns why `throughout` tests nothing: no component writes the fields.
fn constant(what: &ExpectedState) -> Option<String> {
    let ExpectedState::Object(object, checks) = what else { return None };
    let paths: Vec<&str> = checks
        .iter()
        .map(|check| match check {
            Check::Field { path, .. } | Check::Unchanged { path } => Some(path.as_str()),
            _ => None,
        })
        .collect::<Option<_>>()?;
    (!paths.is_empty() && paths.iter().all(|path| is_constant(object, path))).then(|| {
        let paths = paths.join(", ");
        format!(
            "only an administrator changes {paths}, so nothing changes while time passes: remove `throughout`"
        )
    })
}

/// Whether only actions of a scenario change a field of an object.
fn is_constant(object: &ObjectRef, path: &str) -> bool {
    let is_below = |field: &str| {
        path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let own: &[&str] = match &object.resource {
        resource if *resource == CLUSTER_VERSIONS => {
            &["spec.channel", "spec.upstream", "spec.desiredUpdate", "spec.overrides", "spec.capabilities"]
        }
        resource if *resource == MACHINE_CONFIG_POOLS => {
            &["spec.paused", "spec.maxUnavailable", "spec.nodeSelector", "spec.machineConfigSelector"]
        }
        _ => &[],
    };
    CONSTANT.iter().chain(own).any(|field| is_below(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_comparisons_fit_any_text() {
        let pattern = |text: &str| TextMatch::parse(text).unwrap();
        let part = |text: &str| TextMatch::Contains(text.to_owned());
        let lacks = |text: &str| TextMatch::Lacks(text.to_owned());
        for wanted in [
            part(""),
            pattern("/.*/"),
            pattern("/^/"),
            pattern("/^.*$|x/s"),
            TextMatch::AnyOf(vec![part("a"), lacks("a")]),
            TextMatch::AnyOf(vec![pattern("b"), part("")]),
        ] {
            assert!(fits_any_text(&wanted), "{wanted}");
        }
        for wanted in [part("a"), pattern("/.+/"), lacks(""), lacks("a"), pattern("x"), pattern("/^$/")] {
            assert!(!fits_any_text(&wanted), "{wanted}");
        }
    }
}
