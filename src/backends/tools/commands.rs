//! Runs other programs to completion or to a time limit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backends::{BackendError, ReportProgress};

pub(super) struct Commands {
    program: &'static str,
    how_to_get: &'static str,
    /// A dummy kubeconfig: some programs would otherwise write to the user's.
    kubeconfig: PathBuf,
    /// Gets every command line and its result.
    debug: ReportProgress,
    /// A file that programs keep open while they run.
    inherited: Mutex<Option<File>>,
    running: Mutex<Vec<Arc<duct::Handle>>>,
}

impl Commands {
    /// `folder` contains windtunnel's own files.
    pub(super) fn new(
        program: &'static str,
        how_to_get: &'static str,
        folder: &Path,
        debug: ReportProgress,
    ) -> Self {
        let kubeconfig = folder.join("nobody.kubeconfig");
        Self {
            program,
            how_to_get,
            kubeconfig,
            debug,
            inherited: Mutex::default(),
            running: Mutex::default(),
        }
    }

    /// Makes programs keep this file open, and its lock if it is locked, even after this process has ended.
    pub(super) fn keep_open(&self, file: File) {
        *self.inherited.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }

    /// Runs the program and returns its standard output.
    ///
    /// # Errors
    /// The program is missing, fails, or exceeds `limit`; in that case it is killed.
    pub(super) fn run(&self, arguments: &[&str], limit: Duration) -> Result<Vec<u8>, BackendError> {
        let line = shlex::try_join(std::iter::once(self.program).chain(arguments.iter().copied()));
        let line = line.unwrap_or_else(|_| self.program.to_owned());
        (self.debug)(&format!("run: {line}"));
        let command = duct::cmd(self.program, arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdout_capture()
            .stderr_capture()
            .unchecked();
        let inherited =
            self.inherited.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(File::try_clone);
        // The file is empty.
        let command = match inherited.transpose().map_err(|error| BackendError::Failed(error.to_string()))? {
            Some(file) => command.stdin_file(file),
            None => command.stdin_null(),
        };
        let running = command.start().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                BackendError::Missing(format!("`{}` is not on the PATH: {}", self.program, self.how_to_get))
            }
            _ => BackendError::Failed(format!("{line}: {error}")),
        })?;
        let failed = |why: &str| {
            (self.debug)(&format!("failed: {line}: {why}"));
            BackendError::Failed(format!("`{line}` failed: {why}"))
        };
        let running = Arc::new(running);
        let all = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        all().push(Arc::clone(&running));
        let ended = running.wait_timeout(limit);
        all().retain(|other| !Arc::ptr_eq(other, &running));
        match ended {
            Ok(Some(output)) if output.status.success() => {
                (self.debug)(&format!("done: {line}"));
                Ok(output.stdout.clone())
            }
            Ok(Some(output)) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                Err(failed(&format!("{}: {}", output.status, reason(&stderr))))
            }
            Ok(None) => {
                // The caller cleans up what it started, by name.
                let _ = running.kill();
                Err(failed(&format!("it took longer than {} s", limit.as_secs())))
            }
            Err(error) => Err(failed(&error.to_string())),
        }
    }

    pub(super) fn stop(&self) {
        for running in self.running.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may have ended already.
            let _ = running.kill();
        }
    }

    /// Runs the program and returns its standard output as text.
    ///
    /// # Errors
    /// As [`Commands::run`], or the output is not text.
    pub(super) fn text(&self, arguments: &[&str], limit: Duration) -> Result<String, BackendError> {
        String::from_utf8(self.run(arguments, limit)?)
            .map_err(|_| self.unexpected_output(arguments, "output that is not UTF-8"))
    }

    /// Returns the error for unexpected output.
    pub(super) fn unexpected_output(&self, arguments: &[&str], what: &str) -> BackendError {
        BackendError::Failed(format!("`{} {}` printed {what}", self.program, arguments.join(" ")))
    }
}

/// The line in which a program says why it failed: the last one that does not only refer to its help.
fn reason(stderr: &str) -> &str {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.rev().find(|line| !line.contains("--help")).unwrap_or("it printed no reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failure_is_not_the_reference_to_a_help_text() {
        let docker = "docker: Error response from daemon: no space left\n\nRun 'docker run --help' for more information\n";
        assert_eq!(reason(docker), "docker: Error response from daemon: no space left");
        assert_eq!(reason("creating\n ✗ failed \n"), "✗ failed");
        assert_eq!(reason("\n"), "it printed no reason");
    }
}
