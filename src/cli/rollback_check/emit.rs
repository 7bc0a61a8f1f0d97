//! `--emit`: a scenario per trap.

use std::path::Path;

use semver::Version;
use windtunnel_core::text::counted;
use windtunnel_openshift::release;
use windtunnel_rollback::trap::Harm;
use windtunnel_rollback::{Report, output};

use super::side::Side;
use crate::cli::output::Shown as _;
use crate::cli::{files, print_notice};

/// The version of a cluster with this Kubernetes minor, so that its own definitions suit its API server. Without one, the
/// newest.
fn cluster_of(kubernetes: u32) -> String {
    let releases = release::Release::lines().map(|(major, minor)| Version::new(major, minor, 1));
    let known: Vec<Version> = releases.collect();
    let fits = |version: &&Version| {
        release::Release::find(version).is_ok_and(|release| release.kubernetes_minor == kubernetes)
    };
    known.iter().find(fits).or(known.last()).map_or_else(String::new, Version::to_string)
}

/// Writes a scenario for each trap at or above a level, and prints how many traps have none, and why.
///
/// # Errors
/// A file cannot be written.
pub(super) fn scenarios(
    folder: &Path,
    report: &Report,
    level: Harm,
    (newer, older): (&Side, &Side),
) -> Result<(), String> {
    let cluster = cluster_of(report.kubernetes);
    let (mut written, mut missing) = (0, Vec::new());
    for trap in report.at_level(level) {
        let definitions =
            (newer.release().definition(&trap.definition), older.release().definition(&trap.definition));
        let (Some(before), Some(after)) = definitions else { continue };
        match output::scenario(report, trap, (before, after), &cluster) {
            Ok(file) => {
                files::write_into(folder, &file.name, &file.text)?;
                written += 1;
            }
            Err(reason) => missing.push(format!("note: no scenario for {}: {reason}", trap.id())),
        }
    }
    for line in &missing {
        print_notice(line);
    }
    print_notice(&format!("{}: {} written", folder.shown(), counted(written, "scenario")));
    Ok(())
}
