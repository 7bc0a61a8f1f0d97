//! A log whose lines are sent as they are printed.

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::log::LogLine;

/// A log that a client follows.
#[derive(Debug)]
pub struct Follow {
    /// The lines at the time of the request.
    first: String,
    namespace: String,
    pod: String,
    uid: String,
    container: String,
    timestamps: bool,
    /// The time of the last line that was sent, and the number of lines at that time.
    sent: Option<(Time, usize)>,
}

impl Follow {
    pub(crate) fn new(
        first: String,
        pod: &Value,
        container: &str,
        lines: &[LogLine],
        timestamps: bool,
    ) -> Self {
        let text = |field: &str| crate::metadata::text(pod, field).to_owned();
        let mut follow = Self {
            first,
            namespace: text("namespace"),
            pod: text("name"),
            uid: text("uid"),
            container: container.to_owned(),
            timestamps,
            sent: None,
        };
        follow.unsent(lines);
        follow
    }

    /// The namespace of the pod.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the pod.
    pub(crate) fn pod(&self) -> &str {
        &self.pod
    }

    /// The name of the container.
    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    /// Whether each line begins with its time.
    pub(crate) fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Returns whether it is the log of this pod, and not of another one with its name.
    pub(crate) fn is_of(&self, pod: &Object) -> bool {
        pod.uid() == self.uid
    }

    /// Takes the lines at the time of the request.
    pub(crate) fn take_first(&mut self) -> String {
        std::mem::take(&mut self.first)
    }

    /// The lines that were not sent yet. Old lines may be missing, because logs are bounded.
    pub(crate) fn unsent<'a>(&mut self, lines: &'a [LogLine]) -> &'a [LogLine] {
        let new = match self.sent {
            None => lines,
            Some((at, count)) => {
                let before = lines.partition_point(|line| line.at < at);
                &lines[(before + count).min(lines.len())..]
            }
        };
        if let Some(last) = lines.last() {
            let before = lines.partition_point(|line| line.at < last.at);
            self.sent = Some((last.at, lines.len() - before));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_followed_log_sends_each_line_once_even_if_old_ones_are_dropped() {
        let at = |second: i64| Time::from_second(1_700_000_000 + second).unwrap();
        let line = |second: i64, text: &str| LogLine { at: at(second), text: text.to_owned() };
        let pod = json!({ "metadata": { "namespace": "n", "name": "p", "uid": "u" } });
        let mut lines = vec![line(0, "a"), line(1, "b"), line(1, "c")];
        let mut follow = Follow::new("a\nb\nc\n".to_owned(), &pod, "c", &lines, false);
        assert_eq!((follow.take_first().as_str(), follow.take_first().as_str()), ("a\nb\nc\n", ""));
        let mut new = |lines: &[LogLine]| -> Vec<String> {
            follow.unsent(lines).iter().map(|line| line.text.clone()).collect()
        };
        assert_eq!(new(&lines), [""; 0]);
        lines.extend([line(1, "d"), line(2, "e")]);
        assert_eq!(new(&lines), ["d", "e"]);
        lines.drain(..3);
        lines.push(line(3, "f"));
        assert_eq!(new(&lines), ["f"]);
    }
}
