//! Programs of others, each run to its end or to its time limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backends::{BackendError, Tell};

/// Runs one program.
pub(super) struct Commands {
    program: &'static str,
    /// How to get the program.
    how_to_get: &'static str,
    /// Is told of every command line, and how it ended.
    debug: Tell,
    /// What runs now.
    running: Mutex<Vec<Arc<duct::Handle>>>,
}

impl Commands {
    pub(super) fn new(program: &'static str, how_to_get: &'static str, debug: Tell) -> Self {
        Self { program, how_to_get, debug, running: Mutex::default() }
    }

    /// What the program prints to standard output.
    ///
    /// # Errors
    /// It is not there, fails, or takes longer than `limit`; it is killed then.
    pub(super) fn run(&self, arguments: &[&str], limit: Duration) -> Result<Vec<u8>, BackendError> {
        let line = shlex::try_join(std::iter::once(self.program).chain(arguments.iter().copied()));
        let line = line.unwrap_or_else(|_| self.program.to_owned());
        (self.debug)(&format!("run: {line}"));
        let command =
            duct::cmd(self.program, arguments).stdin_null().stdout_capture().stderr_capture().unchecked();
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
