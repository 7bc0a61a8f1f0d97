//! Programs of others, each run to its end or to its time limit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backends::{BackendError, Tell};

/// Runs one program.
pub(super) struct Commands {
    program: &'static str,
    /// How to get the program.
    how_to_get: &'static str,
    /// A kubeconfig of nobody: some programs write into the user's if they are not told otherwise.
    kubeconfig: PathBuf,
    /// Is told of every command line, and how it ended.
    debug: Tell,
    /// A file that programs hold open as long as they run.
    held: Mutex<Option<File>>,
    /// What runs now.
    running: Mutex<Vec<Arc<duct::Handle>>>,
}

impl Commands {
    /// `folder`: where our files stand.
    pub(super) fn new(program: &'static str, how_to_get: &'static str, folder: &Path, debug: Tell) -> Self {
        let kubeconfig = folder.join("nobody.kubeconfig");
        Self { program, how_to_get, kubeconfig, debug, held: Mutex::default(), running: Mutex::default() }
    }

    /// From now on programs hold this file open, and locked if it is, also when this process is gone.
    pub(super) fn hold(&self, file: File) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }

    /// What the program prints to standard output.
    ///
    /// # Errors
    /// It is not there, fails, or takes longer than `limit`; it is killed then.
    pub(super) fn run(&self, arguments: &[&str], limit: Duration) -> Result<Vec<u8>, BackendError> {
        let line = shlex::try_join(std::iter::once(self.program).chain(arguments.iter().copied()));
        let line = line.unwrap_or_else(|_| self.program.to_owned());
        (self.debug)(&format!("run: {line}"));
        let command = duct::cmd(self.program, arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdout_capture()
            .stderr_capture()
            .unchecked();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(File::try_clone);
        // There is nothing to read in it.
        let command = match held.transpose().map_err(|error| BackendError::Failed(error.to_string()))? {
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
                let last =
                    stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
                Err(failed(&format!("{}: {}", output.status, last.trim())))
            }
            Ok(None) => {
                // What it began is cleaned up by its name.
                let _ = running.kill();
                Err(failed(&format!("it took longer than {} s", limit.as_secs())))
            }
            Err(error) => Err(failed(&error.to_string())),
        }
    }

    /// Ends what runs now.
    pub(super) fn stop(&self) {
        for running in self.running.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may have ended by itself.
            let _ = running.kill();
        }
    }

    /// What the program prints, as text.
    ///
    /// # Errors
    /// As [`Commands::run`], or it prints no text.
    pub(super) fn text(&self, arguments: &[&str], limit: Duration) -> Result<String, BackendError> {
        String::from_utf8(self.run(arguments, limit)?)
            .map_err(|_| self.garbage(arguments, "something that is no text"))
    }

    /// The error of an output that nobody understands.
    pub(super) fn garbage(&self, arguments: &[&str], what: &str) -> BackendError {
        BackendError::Failed(format!("`{} {}` printed {what}", self.program, arguments.join(" ")))
    }
}
