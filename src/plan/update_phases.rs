//! The steps that begin and end an update, for tools that split a timeline there.

use semver::Version;
use windtunnel_core::resources::CLUSTER_VERSIONS;

use super::{Action, Check, CommandCheck, ExpectedState, PlannedStep, Program, Step, Target, TextMatch};

impl PlannedStep {
    /// Returns whether the step requests an update: as an action, or with `oc adm upgrade`.
    pub fn updates(&self) -> bool {
        match &self.step {
            Step::Act(Action::Update { .. }) => true,
            Step::Run(run)
                if run.command.program == Program::Upgrade && !run.checks.iter().any(is_refusal) =>
            {
                run.command.words.iter().any(|word| word == "rollback" || word.starts_with("--to"))
            }
            _ => false,
        }
    }

    /// Returns the version that the update targets, if the step names one for which `is_known` holds.
    pub fn update_target(&self, is_known: impl Fn(&Version) -> bool) -> Option<Version> {
        match &self.step {
            Step::Act(Action::Update { to: Target::Version(version), .. }) => Some(version.clone()),
            Step::Run(run) => {
                let words = run.command.line.split([' ', '=', '(', ')']);
                words.filter_map(|word| word.parse().ok()).find(is_known)
            }
            _ => None,
        }
    }

    /// Returns whether the step expects that the update is completed.
    pub fn completes_update(&self) -> bool {
        let expectation = match &self.step {
            Step::Expect(expectation) => expectation,
            Step::Retry(retry) => return retry.steps.iter().any(Self::completes_update),
            _ => return false,
        };
        let ExpectedState::Object(object, checks) = &expectation.what else { return false };
        object.resource == CLUSTER_VERSIONS && checks.iter().any(reports_completion)
    }

    /// Returns whether the step is about the run from its start, which a second run has not seen.
    pub fn looks_back(&self) -> bool {
        let expectation = match &self.step {
            Step::Expect(expectation) => expectation,
            Step::Retry(retry) => return retry.steps.iter().any(Self::looks_back),
            // `at` counts from the start of the run.
            step => return matches!(step, Step::At(_)),
        };
        matches!(
            expectation.what,
            ExpectedState::Statuses { .. }
                | ExpectedState::Phases { .. }
                | ExpectedState::Reboots { .. }
                | ExpectedState::Log(_)
                | ExpectedState::Never(..)
                | ExpectedState::NeverInsight(..)
                | ExpectedState::NeverAlert(_)
                | ExpectedState::Writes(..)
                | ExpectedState::OnlyWrites(..)
                | ExpectedState::Restored(_)
                | ExpectedState::Requests(_)
                | ExpectedState::Leader(_)
        )
    }
}

fn is_refusal(check: &CommandCheck) -> bool {
    matches!(check, CommandCheck::Refused(_) | CommandCheck::Fails)
}

fn reports_completion(check: &Check) -> bool {
    match check {
        Check::Updated => true,
        Check::Condition { kind, message: Some(message), .. } => {
            let mut texts = message.equal_texts().into_iter();
            kind == "Progressing" && texts.any(|text| text.starts_with("Cluster version is "))
        }
        Check::Field { path, value: TextMatch::Equals(value) } => {
            path == "status.history[0].state" && value == "Completed"
        }
        _ => false,
    }
}
