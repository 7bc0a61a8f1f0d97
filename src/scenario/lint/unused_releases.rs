//! Warnings about releases that no step uses.

use std::collections::BTreeSet;

use semver::Version;

use crate::plan::{Action, Attempt, Plan, Step, Target};
use crate::scenario::ScenarioError;

/// Returns warnings about releases that the text mentions only where it declares them. An update service with
/// its own data is exempt, since a folder of graph data may mention them.
pub(super) fn warnings(plan: &Plan, text: &str) -> Vec<ScenarioError> {
    let service = &plan.cluster.update_service;
    if service.channels.is_some() || service.edges.is_some() || !service.conditional.is_empty() {
        return Vec::new();
    }
    let requested = requested(plan);
    let releases = plan.cluster.releases.iter().map(|release| &release.release.version);
    let names: BTreeSet<String> =
        releases.filter(|version| !requested.contains(version)).map(Version::to_string).collect();
    let mut found = Vec::new();
    for (name, mention) in Mentions::of(names, text).names {
        if let Mention::Once { line, column } = mention {
            found.push(ScenarioError {
                file: plan.file.clone(),
                line,
                column,
                message: format!("release {name} is not used: no step updates to it or mentions it"),
            });
        }
    }
    found
}

/// Returns the versions to which steps update.
fn requested(plan: &Plan) -> BTreeSet<&Version> {
    let requested = plan.timeline.iter().filter_map(|step| match &step.step {
        Step::Act(action) | Step::Try(Attempt { action, .. }) => match action {
            Action::Update { to: Target::Version(to), .. } => Some(to),
            _ => None,
        },
        _ => None,
    });
    requested.collect()
}

/// The lines of a text that contain a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mention {
    Never,
    /// One line, at this place.
    Once {
        line: usize,
        column: usize,
    },
    Often,
}

/// The names of releases, in order, with their mentions in a text.
struct Mentions {
    names: Vec<(String, Mention)>,
    /// For each name, the longest other name with which it begins.
    shorter: Vec<Option<usize>>,
}

impl Mentions {
    /// Finds the names in one pass over the text: with one pass for each name, a scenario with many releases would take very
    /// long.
    fn of(names: BTreeSet<String>, text: &str) -> Self {
        let names: Vec<(String, Mention)> = names.into_iter().map(|name| (name, Mention::Never)).collect();
        let mut found = Self { names, shorter: Vec::new() };
        for index in 0..found.names.len() {
            let shorter = found.longest_prefix(index, &found.names[index].0);
            found.shorter.push(shorter);
        }
        for (number, line) in text.lines().enumerate() {
            let digits = line.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
            digits.for_each(|(start, _)| found.mention(number + 1, line, start));
        }
        found
    }

    /// Adds the names at a place of a line.
    fn mention(&mut self, line: usize, text: &str, start: usize) {
        let rest = &text[start..];
        let end = self.names.partition_point(|(name, _)| name.as_str() <= rest);
        let mut next = self.longest_prefix(end, rest);
        while let Some(index) = next {
            let mention = &mut self.names[index].1;
            *mention = match *mention {
                Mention::Never => Mention::Once { line, column: start + 1 },
                Mention::Once { line: first, .. } if first == line => *mention,
                Mention::Once { .. } | Mention::Often => Mention::Often,
            };
            next = self.shorter[index];
        }
    }

    /// Returns the longest of the names before `end` with which a text begins. No name in between is greater than the text: then
    /// the last of them begins with every name with which the text begins.
    fn longest_prefix(&self, end: usize, text: &str) -> Option<usize> {
        let mut next = end.checked_sub(1);
        while let Some(index) = next.filter(|index| !text.starts_with(&self.names[*index].0)) {
            next = self.shorter[index];
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_by_a_search_for_each() {
        let names =
            ["1.2.3", "1.2.30", "1.2.300", "1.2.31", "1.20.3", "2.1.2", "4.18.1", "4.18.1-rc.1", "4.18.10"];
        let pieces =
            ["1.2.3", "1.2.30", "0", "1.20.3", " ", "\n", "4.18.1", "-rc.1", "x", "2.1.2.3", "é", "1.2.31"];
        // All texts of three pieces.
        for number in 0..pieces.len().pow(3) {
            let at = |power| pieces[number / pieces.len().pow(power) % pieces.len()];
            let text = [at(0), at(1), at(2)].concat();
            let found = Mentions::of(names.iter().map(|name| (*name).to_owned()).collect(), &text);
            for (name, mention) in found.names {
                let mut lines =
                    text.lines().enumerate().filter_map(|(index, line)| Some((index, line.find(&name)?)));
                let expected = match (lines.next(), lines.next()) {
                    (None, _) => Mention::Never,
                    (Some((line, column)), None) => Mention::Once { line: line + 1, column: column + 1 },
                    _ => Mention::Often,
                };
                assert_eq!(mention, expected, "{name} in {text:?}");
            }
        }
    }
}
