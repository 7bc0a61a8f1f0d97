//! The expectations of a plan.

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::alert::AlertState;
use windtunnel_openshift::promql::Expr;
use windtunnel_update_status::assessment::node::phase::Phase;
use windtunnel_update_status::status::Details;

use super::{CommandCheck, Leadership, ObjectRef, RequestLimit, Restoration, Since};

/// A condition that must hold at a moment, or over a time.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The condition.
    pub what: ExpectedState,
    /// The moment or the time.
    pub when: ExpectedTime,
}

/// The time at which an expectation must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedTime {
    /// At this moment.
    Now,
    /// At some moment before this much virtual time has passed; the run continues from that moment.
    Within(SignedDuration),
    /// At every moment while this much virtual time passes.
    Throughout(SignedDuration),
}

/// The condition that must hold.
#[derive(Debug, Clone)]
pub enum ExpectedState {
    /// The object exists and all checks hold for it; for a name with `*`, for at least one match.
    Object(ObjectRef, Vec<Check>),
    /// The object does not exist.
    Absent(ObjectRef),
    /// Since the start of the run, no such object has existed for which all checks hold.
    Never(ObjectRef, Vec<Check>),
    /// The insight is published and all checks hold for it.
    Insight(InsightRef, Vec<Check>),
    /// The insight is not published.
    NoInsight(InsightRef, Vec<Check>),
    /// The insight has not been published since the start of the run.
    NeverInsight(InsightRef, Vec<Check>),
    /// The last command produced this result.
    Command(Vec<CommandCheck>),
    /// A matching alert is pending or firing.
    Alert(AlertMatch),
    /// No matching alert is pending or firing.
    NoAlert(AlertMatch),
    /// No matching alert has been pending or firing since the start of the run.
    NeverAlert(AlertMatch),
    /// The query returns a matching sample.
    Metric(MetricMatch),
    /// The query returns no matching sample.
    NoMetric(MetricMatch),
    /// These writes were made since this moment, in this order; other writes may come between them.
    Writes(Vec<WriteMatch>, Since),
    /// As `Writes`, and no other write matches any of these.
    OnlyWrites(Vec<WriteMatch>, Since),
    /// There were no more such requests than the limit since its moment.
    Requests(RequestLimit),
    /// Only the holder of a Lease has written since the start of the run, and the Lease changed hands as expected.
    Leader(Leadership),
    /// A simulated program has printed a matching line.
    Log(LogMatch),
    /// `oc adm upgrade status` prints matching text.
    Status(StatusMatch),
    /// The node is in this phase.
    Phase {
        /// Its name.
        node: String,
        /// The phase in the terms of `oc adm upgrade status`.
        phase: Phase,
    },
    /// The node went through exactly these phases since the start of the run, in this order.
    Phases {
        /// Its name.
        node: String,
        /// The phases.
        phases: Vec<Phase>,
    },
    /// The node was rebooted this often since the start of the run.
    Reboots {
        /// Its name.
        node: String,
        /// The number of reboots.
        times: u32,
    },
    /// Nothing is left over of an update.
    Restored(Restoration),
    /// The condition had exactly these statuses since the start of the run, in this order.
    Statuses {
        /// The owner of the condition.
        subject: Subject,
        /// Type of the condition.
        condition: String,
        /// The statuses.
        statuses: Vec<String>,
    },
}

/// The owner of a condition.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An object.
    Object(ObjectRef),
    /// An insight.
    Insight(InsightRef),
}

/// A reference to an insight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsightRef {
    /// `ClusterVersion`, `ClusterOperator`, `MachineConfigPool`, `Node` or `Health`.
    pub kind: String,
    /// Name of the resource that the insight describes; empty matches any.
    pub name: String,
    /// The object that a health insight is about; `None` matches any.
    pub about: Option<ObjectRef>,
}

