//! `run --watch`: plays again whenever a file changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher as _};

use super::hint;

/// How long a change waits for others: editors write a file in several steps.
const SETTLES_AFTER: Duration = Duration::from_millis(200);

/// Does the work, and again after each change of what lies at or below the paths, until the process is ended.
///
/// # Errors
/// The paths cannot be watched.
pub(super) fn watch(paths: &[PathBuf], mut work: impl FnMut()) -> Result<(), String> {
    let (tell, told) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // What reads files changes nothing; the work itself does.
        let changes = event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)));
        if changes {
            let _ = tell.send(());
        }
    })
    .map_err(|error| format!("--watch: {error}"))?;
    for path in paths {
        // Editors put another file in the place of the old one: the folder sees that.
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let failed = |error| format!("--watch: {}: {error}", folder.display());
        watcher.watch(folder, RecursiveMode::Recursive).map_err(failed)?;
    }
    loop {
        work();
        hint("watching for changes; Ctrl-C ends it");
        if told.recv().is_err() {
            return Ok(());
        }
        while told.recv_timeout(SETTLES_AFTER).is_ok() {}
    }
}
