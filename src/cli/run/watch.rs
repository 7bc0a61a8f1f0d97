//! `--watch`: reruns scenarios or features after each change of an input file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher as _};

use crate::cli::args::SuiteArgs;
use crate::cli::output::Shown as _;
use crate::cli::report::outputs;
use crate::cli::{files, print_notice};

/// The time to collect further changes: editors write a file in several steps.
const SETTLES_AFTER: Duration = Duration::from_millis(200);

/// Extensions of files that become input by being created.
const NEW_INPUT: [&str; 2] = ["yaml", "feature"];

/// Does the work, and repeats it after each change of an input: a file that the work read, or a new scenario
/// or feature at or below the paths. Files that the work writes are no input.
///
/// # Errors
/// The paths cannot be watched.
pub(in crate::cli) fn watch(
    paths: &[PathBuf],
    args: &SuiteArgs,
    mut work: impl FnMut(),
) -> Result<(), String> {
    let written = outputs::paths(&args.reports);
    let written: Vec<_> = written.iter().filter_map(|path| path.file_name()).map(ToOwned::to_owned).collect();
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Reading a file is not a change.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let is_changed = |path: &&PathBuf| is_input(path, &written, files::was_read);
        if let Some(changed) = event.paths.iter().find(is_changed) {
            let _ = sender.send(changed.clone());
        }
    })
    .map_err(|error| format!("--watch: {error}"))?;
    for path in paths {
        // Editors replace files, which only a watch of the folder detects.
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let failed = |error| format!("--watch: {}: {error}", folder.shown());
        watcher.watch(folder, RecursiveMode::Recursive).map_err(failed)?;
    }
    loop {
        work();
        print_notice("watching for changes; press Ctrl-C to stop");
        let Ok(changed) = changes.recv() else { return Ok(()) };
        while changes.recv_timeout(SETTLES_AFTER).is_ok() {}
        let name = changed.file_name().unwrap_or_default().to_string_lossy();
        print_notice("");
        print_notice(&format!("{name} changed"));
    }
}

/// Returns whether a path is an input: neither a report of a run nor its draft, nor a temporary file of an
/// editor, nor a file that the run did not read, such as its own output in a file.
fn is_input(path: &Path, written: &[OsString], was_read: impl Fn(&Path) -> bool) -> bool {
    let Some(name) = path.file_name() else { return false };
    let text = name.to_string_lossy();
    let is_temporary =
        text.starts_with('.') || text.ends_with('~') || text.ends_with(".part") || text == "4913";
    let is_new_input = || path.extension().is_some_and(|found| NEW_INPUT.iter().any(|known| found == *known));
    !is_temporary && written.iter().all(|written| written != name) && (was_read(path) || is_new_input())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_were_read_and_new_scenarios_are_inputs() {
        let written = [OsString::from("results.xml"), OsString::from("results.yaml")];
        let was_read = |path: &Path| path.ends_with("image-references") || path.ends_with("results.xml");
        for (path, input) in [
            ("scenarios/a.yaml", true),
            ("features/a.feature", true),
            ("scenarios/payload/image-references", true),
            ("scenarios/log", false),
            ("scenarios/log.txt", false),
            ("results.xml", false),
            ("results.yaml", false),
            ("results.xml.part", false),
            ("scenarios/.a.yaml.swp", false),
            ("scenarios/a.yaml~", false),
        ] {
            assert_eq!(is_input(Path::new(path), &written, was_read), input, "{path}");
        }
    }
}
