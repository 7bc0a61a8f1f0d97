//! The log lines of a run for the panel below its timeline.

use serde::Serialize;

use super::texts::{Numbered, Texts};
use crate::record::{ContainerLog, Record};

/// The lines of all pods.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Logs {
    /// The names of pods, with their containers where these differ.
    sources: Vec<String>,
    /// Each line, oldest first: milliseconds since the one before, the index of its source, and that of its text
    /// without the time, since most lines repeat.
    lines: Vec<(i64, usize, usize)>,
}

impl Logs {
    /// Returns the lines with other indices for the same texts.
    pub(super) fn renumbered(&self, number: &impl Fn(usize) -> usize) -> Self {
        let lines = self.lines.iter().map(|(at, source, text)| (*at, *source, number(*text)));
        Self { sources: self.sources.clone(), lines: lines.collect() }
    }
}

/// Returns the lines since the start of the run; `None` without any.
pub(super) fn logs(record: &Record, texts: &mut Texts) -> Option<Logs> {
    let epoch = record.header.epoch;
    let run = record.logs.iter().flat_map(|log| log.lines.iter().map(move |line| (log, line)));
    let mut run: Vec<_> = run.filter(|(_, line)| line.at >= epoch).collect();
    run.sort_by_key(|(_, line)| line.at);
    let mut sources = Numbered::default();
    let mut last = epoch.as_millisecond();
    let lines = run.into_iter().map(|(log, line)| {
        let at = line.at.as_millisecond();
        let since = at - std::mem::replace(&mut last, at);
        (since, sources.number(source(log)), texts.number(&without_time(&line.text)))
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then_some(Logs { sources: sources.list, lines })
}

fn source(log: &ContainerLog) -> String {
    if log.pod.starts_with(&log.container) {
        return log.pod.clone();
    }
    format!("{}/{}", log.pod, log.container)
}

/// Returns a line of klog with its severity, source and message alone; any other line unchanged.
fn without_time(line: &str) -> String {
    let shorten = || {
        let (head, rest) = line.split_once(' ')?;
        let (severity, date) = head.split_at_checked(1)?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (_time, rest) = rest.split_once(' ')?;
        let (process, message) = rest.trim_start().split_once(' ')?;
        (date.len() == 4 && is_number(date) && is_number(process)).then(|| format!("{severity} {message}"))
    };
    shorten().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use windtunnel_core::clock::Time;
    use windtunnel_core::log::{LogLine, Severity, klog};

    use super::*;
    use crate::record::Header;

    #[test]
    fn only_lines_of_klog_lose_their_time() {
        let at: Time = "2026-11-25T20:05:00Z".parse().unwrap();
        let line = klog(Severity::Error, at, "cvo.go:794", "Error: a b");
        assert_eq!(without_time(&line), "E cvo.go:794] Error: a b");
        for line in ["", "I", "plain text of a program", "E1125 x", "\u{e4}1125 1 2 3"] {
            assert_eq!(without_time(line), line);
        }
    }

    #[test]
    fn lines_of_all_pods_are_in_the_order_of_time_and_texts_are_stored_once() {
        let at = |seconds: i64| Time::from_second(seconds).unwrap();
        let log = |pod: &str, lines: &[(i64, &str)]| ContainerLog {
            namespace: "ns".to_owned(),
            pod: pod.to_owned(),
            container: "c".to_owned(),
            restarts: 0,
            lines: lines
                .iter()
                .map(|(at_second, text)| LogLine { at: at(*at_second), text: (*text).to_owned() })
                .collect(),
        };
        let logs_of_pods =
            vec![log("c-1", &[(5, "set-up"), (12, "again"), (14, "x")]), log("p", &[(13, "again")])];
        let header = Header { epoch: at(10), ..Header::default() };
        let mut texts = Texts::new();
        let record = Record { logs: logs_of_pods, ..Record::new(header, Vec::new()) };
        let found = logs(&record, &mut texts).unwrap();
        assert_eq!(found.sources, ["c-1", "p/c"]);
        assert_eq!(texts.into_lists().0, ["", "again", "x"]);
        assert_eq!(found.lines, [(2000, 0, 1), (1000, 1, 1), (1000, 0, 2)]);
    }
}
