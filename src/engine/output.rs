//! The output of a command that an administrator typed, and its checks.

use windtunnel_openshift::oc::CommandOutput;

use super::error::SessionError;
use crate::plan::CommandCheck;

/// The output of a command. Checks read `actual`; messages and records show `redacted`, which lacks the values
/// of the cluster's Secrets.
#[derive(Debug, Clone)]
pub(super) struct CapturedOutput {
    pub(super) actual: CommandOutput,
    pub(super) redacted: CommandOutput,
}

impl CapturedOutput {
    /// Output that is shown in full, before known secret values are hidden.
    pub(super) fn plain(output: CommandOutput) -> Self {
        Self { redacted: output.clone(), actual: output }
    }

    /// Checks the output.
    ///
    /// # Errors
    /// With the actual output: [`SessionError::CommandFailed`] if the command must succeed and ended with an error, or else
    /// [`SessionError::ExpectationFailed`].
    pub(super) fn check(&self, checks: &[CommandCheck]) -> Result<(), SessionError> {
        let Self { actual, redacted } = self;
        let fits = |check: &&CommandCheck| match check {
            CommandCheck::Code(code) => actual.code == *code,
            CommandCheck::Prints(text) => text.fits(actual.stdout.trim_end()),
            CommandCheck::Warns(text) => text.fits(actual.stderr.trim_end()),
            CommandCheck::Says(text) => text.fits(format!("{}{}", actual.stdout, actual.stderr).trim_end()),
            CommandCheck::Fails => actual.code != 0,
            CommandCheck::Refused(text) => {
                actual.error_message().is_some_and(|rejection| text.fits(rejection))
            }
        };
        let Some(wrong) = checks.iter().find(|check| !fits(check)) else { return Ok(()) };
        let CommandOutput { stdout, stderr, code } = redacted;
        let printed = match (stdout.trim_end(), stderr.trim_end()) {
            ("", "") => "and printed nothing".to_owned(),
            (text, "") | ("", text) => format!("and printed:\n{text}"),
            (stdout, stderr) => format!("and printed:\n{stdout}\n{stderr}"),
        };
        let text = format!("expected that the command {wrong}; it exited with code {code} {printed}");
        Err(match wrong {
            CommandCheck::Code(0) => SessionError::CommandFailed(text),
            _ => SessionError::ExpectationFailed(text),
        })
    }
}
