//! The logs of simulated programs: bounded, per container, of its current and its previous instance; and the lines for
//! the record.

pub(in crate::engine) mod pod;
mod scripted;

use std::collections::{BTreeMap, VecDeque};

use windtunnel_core::Key;
use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;

use crate::record::ContainerLog as RecordedLog;

/// The maximum number of lines that are kept of each instance of a container.
const LINES_MAX: usize = 1000;

/// Whether a line is in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum IsRecorded {
    /// Yes.
    Yes,
    /// No, because there are too many of its kind.
    No,
}

/// The log of a container.
#[derive(Debug, Clone, Default)]
struct ContainerLog {
    current: VecDeque<LogLine>,
    /// The lines of the instance before the current one.
    previous: Option<VecDeque<LogLine>>,
    /// Whether the current instance has ended.
    has_ended: bool,
    /// The number of instances that ended.
    restarts: u32,
    /// The index of the current instance in [`Logs::recorded`], if it has lines there.
    recorded: Option<usize>,
}

impl ContainerLog {
    /// Starts a new instance if the current one has ended.
    fn start(&mut self) {
        if std::mem::take(&mut self.has_ended) {
            self.previous = Some(std::mem::take(&mut self.current));
            self.restarts += 1;
            self.recorded = None;
        }
    }

    fn push(&mut self, line: LogLine) {
        if self.current.len() == LINES_MAX {
            self.current.pop_front();
        }
        self.current.push_back(line);
    }
}

/// The logs of all containers, by pod and container.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Logs {
    by_container: BTreeMap<Key, BTreeMap<String, ContainerLog>>,
    /// The number of lines so far, including dropped ones.
    printed: u64,
    /// The lines for the record, also of deleted pods.
    recorded: Vec<RecordedLog>,
}

impl Logs {
    /// Adds the lines of a text.
    pub(in crate::engine) fn print(
        &mut self,
        pod: &Key,
        container: &str,
        text: &str,
        at: Time,
        recorded: IsRecorded,
    ) {
        // Keys are copied only for the first line of a container.
        if !self.by_container.contains_key(pod) {
            self.by_container.insert(pod.clone(), BTreeMap::new());
        }
        let Some(containers) = self.by_container.get_mut(pod) else { return };
        if !containers.contains_key(container) {
            containers.insert(container.to_owned(), ContainerLog::default());
        }
        let Some(log) = containers.get_mut(container) else { return };
        log.start();
        for line in text.lines().map(|line| LogLine { at, text: line.to_owned() }) {
            if recorded == IsRecorded::Yes {
                let index = *log.recorded.get_or_insert_with(|| {
                    self.recorded.push(recorded_log(pod, container, log.restarts));
                    self.recorded.len() - 1
                });
                if let Some(recorded) = self.recorded.get_mut(index) {
                    recorded.lines.push(line.clone());
                }
            }
            log.push(line);
            self.printed += 1;
        }
    }

    /// The number of lines of the current instance of a container that are for the record.
    pub(in crate::engine) fn recorded_lines(&self, pod: &Key, container: &str) -> usize {
        let log = self.by_container.get(pod).and_then(|containers| containers.get(container));
        let recorded = log.and_then(|log| self.recorded.get(log.recorded?));
        recorded.map_or(0, |recorded| recorded.lines.len())
    }

    /// Takes the lines for the record.
    pub(in crate::engine) fn take_recorded(&mut self) -> Vec<RecordedLog> {
        // Instances that still run print to new logs.
        self.by_container.values_mut().flat_map(BTreeMap::values_mut).for_each(|log| log.recorded = None);
        std::mem::take(&mut self.recorded)
    }

    /// Notes that an instance of a container has started.
    pub(in crate::engine) fn started(&mut self, pod: &Key, container: &str) {
        let log = self.by_container.get_mut(pod).and_then(|containers| containers.get_mut(container));
        log.into_iter().for_each(ContainerLog::start);
    }

    /// Notes that an instance of a container has ended. Its log stays until the next instance ends.
    pub(in crate::engine) fn ended(&mut self, pod: &Key, container: &str) {
        let log = self.by_container.get_mut(pod).and_then(|containers| containers.get_mut(container));
        if let Some(log) = log {
            log.has_ended = true;
        }
    }

