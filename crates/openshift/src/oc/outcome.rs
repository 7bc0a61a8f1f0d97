//! The outcome of a command: its output and exit code, or a patch of the ClusterVersion and the output after
//! it.

use serde_json::Value;
use windtunnel_core::Object;

use super::cluster_version::{Release, desired};

/// The output of a command so far, and its exit code if it ended now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit code: 0, or 1 after an error.
    pub code: u8,
}

impl CommandOutput {
    /// Adds a line to standard output.
    pub(super) fn print(&mut self, line: &str) {
        self.stdout.push_str(line);
        self.stdout.push('\n');
    }

    /// Adds a line to standard error.
    pub(super) fn warn(&mut self, line: &str) {
        self.stderr.push_str(line);
        self.stderr.push('\n');
    }

    /// Ends with an error, printed like kubectl's `CheckErr`.
    pub(super) fn fail(mut self, error: &str) -> Self {
        self.stderr.push_str("error: ");
        self.stderr.push_str(error);
        if !error.ends_with('\n') {
            self.stderr.push('\n');
        }
        self.code = 1;
        self
    }

    /// Ends with a usage error that refers to the help of `command`.
    pub(super) fn fail_usage(self, error: &str, command: &str) -> Self {
        self.fail(&format!("{error}\nSee '{command} -h' for help and examples"))
    }

    /// Returns the error message without `error: `; `None` if the command succeeded.
    pub fn error_message(&self) -> Option<&str> {
        let text = self.stderr.trim_end();
        // Warnings come before the error, and may contain `error: ` within a line.
        let error = text.strip_prefix("error: ").or_else(|| Some(text.split_once("\nerror: ")?.1));
        (self.code != 0).then(|| error.unwrap_or(text))
    }
}

/// The next step of a command.
#[derive(Debug)]
pub enum CommandStep {
    /// The command is finished.
    Done(CommandOutput),
    /// The command patches the ClusterVersion.
    Patch(Patch),
}

/// A merge patch of the ClusterVersion `version`.
#[derive(Debug)]
pub struct Patch {
    /// The body, byte for byte as the client sends it.
    pub body: String,
    pub(super) output: CommandOutput,
    pub(super) success: Success,
    /// The prefix of the error message for a rejected patch.
    pub(super) unable: &'static str,
}

/// The output after a successful patch.
#[derive(Debug)]
pub(super) enum Success {
    Silent,
    Line(String),
    /// A line saying that the update to this version and image was cancelled, or that there was nothing left
    /// to cancel.
    Cleared(String, String),
}

impl Patch {
    /// Returns the body as JSON.
    pub fn to_value(&self) -> Value {
        // Always valid JSON, since this module wrote it.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Prints a warning of the API server's answer.
    #[must_use]
    pub fn with_warning(mut self, text: &str) -> Self {
        self.output.warn(&format!("Warning: {text}"));
        self
    }

    /// Finishes the command with the patched object, or with the API server's error message.
    pub fn finish(self, answer: Result<&Object, &str>) -> CommandOutput {
        let Self { mut output, success, unable, .. } = self;
        let patched = match answer {
            Ok(patched) => patched,
            Err(message) => return output.fail(&format!("{unable}: {message}")),
        };
        match success {
            Success::Silent => {}
            Success::Line(line) => output.print(&line),
            Success::Cleared(version, image) => {
                let canceled = Release { version: &version, image: &image, url: "" };
                let desired = desired(patched);
                output.print(&if canceled.is_equivalent(desired) {
                    format!("Cleared the update field, still at {}", desired.name())
                } else {
                    format!("Cancelled requested upgrade to {}", canceled.name())
                });
            }
        }
        output
    }
}
