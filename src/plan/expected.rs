//! What a plan expects of the cluster.

use jiff::SignedDuration;
use regex::Regex;
use windtunnel_core::alert::AlertState;
use windtunnel_openshift::promql::Expr;
use windtunnel_update_status::node_phase::Phase;
use windtunnel_update_status::status::Details;

use super::{CommandCheck, ObjectRef};

/// Something that must hold.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// What.
    pub what: What,
    /// When.
    pub when: When,
}

/// When an expectation must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this moment.
    Now,
    /// At some moment before this much virtual time has passed; the run goes on from that moment.
    Within(SignedDuration),
    /// At every moment while this much virtual time passes.
    Throughout(SignedDuration),
}

/// What must hold.
#[derive(Debug, Clone)]
pub enum What {
    /// An object is there and all checks hold for it (for one of several, by a name with `*`).
    Object(ObjectRef, Vec<Check>),
    /// No such object is there.
    Absent(ObjectRef),
    /// No such object for which all checks hold was there since the run began.
    Never(ObjectRef, Vec<Check>),
    /// An insight is published and all checks hold for it.
    Insight(InsightRef, Vec<Check>),
    /// No such insight is published.
    NoInsight(InsightRef, Vec<Check>),
    /// No such insight was published since the run began.
    NeverInsight(InsightRef, Vec<Check>),
    /// The command that was run last came to this.
    Command(Vec<CommandCheck>),
    /// An alert like this is pending or fires.
    Alert(AlertMatch),
    /// No alert like this is pending or fires.
    NoAlert(AlertMatch),
    /// No alert like this was pending or fired since the run began.
    NeverAlert(AlertMatch),
    /// A query comes to a sample like this.
    Metric(MetricMatch),
    /// A query comes to no sample like this.
    NoMetric(MetricMatch),
    /// Writes like these were made since the run began, in this order (others may stand between them).
    Writes(Vec<WriteMatch>),
    /// The same, and no others that are like any of these.
    OnlyWrites(Vec<WriteMatch>),
    /// The text of `oc adm upgrade status` is like this.
    Status(StatusMatch),
    /// A node is in this phase.
    Phase {
        /// Its name.
        node: String,
        /// The phase, as `oc adm upgrade status` tells it.
        phase: Phase,
    },
    /// A node was in these phases since the run began, one after the other and no others between.
    Phases {
        /// Its name.
        node: String,
        /// The phases.
        phases: Vec<Phase>,
    },
    /// A node was rebooted so often since the run began.
    Reboots {
        /// Its name.
        node: String,
        /// How often.
        times: u32,
    },
    /// A condition had these statuses since the run began, one after the other and no others between.
    Statuses {
        /// Whose condition.
        of: Subject,
        /// Type of the condition.
        condition: String,
        /// The statuses.
        statuses: Vec<String>,
    },
}

/// Whose condition.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An object's.
    Object(ObjectRef),
    /// An insight's.
    Insight(InsightRef),
}

/// An insight by what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsightRef {
    /// `ClusterVersion`, `ClusterOperator`, `MachineConfigPool`, `Node` or `Health`.
    pub kind: String,
    /// Name of the resource it is about; empty: any.
    pub name: String,
    /// The object that a health insight is about; `None`: any.
    pub about: Option<ObjectRef>,
}

/// One check of an object or an insight.
#[derive(Debug, Clone)]
pub enum Check {
    /// A condition of it.
    Condition {
        /// Type.
        kind: String,
        /// Status; `None`: any.
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
        /// What must stand there; a missing field is the empty text.
        value: TextMatch,
    },
    /// A field, by path, that must not change while time passes (only with [`When::Throughout`]).
    Unchanged {
        /// The path.
        path: String,
    },
    /// The STATUS column that `oc get pods` prints.
    PodStatus(TextMatch),
    /// There is no condition of this type.
    NoCondition(String),
    /// Of a ClusterVersion: what it asks for, if it asks for anything, is completed, and nothing else is under way.
    Updated,
}

/// An alert of Prometheus.
#[derive(Debug, Clone)]
pub struct AlertMatch {
    /// Its name.
    pub name: String,
    /// How far it is; `None`: pending or firing.
    pub state: Option<AlertState>,
    /// Labels by name; a missing label is empty.
    pub labels: Vec<(String, TextMatch)>,
    /// Annotations by name; a missing annotation is empty.
    pub annotations: Vec<(String, TextMatch)>,
}

/// What `oc adm upgrade status` would print.
#[derive(Debug, Clone)]
pub struct StatusMatch {
    /// Which of its sections are shown in detail.
    pub details: Details,
    /// What it has in it.
    pub has: Vec<TextMatch>,
    /// What all of it is.
    pub snapshot: Option<Snapshot>,
}

/// A text that was kept in a file. Blanks at the ends of lines do not count: editors take them away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The file.
    pub path: String,
    /// What it holds; `None`: whatever comes out is to be written there.
    pub text: Option<String>,
}

/// A query of metrics, and what it comes to.
#[derive(Debug, Clone)]
pub struct MetricMatch {
    /// The query as it was written.
    pub query: String,
    /// The same, parsed.
    pub expr: Expr,
    /// The value of a sample; `None`: any.
    pub value: Option<f64>,
}

/// How a text is compared.
#[derive(Debug, Clone)]
pub enum TextMatch {
    /// It is exactly this.
    Equals(String),
    /// It has this somewhere.
    Contains(String),
    /// It has this nowhere.
    Lacks(String),
    /// The regular expression is found in it.
    Matches(Regex),
}

impl TextMatch {
    /// Reads `/a regular expression/`, or any other text as one that must be equal.
    ///
    /// # Errors
    /// Why the regular expression is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let Some(pattern) = pattern else { return Ok(Self::Equals(text.to_owned())) };
        Regex::new(pattern).map(Self::Matches).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is no regular expression: {reason}")
        })
    }

    /// Whether `text` fits.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::Contains(wanted) => text.contains(wanted),
            Self::Lacks(unwanted) => !text.contains(unwanted),
            Self::Matches(pattern) => pattern.is_match(text),
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
        }
    }
}

/// A write as the record holds it; what is `None` or empty does not matter.
#[derive(Debug, Clone, Default)]
pub struct WriteMatch {
    /// Who made it, such as `cluster-version-operator`.
    pub by: Option<TextMatch>,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: Option<String>,
    /// Which object.
    pub object: Option<ObjectRef>,
    /// `Some("")`: the object itself; `Some("status")`: its status.
    pub subresource: Option<String>,
    /// HTTP status code of the answer.
    pub code: Option<u16>,
    /// The refusal's message.
    pub message: Option<TextMatch>,
    /// Checks of the object after the write.
    pub checks: Vec<Check>,
}
