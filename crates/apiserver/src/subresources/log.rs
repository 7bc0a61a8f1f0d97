//! The log of a container.
//!
//! No kubelet runs containers here. The lines come from the [`Upstream`](crate::Upstream), which has those of simulated
//! programs. For tests, the annotation `log.windtunnel.dev/CONTAINER` of a pod contains the log. Without both the client
//! gets an error that says so. With `follow`, the answer of a service goes on with the lines that are printed later, until
//! the container ends.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after, parse_rfc3339};
use windtunnel_core::log::LogLine;
use windtunnel_core::resources::PODS;

use super::container;
use crate::call::Call;
use crate::field::FieldError;
use crate::gotext::quote;
use crate::outbound::upstream::LogRequest;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::followed_log::Follow;
use crate::reply::{Reply, ReplyBody};
use crate::request::Query;
use crate::server::ApiServer;

const ANNOTATION: &str = "log.windtunnel.dev";

impl ApiServer {
    /// `GET .../pods/NAME/log`.
    pub(super) fn log(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let (query, name) = (&call.request.query, &*call.path.name);
        let range = Range::read(query)?;
        let errors = range.errors(query);
        if !errors.is_empty() {
            return Err(BoxedRejection::invalid("", "PodLogOptions", name, &errors, &self.profile));
        }
        let pod = self.entry(call)?.served();
        let container = container::choose(&pod, query.get("container"))?;
        let previous = query.is_true("previous");
        if let Some(log) = self.container_log(&pod, container, previous, &range, call.now) {
            let first = range.select(&log);
            let follows = query.is_true("follow") && !previous && range.limit_bytes.is_none();
            return Ok(match self.printed_lines(&pod, container, false).filter(|_| follows) {
                Some(lines) => {
                    let follow = Follow::new(first, &pod, container, &lines, range.timestamps);
                    Reply::new(200, ReplyBody::Follow(Box::new(follow)))
                }
                None => text(200, first),
            });
        }
        if previous && self.container_log(&pod, container, false, &range, call.now).is_some() {
            let (container, pod) = (quote(container), quote(name));
            let why = format!("previous terminated container {container} in pod {pod} not found");
            return Err(BoxedRejection::bad_request(why));
        }
        // For a pod without a node, the real server does not ask a kubelet.
        if !container::has_node(&pod) {
            return Ok(text(204, String::new()));
        }
        self.check_node(call, &pod)?;
        Err(BoxedRejection::no_containers(&format!("{} has no log", describe(container, &pod))))
    }

    /// The log of an instance of a container: what its program printed, or the pod's annotation. `None` without both.
    fn container_log(
        &self,
        pod: &Value,
        container: &str,
        previous: bool,
        range: &Range,
        now: Time,
    ) -> Option<String> {
        if let Some(lines) = self.printed_lines(pod, container, previous) {
            return Some(range.render(&lines, now));
        }
        let annotation = &pod["metadata"]["annotations"][format!("{ANNOTATION}/{container}")];
        annotation.as_str().filter(|_| !previous).map(str::to_owned)
    }

    /// The lines that a simulated program printed; `None` if it printed none.
    fn printed_lines(&self, pod: &Value, container: &str, previous: bool) -> Option<Vec<LogLine>> {
        let upstream = self.programs.any()?;
        let pod = Object::new(pod.clone());
        let lines = upstream.log(&LogRequest { pod: &pod, container, previous })?;
        (!lines.is_empty()).then_some(lines)
    }
}

impl ApiServer {
    /// The lines of a followed log that were printed since the last call. `None` if the container has ended and all of
    /// its lines were sent.
    pub(crate) fn more_lines(&self, follow: &mut Follow) -> Option<String> {
        let pod = self.object(&PODS, follow.namespace(), follow.pod()).filter(|pod| follow.is_of(pod))?;
        let lines = self.printed_lines(&pod, follow.container(), false).unwrap_or_default();
        let mut text = String::new();
        let timestamps = follow.has_timestamps();
        for line in follow.unsent(&lines) {
            push_line(&mut text, line, timestamps);
        }
        let statuses = pod.list("/status/containerStatuses").iter();
        let mut own = statuses.filter(|status| status["name"] == follow.container());
        let has_ended = own.any(|status| status["state"]["terminated"].is_object());
        (!text.is_empty() || !has_ended).then_some(text)
    }
}

fn push_line(text: &mut String, line: &LogLine, timestamps: bool) {
    if timestamps {
        *text += &format!("{:.9} ", line.at);
    }
    *text += &line.text;
    text.push('\n');
}

/// A container as error messages name it.
pub(super) fn describe(container: &str, pod: &Value) -> String {
    let pod = crate::metadata::text(pod, "name");
    format!("container {} of pod {}", quote(container), quote(pod))
}

fn text(code: u16, text: String) -> Reply {
    Reply::new(code, ReplyBody::Text(text))
}

fn integer(text: &str) -> Outcome<i64> {
    let why = || format!("strconv.ParseInt: parsing {}: invalid syntax", quote(text));
    text.parse().map_err(|_| BoxedRejection::bad_request(why()))
}

/// The part of a log that a client wants (`PodLogOptions`).
struct Range {
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    since_seconds: Option<i64>,
    since_time: Option<Time>,
    timestamps: bool,
}

impl Range {
    fn read(query: &Query) -> Outcome<Self> {
        let number = |name: &str| {
            if query.is_given(name) { integer(query.get(name)).map(Some) } else { Ok(None) }
        };
        Ok(Self {
            tail_lines: number("tailLines")?,
            limit_bytes: number("limitBytes")?,
            since_seconds: number("sinceSeconds")?,
            since_time: parse_rfc3339(query.get("sinceTime")),
            timestamps: query.is_true("timestamps"),
        })
    }

    /// Validates the options (`ValidatePodLogOptions`).
    fn errors(&self, query: &Query) -> Vec<FieldError> {
        let least = |field: &str, number: Option<i64>, least: i64, why: &str| {
            number.filter(|number| *number < least).map(|number| FieldError::invalid(field, number, why))
        };
        let mut errors = Vec::new();
        let negative = "must be greater than or equal to 0";
        errors.extend(least("tailLines", self.tail_lines, 0, negative));
        errors.extend(least("limitBytes", self.limit_bytes, 1, "must be greater than 0"));
        if self.since_seconds.is_some() && !query.get("sinceTime").is_empty() {
            let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(FieldError::forbidden("[]", why));
        } else {
            errors.extend(least("sinceSeconds", self.since_seconds, 1, "must be greater than 0"));
        }
        // `PodLogsQuerySplitStreams` is off.
        if query.is_given("stream") {
            errors.push(FieldError::forbidden("stream", "may not be specified"));
        }
        errors
    }

    /// The text of the lines since the wanted time, with timestamps if the client wants them.
    fn render(&self, lines: &[LogLine], now: Time) -> String {
        let seconds = self.since_seconds.map(|seconds| after(now, SignedDuration::from_secs(-seconds)));
        let since = seconds.or(self.since_time);
        let mut text = String::new();
        for line in lines.iter().filter(|line| since.is_none_or(|since| line.at >= since)) {
            push_line(&mut text, line, self.timestamps);
        }
        text
    }

    /// The lines of a log that the options select, within the byte limit.
    fn select(&self, log: &str) -> String {
        let size = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
        let mut lines: Vec<&str> = log.split_inclusive('\n').collect();
        if let Some(tail) = size(self.tail_lines) {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut text = lines.concat();
        if let Some(limit) = size(self.limit_bytes).filter(|limit| *limit < text.len()) {
            let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        text
    }
}
