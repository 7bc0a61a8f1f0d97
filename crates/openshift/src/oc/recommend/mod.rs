//! `oc adm upgrade recommend`: lists updates and the reasons for and against them, without requesting one.

mod alerts;
mod targets;

use std::collections::BTreeSet;

use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::condition::Condition;

pub use self::alerts::Alert;
use self::targets::Targets;
use super::cluster_version::Release;
use super::conditions::{self, indented, missing, reason_and_message};
use super::outcome::CommandOutput;
use super::report::{NO_UPDATES, RELEASES, source};

/// The number of releases shown per minor, unless all are requested.
const SHOWN: usize = 2;

/// The options of the command.
#[derive(Debug, Clone, Default)]
pub(super) struct Recommend {
    /// `--show-outdated-releases`.
    pub(super) show_outdated_releases: bool,
    /// `--version`.
    pub(super) version: Option<Version>,
    /// `--quiet`: prints nothing except issues that are not accepted.
    pub(super) quiet: bool,
    /// `--accept`.
    pub(super) accept: BTreeSet<String>,
}

pub(super) fn recommend(
    options: &Recommend,
    cluster_version: &Object,
    alerts: Result<&[Alert], &str>,
    output: CommandOutput,
) -> CommandOutput {
    let mut advice = Advice { options, output, issues: BTreeSet::new() };
    advice.state(cluster_version);
    advice.prechecks(alerts);
    advice.updates(cluster_version)
}

/// The output so far, and the issues found.
struct Advice<'a> {
    options: &'a Recommend,
    output: CommandOutput,
    issues: BTreeSet<String>,
}

impl Advice<'_> {
    fn print(&mut self, line: &str) {
        if !self.options.quiet {
            self.output.print(line);
        }
    }

    fn warn(&mut self, line: &str) {
        if !self.options.quiet {
            self.output.warn(line);
        }
    }

    /// Records an issue. Returns the prefix of its message.
    fn issue(&mut self, name: &str) -> &'static str {
        self.issues.insert(name.to_owned());
        if self.options.accept.contains(name) { "accepted " } else { "" }
    }

    fn state(&mut self, cluster_version: &Object) {
        match conditions::find(cluster_version, "Failing") {
            None => {
                let accepted = self.issue("Failing");
                self.warn(&format!("{accepted}{}", missing("Failing")));
            }
            Some(failing) if failing.status != "False" => {
                let accepted = self.issue("Failing");
                self.print(&format!("{accepted}{}", block(&failing)));
            }
            Some(_) => {}
        }
        let progressing = conditions::find(cluster_version, "Progressing");
        if let Some(found) = progressing.filter(|found| found.status == "True" && !found.message.is_empty()) {
            let accepted = self.issue("Progressing");
            let wait = "You may wish to let this update complete before requesting a new update.";
            self.print(&format!(
                "{accepted}info: An update is in progress.  {wait}\n  {}\n",
                indented(&found.message)
            ));
        }
    }

    /// Reports the conditions derived from alerts. If any of them is not accepted, prints all reasons against
    /// updating in full.
    fn prechecks(&mut self, alerts: Result<&[Alert], &str>) {
        let found = match alerts {
            Ok(alerts) => alerts::derive_conditions(alerts),
            Err(why) => {
                self.issue("FailedToCompletePrecheck");
                return self.print(&format!("Failed to check for at least some preconditions: {why}"));
            }
        };
        let (mut happy, mut accepted, mut unhappy) = (Vec::new(), Vec::new(), Vec::new());
        for judgement in &found {
            let Condition { kind, status, reason, .. } = &judgement.condition;
            if status == "True" {
                happy.push(format!("{kind} ({reason})"));
            } else if self.issue(&judgement.issue).is_empty() {
                unhappy.push(kind.clone());
            } else {
                accepted.push(kind.clone());
            }
        }
        let groups = [
            ("found no cause for concern in updating this cluster to later releases", &mut happy),
            (
                "found cause for concern in updating this cluster to later releases, but were explicitly accepted via --accept",
                &mut accepted,
            ),
            ("found cause for concern in updating this cluster to later releases", &mut unhappy),
        ];
        for (what, kinds) in groups {
            kinds.sort_unstable();
            if !kinds.is_empty() {
                self.print(&format!("The following conditions {what}: {}\n", kinds.join(", ")));
            }
        }
        if !unhappy.is_empty() {
            for judgement in found.iter().filter(|judgement| judgement.condition.status != "True") {
                self.print(&block(&judgement.condition));
            }
        }
    }

    fn updates(mut self, cluster_version: &Object) -> CommandOutput {
        let retrieved = conditions::find(cluster_version, "RetrievedUpdates");
        if let Some(unknown) = retrieved.filter(|found| found.status != "True") {
            self.issue("CannotRetrieveUpdates");
            self.warn(&format!(
                "warning: Cannot refresh available updates:\n{}\n",
                reason_and_message(&unknown)
            ));
        }
        if !self.options.quiet {
            let words = ["Upstream update service is unset", "Upstream update service"];
            source(cluster_version, words, &mut self.output);
        }
        let (targets, warnings) = Targets::from_cluster_version(cluster_version);
        if !self.options.quiet {
            self.output.stderr.push_str(&warnings);
        }
        if let Some(version) = &self.options.version {
            return self.print_target(&targets, version);
        }
        if targets.is_empty() {
            self.print(NO_UPDATES);
        }
        for ((major, minor), releases) in targets.newest_first() {
            self.print(&format!("\nUpdates to {major}.{minor}:"));
            let releases: Vec<_> =
                releases.iter().map(|target| (target.release(), target.not_recommended())).collect();
            let text = if self.options.show_outdated_releases {
                table(&releases)
            } else {
                newest(&releases, &format!("{major}.{minor}"))
            };
            self.output.stdout.push_str(&text);
        }
        self.output
    }

    /// Reports on one release. Issues that are not accepted make the command fail.
    fn print_target(mut self, targets: &Targets, version: &Version) -> CommandOutput {
        let target = match targets.find(version) {
            Ok(target) => target,
            Err(error) => return self.output.fail(&error),
        };
        let Release { version, image, url } = target.release();
        self.print("");
        match target.not_recommended() {
            None => self.print(&format!(
                "Update to {version} has no known issues relevant to this cluster.\nImage: {image}\nRelease URL: {url}"
            )),
            Some(Condition { kind, status, reason, message }) => {
                let accepted = self.issue("ConditionalUpdateRisk");
                let via = if accepted.is_empty() { "" } else { " via ConditionalUpdateRisk" };
                let message = indented(&message);
                self.print(&format!(
                    "Update to {version} {kind}={status}:\nImage: {image}\nRelease URL: {url}\nReason: {accepted}{reason}{via}\nMessage: {message}"
                ));
            }
        }
        let all: Vec<&str> = self.issues.iter().map(String::as_str).collect();
        let open: Vec<&str> =
            all.iter().copied().filter(|issue| !self.options.accept.contains(*issue)).collect();
        if !open.is_empty() {
            let open = open.join(",");
            return self.output.fail(&format!(
                "issues that apply to this cluster but which were not included in --accept: {open}"
            ));
        }
        if !all.is_empty() {
            let line = format!(
                "Update to {version} has no known issues relevant to this cluster other than the accepted {}.",
                all.join(",")
            );
            self.print(&line);
        }
        self.output
    }
}