    /// Drops the logs of a deleted pod.
    pub(in crate::engine) fn forget(&mut self, pod: &Key) {
        self.by_container.remove(pod);
    }

    /// The lines of a container; `None` if the instance has no log.
    pub(in crate::engine) fn lines(
        &self,
        pod: &Key,
        container: &str,
        previous: bool,
    ) -> Option<impl Iterator<Item = &LogLine>> {
        let log = self.by_container.get(pod)?.get(container)?;
        let lines = if previous { log.previous.as_ref()? } else { &log.current };
        Some(lines.iter())
    }

    /// All logs with pod, container and lines: of the current instances, or of the previous ones.
    pub(in crate::engine) fn all(
        &self,
        previous: bool,
    ) -> impl Iterator<Item = (&Key, &str, &VecDeque<LogLine>)> {
        self.by_container.iter().flat_map(move |(pod, containers)| {
            containers.iter().filter_map(move |(container, log)| {
                let lines = if previous { log.previous.as_ref()? } else { &log.current };
                Some((pod, container.as_str(), lines))
            })
        })
    }

    /// The number of lines so far.
    pub(in crate::engine) fn printed(&self) -> u64 {
        self.printed
    }
}

fn recorded_log(pod: &Key, container: &str, restarts: u32) -> RecordedLog {
    let (namespace, container) = (pod.namespace.clone(), container.to_owned());
    RecordedLog { namespace, pod: pod.name.clone(), container, restarts, lines: Vec::new() }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::PODS;

    use super::*;

    fn texts(logs: &Logs, pod: &Key, previous: bool) -> Option<Vec<String>> {
        logs.lines(pod, "c", previous).map(|lines| lines.map(|line| line.text.clone()).collect())
    }

    #[test]
    fn a_restart_moves_the_lines_to_the_previous_instance() {
        let (mut logs, pod) = (Logs::default(), PODS.key("n", "p"));
        logs.print(&pod, "c", "one\ntwo", Time::UNIX_EPOCH, IsRecorded::Yes);
        logs.ended(&pod, "c");
        assert_eq!(texts(&logs, &pod, false).unwrap(), ["one", "two"]);
        assert_eq!(texts(&logs, &pod, true), None);
        logs.started(&pod, "c");
        logs.print(&pod, "c", "three", Time::UNIX_EPOCH, IsRecorded::Yes);
        assert_eq!(texts(&logs, &pod, false).unwrap(), ["three"]);
        assert_eq!(texts(&logs, &pod, true).unwrap(), ["one", "two"]);
        assert_eq!(logs.printed(), 3);
        logs.forget(&pod);
        assert_eq!(texts(&logs, &pod, false), None);
    }

    #[test]
    fn the_record_has_each_instance_also_of_deleted_pods() {
        let (mut logs, pod) = (Logs::default(), PODS.key("n", "p"));
        logs.print(&pod, "c", "one", Time::UNIX_EPOCH, IsRecorded::Yes);
        logs.print(&pod, "c", "detail", Time::UNIX_EPOCH, IsRecorded::No);
        logs.ended(&pod, "c");
        logs.print(&pod, "c", "two", Time::UNIX_EPOCH, IsRecorded::Yes);
        logs.forget(&pod);
        logs.print(&pod, "c", "three", Time::UNIX_EPOCH, IsRecorded::Yes);
        let recorded = logs.take_recorded();
        let recorded = recorded.iter().map(|log| {
            let lines = log.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>();
            (&*log.namespace, &*log.pod, &*log.container, log.restarts, lines.join(" "))
        });
        let expected = [(0, "one"), (1, "two"), (0, "three")];
        let expected = expected.map(|(restarts, lines)| ("n", "p", "c", restarts, lines.to_owned()));
        assert_eq!(recorded.collect::<Vec<_>>(), expected);
        logs.print(&pod, "c", "four", Time::UNIX_EPOCH, IsRecorded::Yes);
        assert_eq!(logs.take_recorded().len(), 1);
    }

    #[test]
    fn a_log_keeps_its_last_lines() {
        let (mut logs, pod) = (Logs::default(), PODS.key("n", "p"));
        (0..=LINES_MAX)
            .for_each(|line| logs.print(&pod, "c", &line.to_string(), Time::UNIX_EPOCH, IsRecorded::Yes));
        let lines = texts(&logs, &pod, false).unwrap();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES_MAX, "1"));
    }
}
