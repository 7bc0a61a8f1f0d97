//! A probe by a command in the container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::super::namespace::Namespaces;

/// The way into the container of a running program.
#[derive(Debug, Clone, Default)]
pub(in crate::backends::programs) struct ExecContext {
    /// The namespaces of the program, if it has its own, and its process.
    pub(in crate::backends::programs) namespace: Option<(Namespaces, i32)>,
    /// The group of its processes.
    pub(in crate::backends::programs) group: i32,
    /// The variables that it has before `env`; `None` for those of windtunnel itself.
    pub(in crate::backends::programs) inherited: Option<BTreeMap<String, OsString>>,
    /// Its further variables.
    pub(in crate::backends::programs) env: BTreeMap<String, String>,
    /// The folder in which it started.
    pub(in crate::backends::programs) folder: Option<PathBuf>,
}

impl ExecContext {
    /// Runs a command beside the program.
    ///
    /// # Errors
    /// It ends with another exit code than 0, or not in time, or cannot be started.
    pub(super) async fn run(&self, words: &[String], limit: Duration) -> Result<(), String> {
        let mut command = self.command(words);
        if let Some(variables) = &self.inherited {
            command.env_clear().envs(variables);
        }
        command.stdin(Stdio::null()).kill_on_drop(true).process_group(self.group).envs(&self.env);
        let cannot = |error| format!("cannot run {words:?}: {error}");
        let Ok(ended) = timeout(limit, command.output()).await else {
            return Err(format!("command timed out: {words:?} timed out after {}s", limit.as_secs()));
        };
        let output = ended.map_err(cannot)?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        Err(String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    fn command(&self, words: &[String]) -> Command {
        let Some((way, process)) = self.namespace else {
            let mut command = Command::new(words.first().map_or("", String::as_str));
            command.args(words.iter().skip(1));
            if let Some(folder) = &self.folder {
                command.current_dir(folder);
            }
            return command;
        };
        let mut command = Command::from(way.enter(process));
        command.args(words);
        command
    }
}
