//! A step of a feature with the values that its pattern captured.

use std::array::TryFromSliceError;

use cucumber::gherkin::{self, LineCol};
use jiff::SignedDuration;
use regex::{Captures, Regex};
use serde_json::Value;
use windtunnel_core::requests::faults::RequestFilter;

use super::definition::planned;
use crate::plan::{
    Action, ExpectedTime, FaultEvent, FaultTarget, InjectedFault, PlannedStep, ProgramPlan, Since, Step,
};
use crate::scenario::{self, Kinds, ScenarioErrors};
use crate::steps::phrase::{duration, number};

/// A step of a feature with the values that its pattern captured.
#[derive(Debug)]
pub(in crate::steps) struct Call<'s> {
    captures: Captures<'s>,
    /// The values of groups without a name, in the order of the pattern; empty for a group that did not match.
    values: Vec<&'s str>,
    step: &'s gherkin::Step,
}

impl<'s> Call<'s> {
    /// Returns a step that matches a pattern.
    pub(in crate::steps) fn new(pattern: &Regex, step: &'s gherkin::Step) -> Option<Self> {
        let captures = pattern.captures(&step.value)?;
        let all = pattern.capture_names().zip(captures.iter()).skip(1);
        let values = all.filter(|(name, _)| name.is_none());
        let values = values.map(|(_, value)| value.map_or("", |value| value.as_str())).collect();
        Some(Self { captures, values, step })
    }

    /// Returns all values of groups without a name, in the order of the pattern.
    pub(super) fn values<const N: usize>(&self) -> [String; N] {
        debug_assert_eq!(self.values.len(), N, "`{}` has other values than its function", self.step.value);
        std::array::from_fn(|index| self.values.get(index).copied().unwrap_or_default().to_owned())
    }

    /// Returns the moment at which the step begins, from the start of the run: `at 70 minutes`.
    pub(in crate::steps) fn moment(&self) -> Result<Option<SignedDuration>, String> {
        self.named("at").map(|moment| scenario::duration(moment, "`70 minutes`")).transpose()
    }

    /// Returns the time of an expectation: `within 5 minutes`, `throughout 1 hour`, or now.
    pub(in crate::steps) fn expected_time(&self) -> Result<ExpectedTime, String> {
        Ok(match self.named("timing").and_then(|timing| timing.trim_end().split_once(' ')) {
            Some(("within", span)) => ExpectedTime::Within(duration(span)?),
            Some((_, span)) => ExpectedTime::Throughout(duration(span)?),
            None => ExpectedTime::Now,
        })
    }

    /// Returns the moment from which the step counts: `since the last update`, `since step 3`, `in the last 5 minutes`, or
    /// the last action.
    pub(in crate::steps) fn since(&self) -> Result<Since, String> {
        if let Some(span) = self.named("back") {
            return duration(span).map(Since::Back);
        }
        if let Some(step) = self.named("step") {
            return number(step).map(Since::Step);
        }
        Ok(match self.named("since") {
            Some("start") => Since::Start,
            Some("last update") => Since::LastUpdate,
            _ => Since::LastAction,
        })
    }

    /// Returns a step that starts a fault at the moment of the text (`at 70 minutes` waits for it, `after 20 minutes` does
    /// not), or without a fault ends those of the target.
    pub(super) fn fault(
        &self,
        kinds: &Kinds,
        target: FaultTarget,
        fault: Option<InjectedFault>,
    ) -> Result<Step, String> {
        let lasts = self.named("for").map(duration).transpose()?;
        let after = self.named("after").map(duration).transpose()?;
        Ok(Step::Act(match (fault, self.event(kinds)?) {
            (Some(fault), event) => Action::Fault { fault, event, after: after.unwrap_or_default(), lasts },
            (None, None) if after.is_some() => {
                return Err("only the beginning of a fault can come later: expected a fault, or `at <time>`"
                    .to_owned());
            }
            (None, None) => Action::Heal(target),
            (None, Some(event)) => {
                return Err(format!("only the beginning of a fault can wait for {event}"));
            }
        }))
    }

    /// Returns a step that starts a fault, which the text does not end.
    pub(super) fn begin(&self, kinds: &Kinds, fault: InjectedFault) -> Result<Step, String> {
        self.fault(kinds, fault.target(), Some(fault))
    }

    /// Returns the change at which a fault begins: `at change 2 of Node/worker-0`.
    fn event(&self, kinds: &Kinds) -> Result<Option<FaultEvent>, String> {
        let (Some(number), Some(object)) = (self.named("change"), self.named("changed")) else {
            return Ok(None);
        };
        let (kind, name) = object.split_once('/').map_or((object, None), |(kind, name)| (kind, Some(name)));
        let kind = kinds.find(kind)?.kind.to_string();
        let most = FaultEvent::NTH_MAX;
        let nth = number.parse().ok().filter(|number| (1..=most).contains(number));
        let nth =
            nth.ok_or_else(|| format!("expected the number of a change from 1 to {most}, found {number}"))?;
        Ok(Some(FaultEvent { kind, name: name.map(str::to_owned), nth }))
    }

    /// Returns a pattern for requests with a verb (`request` and `write` match any), the kind and name of `{of}`, and the
    /// client of `{by}`.
    pub(super) fn requests(&self, kinds: &Kinds, verb: &str) -> Result<RequestFilter, String> {
        let named = |name: &str| self.named(name).map(str::to_owned);
        let kind = named("kind");
        kind.as_deref().map(|kind| kinds.find(kind)).transpose()?;
        let verb = Some(verb.to_owned()).filter(|verb| !["request", "write"].contains(&verb.as_str()));
        Ok(RequestFilter { by: named("by"), verb, kind, name: named("name"), ..RequestFilter::default() })
    }