/// Formats a condition with its reason and message, followed by an empty line.
fn block(condition: &Condition) -> String {
    format!("{}={}:\n\n{}\n", condition.kind, condition.status, reason_and_message(condition))
}

const NO_ISSUES: &str = "no known issues relevant to this cluster";
const HEAD: &str = "  VERSION\tISSUES\n";

/// Formats all releases of a minor as a table.
fn table(releases: &[(Release<'_>, Option<Condition>)]) -> String {
    let row = |(release, found): &(Release<'_>, Option<Condition>)| {
        let issues = found.as_ref().map_or(NO_ISSUES, |condition| &condition.reason);
        format!("  {}\t{issues}\n", release.version)
    };
    let rows: String = releases.iter().map(row).collect();
    RELEASES.layout(&format!("{HEAD}{rows}"))
}

/// Formats the newest releases of a minor: rows for those without issues, paragraphs for the others, and the
/// number of further releases. Each row is laid out separately, with the header before the first.
fn newest(releases: &[(Release<'_>, Option<Condition>)], minor: &str) -> String {
    let (mut text, mut head, mut after_paragraph) = (String::new(), HEAD, false);
    for (index, (release, found)) in releases.iter().enumerate() {
        if after_paragraph || found.is_some() {
            text.push('\n');
            if found.is_none() {
                head = HEAD;
            }
            after_paragraph = false;
        }
        if index == SHOWN {
            let more = releases.len() - SHOWN;
            text += &format!(
                "And {more} older {minor} updates you can see with '--show-outdated-releases' or '--version VERSION'.\n"
            );
            break;
        }
        match found {
            None => {
                text += &RELEASES.layout(&format!("{head}  {}\t{NO_ISSUES}\n", release.version));
                head = "";
            }
            Some(condition) => {
                let message = indented(condition.message.trim());
                text += &format!(
                    "  Version: {}\n  Image: {}\n  Reason: {}\n  Message: {message}\n",
                    release.version, release.image, condition.reason
                );
                after_paragraph = true;
            }
        }
    }
    text
}
