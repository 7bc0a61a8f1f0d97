//! The output and exit code of a command.

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