/// One check of an object or an insight.
#[derive(Debug, Clone)]
pub enum Check {
    /// A condition.
    Condition {
        /// Type.
        kind: String,
        /// Status; `None` matches any.
        status: Option<TextMatch>,
        /// Reason; a missing reason is empty.
        reason: Option<TextMatch>,
        /// Message; a missing message is empty.
        message: Option<TextMatch>,
    },
    /// A field, by a path such as `status.history[0].state`; numbers and booleans are compared as text.
    Field {
        /// The path.
        path: String,
        /// The expected value; a missing field is the empty text.
        value: TextMatch,
    },
    /// A field, by path, that must not change over time (only with [`ExpectedTime::Throughout`]).
    Unchanged {
        /// The path.
        path: String,
    },
    /// The STATUS column that `oc get pods` prints.
    PodStatus(TextMatch),
    /// There is no condition of this type.
    NoCondition(String),
    /// For a ClusterVersion: the requested release, if any, is `Completed`, and no update is in progress.
    Updated,
}

/// A pattern for alerts of Prometheus.
#[derive(Debug, Clone)]
pub struct AlertMatch {
    /// Its name.
    pub name: String,
    /// The state; `None` matches pending and firing.
    pub state: Option<AlertState>,
    /// Labels by name; a missing label is empty.
    pub labels: Vec<(String, TextMatch)>,
    /// Annotations by name; a missing annotation is empty.
    pub annotations: Vec<(String, TextMatch)>,
}

/// The expected output of `oc adm upgrade status`.
#[derive(Debug, Clone)]
pub struct StatusMatch {
    /// The sections that it shows in detail.
    pub details: Details,
    /// Texts that the output must match, all of them.
    pub has: Vec<TextMatch>,
    /// The file that the whole output must equal.
    pub snapshot: Option<Snapshot>,
}

/// The expected text from a file. Trailing blanks of lines are ignored, because editors remove them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The path of the file.
    pub path: String,
    /// The content; `None` means that the run writes the actual output to the file.
    pub text: Option<String>,
}

/// A pattern for lines in the logs of pods.
#[derive(Debug, Clone)]
pub struct LogMatch {
    /// Namespace of the pod.
    pub namespace: String,
    /// Its name, or a prefix of it.
    pub pod: String,
    /// The container; `None` matches any.
    pub container: Option<String>,
    /// The pattern that a line must match.
    pub line: TextMatch,
    /// Whether the line is in the log of the instance before a restart.
    pub previous: bool,
}

impl LogMatch {
    /// Creates a pattern for a pod `NAMESPACE/NAME`, and a text that is part of a line or
    /// `/a regular expression/`.
    ///
    /// # Errors
    /// The text is not valid.
    pub fn parse(pod: &str, text: &str) -> Result<Self, String> {
        let (namespace, pod) = pod_prefix(pod)?;
        let line = match TextMatch::parse(text)? {
            TextMatch::Equals(text) => TextMatch::Contains(text),
            other => other,
        };
        Ok(Self { namespace, pod, container: None, line, previous: false })
    }
}

/// The namespace and the beginning of the name in `NAMESPACE/NAME`, where the name may end in `*`.
pub(crate) fn pod_prefix(text: &str) -> Result<(String, String), String> {
    let (namespace, pod) = text
        .split_once('/')
        .map(|(namespace, pod)| (namespace, pod.trim_end_matches('*')))
        .filter(|(namespace, pod)| !namespace.is_empty() && !pod.is_empty())
        .ok_or_else(|| format!("expected a pod as `NAMESPACE/NAME`, found `{text}`"))?;
    Ok((namespace.to_owned(), pod.to_owned()))
}

/// A PromQL query and its expected result.
#[derive(Debug, Clone)]
pub struct MetricMatch {
    /// The query text.
    pub query: String,
    /// The parsed query.
    pub expr: Expr,
    /// The value of a sample; `None` matches any.
    pub value: Option<f64>,
}

/// The flags that a regular expression may have behind it.
const FLAGS: &str = "imsx";

/// A comparison with a text.
#[derive(Debug, Clone)]
pub enum TextMatch {
    /// The text equals this.
    Equals(String),
    /// The text contains this.
    Contains(String),
    /// The text does not contain this.
    Lacks(String),
    /// The regular expression matches part of the text.
    Matches(Regex),
    /// At least one of these comparisons holds. Not empty.
    AnyOf(Vec<Self>),
}

