//! Logs of simulated programs in records, and their lines in the file form.
//!
//! A record lacks the cluster-version operator's lines about each single manifest of a payload: they are most of its log,
//! and the writes in the record say the same.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;

/// The lines of one instance of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerLog {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// How many instances of the container in this pod printed lines before this one.
    pub restarts: u32,
    /// The lines, oldest first; at least one.
    pub lines: Vec<LogLine>,
}

impl ContainerLog {
    /// Returns the number of lines up to a moment.
    pub fn lines_until(&self, at: Time) -> usize {
        self.lines.partition_point(|line| line.at <= at)
    }

    /// Returns the data of its line in a file.
    pub(super) fn file_form(&self) -> LogForm<'_> {
        LogForm {
            log: Cow::Borrowed(&self.pod),
            namespace: Cow::Borrowed(&self.namespace),
            container: Cow::Borrowed(&self.container),
            restarts: self.restarts,
            lines: self
                .lines
                .iter()
                .map(|line| (line.at.as_millisecond(), Cow::Borrowed(&*line.text)))
                .collect(),
        }
    }
}

/// Returns the lines up to a moment that `oc logs` would print for a container, named by namespace, pod and container: those
/// of its last instance, or with `previous` of the one before it. `None` if that instance printed nothing.
pub fn log_at<'r>(
    logs: &'r [ContainerLog],
    name: [&str; 3],
    previous: bool,
    at: Time,
) -> Option<&'r [LogLine]> {
    let is_named = |log: &&ContainerLog| [&*log.namespace, &*log.pod, &*log.container] == name;
    let mut instances = logs.iter().rev().filter(|log| is_named(log) && log.lines_until(at) > 0);
    let log = if previous { instances.nth(1) } else { instances.next() }?;
    Some(&log.lines[..log.lines_until(at)])
}

/// A log in a file. Each of its lines has its moment in milliseconds since the Unix epoch.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogForm<'r> {
    log: Cow<'r, str>,
    namespace: Cow<'r, str>,
    container: Cow<'r, str>,
    #[serde(default, skip_serializing_if = "is_first")]
    restarts: u32,
    lines: Vec<(i64, Cow<'r, str>)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_first(restarts: &u32) -> bool {
    *restarts == 0
}

impl LogForm<'_> {
    /// Returns whether a line of a file is a log.
    pub(super) fn is_log(line: &str) -> bool {
        line.starts_with("{\"log\":")
    }

    /// Returns the log.
    ///
    /// # Errors
    /// A moment is out of range.
    pub(super) fn into_log(self) -> Result<ContainerLog, String> {
        let lines = self.lines.into_iter();
        let lines = lines.map(|(at, text)| Ok(LogLine { at: moment(at)?, text: text.into_owned() }));
        Ok(ContainerLog {
            namespace: self.namespace.into_owned(),
            pod: self.log.into_owned(),
            container: self.container.into_owned(),
            restarts: self.restarts,
            lines: lines.collect::<Result<_, String>>()?,
        })
    }
}

/// Returns a moment of a file.
pub(super) fn moment(milliseconds: i64) -> Result<Time, String> {
    Time::from_millisecond(milliseconds)
        .map_err(|_| format!("milliseconds since 1970, up to the year 9999; found {milliseconds}"))
}
