//! The features of a run of a windtunnel that was built without Gherkin: there are none.

use std::collections::BTreeSet;

use super::{Found, Running};
use crate::cli::args::RunArgs;
use crate::cli::files::Source;
use crate::cli::suite::{Finished, Listed};
use crate::plan::{Plan, TextDifference};
use crate::report::ScenarioResult;
use crate::scenario::Rewritten;

/// No scenarios.
#[derive(Default)]
pub(super) struct Features;

/// Returns the features as invalid files.
///
/// # Errors
/// None; the same signature as with Gherkin.
pub(super) fn parse(sources: Vec<Source>, args: &RunArgs) -> Result<Found<Features>, String> {
    let mut found = Found::default();
    for (file, _) in sources {
        let why =
            format!("{file}: this windtunnel was built without Gherkin; build it with `--features gherkin`");
        found.add_invalid(&file, &why, args.suite.first_seed());
    }
    Ok(found)
}

/// Refuses to change a feature.
///
/// # Errors
/// Always.
pub(super) fn with_text(_: &str, _: usize, _: &TextDifference) -> Result<Rewritten, String> {
    Err("this windtunnel was built without Gherkin".to_owned())
}

impl Features {
    pub(super) fn len(&self) -> usize {
        0
    }

    pub(super) fn retain(&mut self, _: impl Fn(usize) -> bool) {}

    pub(super) fn files(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    pub(super) fn plans(&self) -> Vec<Plan> {
        Vec::new()
    }

    pub(super) fn not_started(&self, _: u64) -> Vec<ScenarioResult> {
        Vec::new()
    }

    pub(super) fn listed(&self) -> Vec<Listed> {
        Vec::new()
    }

    pub(super) fn remove_refused(&mut self, _: &RunArgs) -> Vec<ScenarioResult> {
        Vec::new()
    }

    pub(super) fn run_all(&self, _: Running<'_>, _: bool) -> Result<Vec<Finished>, String> {
        Ok(Vec::new())
    }
}