impl TextMatch {
    /// Parses `/a regular expression/`, with flags behind it or without: `i` ignores case, `m` lets `^` and `$`
    /// match at line breaks, `s` lets `.` match them, `x` ignores blanks in the expression. A text without a slash
    /// at its start must be equal.
    ///
    /// # Errors
    /// The text begins with a slash, and is not a valid regular expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/') else { return Ok(Self::Equals(text.to_owned())) };
        let is_flags = |flags: &str| flags.chars().all(|flag| FLAGS.contains(flag));
        let Some((pattern, flags)) = rest.rsplit_once('/').filter(|(_, flags)| is_flags(flags)) else {
            let escaped = regex::escape(text).replace('/', "\\/");
            return Err(format!(
                "`{text}` begins like a regular expression: expected `/pattern/`, with the flags `i`, `m`, `s` or `x` \
                 behind it or without; to compare with the text itself, write `/^{escaped}$/`"
            ));
        };
        let flagged = if flags.is_empty() { pattern.to_owned() } else { format!("(?{flags}){pattern}") };
        Regex::new(&flagged).map(Self::Matches).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!(
                "`{text}` is not a valid regular expression: {reason}; write `\\` before a character that is meant literally"
            )
        })
    }

    /// Returns whether `text` matches.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::Contains(wanted) => text.contains(wanted),
            Self::Lacks(unwanted) => !text.contains(unwanted),
            Self::Matches(pattern) => pattern.is_match(text),
            Self::AnyOf(alternatives) => alternatives.iter().any(|wanted| wanted.fits(text)),
        }
    }

    /// The texts that must be equal: its own, or those of its alternatives.
    pub fn equal_texts(&self) -> Vec<&str> {
        match self {
            Self::Equals(text) => vec![text],
            Self::AnyOf(alternatives) => alternatives.iter().flat_map(Self::equal_texts).collect(),
            Self::Contains(_) | Self::Lacks(_) | Self::Matches(_) => Vec::new(),
        }
    }

    /// The same comparison, with an exact text as a part to look for.
    #[must_use]
    pub fn as_part(self) -> Self {
        match self {
            Self::Equals(text) => Self::Contains(text),
            Self::AnyOf(alternatives) => Self::AnyOf(alternatives.into_iter().map(Self::as_part).collect()),
            other => other,
        }
    }
}

impl std::fmt::Display for TextMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equals(wanted) => write!(f, "`{wanted}`"),
            Self::Contains(wanted) => write!(f, "a text with `{wanted}`"),
            Self::Lacks(unwanted) => write!(f, "a text without `{unwanted}`"),
            Self::Matches(pattern) => write!(f, "/{pattern}/"),
            Self::AnyOf(alternatives) => {
                for (place, wanted) in alternatives.iter().enumerate() {
                    write!(f, "{}{wanted}", if place == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
        }
    }
}

/// A pattern for writes in the record. `None` and empty fields match anything.
#[derive(Debug, Clone, Default)]
pub struct WriteMatch {
    /// The writer, such as `cluster-version-operator`.
    pub by: Option<TextMatch>,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: Option<String>,
    /// The object.
    pub object: Option<ObjectRef>,
    /// `Some("")`: the object itself; `Some("status")`: its status.
    pub subresource: Option<String>,
    /// HTTP status code of the answer.
    pub code: Option<u16>,
    /// The message of the rejection.
    pub message: Option<TextMatch>,
    /// Checks of the object after the write.
    pub checks: Vec<Check>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_alternatives_must_fit_and_all_are_shown() {
        let equal = TextMatch::parse("a").unwrap();
        let pattern = TextMatch::parse("/^b+$/").unwrap();
        let wanted = TextMatch::AnyOf(vec![equal, pattern, TextMatch::Contains("c".to_owned())]);
        assert_eq!(["a", "bb", "xcx", "ab"].map(|text| wanted.fits(text)), [true, true, true, false]);
        assert_eq!(wanted.to_string(), "`a` or /^b+$/ or a text with `c`");
        assert_eq!(wanted.equal_texts(), ["a"]);
        assert_eq!(wanted.as_part().to_string(), "a text with `a` or /^b+$/ or a text with `c`");
    }
}
