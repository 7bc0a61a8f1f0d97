//! `run --watch`: reruns scenarios after each change of a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher as _};

use crate::cli::print_notice;

/// The time to collect further changes: editors write a file in several steps.
const SETTLES_AFTER: Duration = Duration::from_millis(200);

/// Does the work, and repeats it after each change at or below the paths, until the process ends. Changes of
/// `written`, the files that the work itself writes, are ignored.
///
/// # Errors
/// The paths cannot be watched.
pub(in crate::cli) fn watch(
    paths: &[PathBuf],
    written: &[PathBuf],
    mut work: impl FnMut(),
) -> Result<(), String> {
    let written: Vec<_> = written.iter().filter_map(|path| path.file_name()).map(ToOwned::to_owned).collect();
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Reading a file is not a change.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        if let Some(changed) = event.paths.iter().find(|path| is_input(path, &written)) {
            let _ = sender.send(changed.clone());
        }
    })
    .map_err(|error| format!("--watch: {error}"))?;
    for path in paths {
        // Editors replace files, which only a watch of the folder detects.
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let failed = |error| format!("--watch: {}: {error}", folder.display());
        watcher.watch(folder, RecursiveMode::Recursive).map_err(failed)?;
    }
    loop {
        work();
        print_notice("watching for changes; press Ctrl-C to stop");
        let Ok(changed) = changes.recv() else { return Ok(()) };
        while changes.recv_timeout(SETTLES_AFTER).is_ok() {}
        let name = changed.file_name().unwrap_or_default().to_string_lossy();
        print_notice(&format!("\n{name} changed"));
    }
}

/// Returns whether a path is an input: neither a report of a run nor its draft, nor a temporary file of an
/// editor.
fn is_input(path: &Path, written: &[OsString]) -> bool {
    let Some(name) = path.file_name() else { return false };
    let text = name.to_string_lossy();
    let is_temporary =
        text.starts_with('.') || text.ends_with('~') || text.ends_with(".part") || text == "4913";
    !is_temporary && written.iter().all(|written| written != name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_reports_and_temporary_files_of_editors() {
        let written = [OsString::from("results.xml")];
        for (path, input) in [
            ("scenarios/a.yaml", true),
            ("scenarios/payload/image-references", true),
            ("results.xml", false),
            ("results.xml.part", false),
            ("scenarios/.a.yaml.swp", false),
            ("scenarios/a.yaml~", false),
        ] {
            assert_eq!(is_input(Path::new(path), &written), input, "{path}");
        }
    }
}