    /// Returns the text of the step.
    pub(in crate::steps) fn text(&self) -> &'s str {
        &self.step.value
    }

    /// Returns a step of a plan with the text of the step.
    pub(super) fn planned(&self, step: Step) -> PlannedStep {
        planned(self.text(), step)
    }

    /// Returns the place of the step in its feature.
    pub(super) fn position(&self) -> LineCol {
        self.step.position
    }

    /// Returns the doc string of the step.
    pub(super) fn docstring(&self) -> Result<&'s str, String> {
        self.docstring_with("a text")
    }

    /// Returns the Kubernetes object in the doc string. A definition adds its kind to `kinds`.
    pub(super) fn object(&self, kinds: &mut Kinds) -> Result<Value, String> {
        scenario::object(kinds, self.docstring_with("an object as YAML")?)
            .map_err(|found| in_docstring(&found))
    }

    /// Returns the programs in the doc string of a step of the feature `file`.
    pub(super) fn programs(&self, file: &str) -> Result<Vec<ProgramPlan>, String> {
        let text = self.docstring_with("a list of programs as YAML")?;
        scenario::programs(file, text).map_err(|found| in_docstring(&found))
    }

    /// Returns the script in the doc string.
    pub(super) fn script(&self) -> Result<String, String> {
        Ok(self.docstring_with("a script for `sh -c`")?.to_owned())
    }

    fn docstring_with(&self, content: &str) -> Result<&'s str, String> {
        let text = self.step.docstring.as_ref();
        let text = text.ok_or_else(|| {
            format!("expected {content} in a doc string: below the step, between two lines with `\"\"\"`")
        })?;
        // The parser keeps the line break after the opening quotes.
        Ok(text.strip_prefix('\n').unwrap_or(text))
    }

    /// Returns the rows of the table below the step.
    pub(super) fn rows(&self) -> Result<&'s [Vec<String>], String> {
        let rows = self.step.table.as_ref().map(|table| table.rows.as_slice());
        rows.ok_or_else(|| {
            "expected a table below the step: a line such as `| a | b |` for each row".to_owned()
        })
    }

    /// Returns the rows of a table with two columns: `first`, and its value.
    pub(super) fn pairs(&self, first: &str) -> Result<Vec<&'s [String; 2]>, String> {
        let pairs = self.rows()?.iter().map(|row| row.as_slice().try_into());
        let pairs: Result<_, _> = pairs.collect();
        pairs.map_err(|_: TryFromSliceError| format!("expected two columns: {first} and its value"))
    }

    fn named(&self, name: &str) -> Option<&'s str> {
        self.captures.name(name).map(|value| value.as_str())
    }
}

fn in_docstring(errors: &ScenarioErrors) -> String {
    let lines =
        errors.0.iter().map(|found| format!("line {} of the doc string: {}", found.line, found.message));
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use cucumber::gherkin::StepType;

    use super::*;
    use crate::steps::catalogue;

    /// Returns the moment and the change of a step.
    fn begin(text: &str) -> (Result<Option<i64>, String>, Result<Option<String>, String>) {
        let step = step(text);
        let (_, call) = catalogue::call(&step).unwrap_or_else(|| panic!("no step: {text}"));
        let moment = call.moment().map(|moment| moment.map(|moment| moment.as_mins()));
        (moment, call.event(&Kinds::default()).map(|event| event.map(|event| event.to_string())))
    }

    #[test]
    fn a_step_may_begin_at_a_moment() {
        let crash = "cluster-version-operator crashes before its next write";
        assert_eq!(begin(crash), (Ok(None), Ok(None)));
        assert_eq!(begin(&format!("at 70 minutes {crash}")), (Ok(Some(70)), Ok(None)));
        assert_eq!(begin("at 2 hours operator dns degrades"), (Ok(Some(120)), Ok(None)));
        assert!(begin("at 2 apples operator dns degrades").0.is_err());
    }

    #[test]
    fn a_fault_may_begin_at_a_change() {
        let crash = "cluster-version-operator crashes before its next write";
        let change = |change: &str| begin(&format!("at change {change} {crash}")).1;
        assert_eq!(change("2 of Node/worker-*"), Ok(Some("change 2 of Node/worker-*".to_owned())));
        assert_eq!(change("1 of Pod"), Ok(Some("change 1 of Pod".to_owned())));
        assert!(change("0 of Pod").is_err() && change("2 of Nod").is_err());
    }

    #[test]
    fn a_fault_may_begin_later_without_a_wait() {
        let step = step("after 20 minutes operator dns degrades for 5 minutes");
        let (_, call) = catalogue::call(&step).unwrap();
        assert_eq!(call.moment(), Ok(None));
        let fault = |fault| call.fault(&Kinds::default(), FaultTarget::Operator("dns".to_owned()), fault);
        assert!(fault(None).is_err());
        let degraded = InjectedFault::RenderFlips("worker".to_owned(), 1);
        let Ok(Step::Act(Action::Fault { after, lasts, .. })) = fault(Some(degraded)) else {
            panic!("no fault")
        };
        assert_eq!((after.as_mins(), lasts.map(|lasts| lasts.as_mins())), (20, Some(5)));
    }

    fn step(text: &str) -> gherkin::Step {
        gherkin::Step {
            keyword: "When ".to_owned(),
            ty: StepType::When,
            value: text.to_owned(),
            docstring: None,
            table: None,
            span: gherkin::Span { start: 0, end: 0 },
            position: LineCol { line: 1, col: 1 },
        }
    }
}
