//! One-line texts of steps, for reports.

use std::fmt;

use windtunnel_core::text::{one_line, short_duration};
use windtunnel_update_status::status::Details;

use crate::plan::{
    Action, AlertMatch, Check, CommandCheck, Expectation, ExpectedState, ExpectedTime, InsightRef, Keep,
    LogMatch, MetricMatch, ObjectRef, Program, Since, StatusMatch, Step, Subject, Target, TextMatch,
    ValueSource, WriteMatch,
};

/// Returns the step as one line.
pub(super) fn describe_step(step: &Step) -> String {
    match step {
        Step::Act(action) => describe_action(action),
        Step::Try(attempt) => format!("try to {}", describe_action(&attempt.action)),
        Step::Run(run) if run.command.program == Program::Shell => {
            format!("run shell: {}", one_line(&run.command.line))
        }
        Step::Run(run) => format!("run {}", run.command.line),
        Step::Advance(span) => format!("advance {}", short_duration(*span)),
        Step::At(span) => format!("at {}", short_duration(*span)),
        Step::Expect(expectation) => expectation.to_string(),
        Step::Keep(keep) => keep.to_string(),
        Step::KeepCluster(name) => format!("keep the cluster as {name}"),
        Step::Retry(retry) => {
            let steps: Vec<&str> = retry.steps.iter().map(|step| step.text.as_str()).collect();
            format!("retry within {}: {}", short_duration(retry.within), steps.join("; "))
        }
    }
}

fn describe_action(action: &Action) -> String {
    match action {
        Action::Update { to, force } => {
            let by_force = if *force { " by force" } else { "" };
            match to {
                Target::Version(version) => format!("update to {version}{by_force}"),
                Target::Image(image) => format!("update to image {image}{by_force}"),
            }
        }
        Action::ClearUpdate => "clear update".to_owned(),
        Action::PublishInsights => "publish insights".to_owned(),
        Action::Apply(object) => {
            let text =
                |pointer| object.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
            let parts = [text("/kind"), text("/metadata/namespace"), text("/metadata/name")];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            format!("apply {}", parts.join("/"))
        }
        Action::Patch { object, status: false, .. } => format!("patch {object}"),
        Action::Patch { object, status: true, .. } => format!("patch the status of {object}"),
        Action::Delete { object, cascade: None } => format!("delete {object}"),
        Action::Delete { object, cascade: Some(cascade) } => {
            format!("delete {object}, cascade {}", cascade.name())
        }
        Action::Join { node, labels } => {
            let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let with = if labels.is_empty() { String::new() } else { format!(" with {}", labels.join(", ")) };
            format!("machine {node} joins{with}")
        }
        Action::Log { namespace, pod, container, lines } => {
            let of = container.as_ref().map(|name| format!("container {name} of ")).unwrap_or_default();
            let count = if let [line] = lines.as_slice() {
                format!("`{line}`")
            } else {
                format!("{} lines", lines.len())
            };
            format!("{of}pod {namespace}/{pod} prints {count}")
        }
        Action::Fault { fault, event, after, lasts } => {
            let after =
                if after.is_zero() { String::new() } else { format!(" after {}", short_duration(*after)) };
            let lasts = lasts.map(|span| format!(" for {}", short_duration(span))).unwrap_or_default();
            let event = event.as_ref().map(|event| format!(" from {event} on")).unwrap_or_default();
            format!("{fault}{lasts}{after}{event}")
        }
        Action::Heal(target) => format!("{target} recovers"),
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            ValueSource::Output => write!(f, "keep the output of the last command as {}", self.name),
            ValueSource::OutputField(path) => {
                write!(f, "keep {path} of the output of the last command as {}", self.name)
            }
            ValueSource::Text(text) => write!(f, "keep `{text}` as {}", self.name),
            ValueSource::Field(object, path) => write!(f, "keep {path} of {object} as {}", self.name),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

impl fmt::Display for InsightRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "insight {}", self.kind)?;
        if !self.name.is_empty() {
            write!(f, "/{}", self.name)?;
        }
        self.about.as_ref().map_or(Ok(()), |about| write!(f, " about {about}"))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(object) => object.fmt(f),
            Self::Insight(insight) => insight.fmt(f),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { kind, status, reason, message } => {
                f.write_str(kind)?;
                match status {
                    Some(TextMatch::Equals(status)) => write!(f, "={status}")?,
                    Some(other) => write!(f, " status {other}")?,
                    None => (),
                }
                match reason {
                    Some(TextMatch::Equals(reason)) => write!(f, " {reason}")?,
                    Some(other) => write!(f, " reason {other}")?,
                    None => (),
                }
                message.as_ref().map_or(Ok(()), |message| write!(f, " with {message}"))
            }
            Self::Field { path, value } => write!(f, "{path} is {value}"),
            Self::Unchanged { path } => write!(f, "{path} unchanged"),
            Self::PodStatus(status) => write!(f, "STATUS {status}"),
            Self::NoCondition(kind) => write!(f, "no {kind}"),
            Self::Updated => f.write_str("is updated"),
        }
    }
}

impl fmt::Display for StatusMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the status")?;
        if self.details != Details::None {
            write!(f, " with details {}", self.details.name())?;
        }
        let texts: Vec<String> = self.has.iter().map(ToString::to_string).collect();
        if !texts.is_empty() {
            write!(f, " to be {}", texts.join(", "))?;
        }
        match &self.snapshot {
            None => Ok(()),
            Some(snapshot) => write!(f, " as in {}", snapshot.path),
        }
    }
}

impl fmt::Display for CommandCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exits with code {code}"),
            Self::Prints(text) => write!(f, "prints {text}"),
            Self::Warns(text) => write!(f, "warns {text}"),
            Self::Refused(text) => write!(f, "is refused with {text}"),
            Self::Says(text) => write!(f, "says {text}"),
            Self::Fails => f.write_str("fails"),
        }
    }
}

impl fmt::Display for WriteMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb.as_deref().unwrap_or("write"))?;
        if let Some(object) = &self.object {
            write!(f, " {object}")?;
        }
        match self.subresource.as_deref() {
            Some("") => f.write_str(" itself")?,
            Some(subresource) => write!(f, " {subresource}")?,
            None => (),
        }
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        if let Some(code) = self.code {
            write!(f, " answered {code}")?;
        }
        if let Some(message) = &self.message {
            write!(f, " with {message}")?;
        }
        self.checks.iter().try_for_each(|check| write!(f, ", {check}"))
    }
}

impl fmt::Display for AlertMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alert {}", self.name)?;
        if let Some(state) = self.state {
            write!(f, " {state}")?;
        }
        self.labels.iter().chain(&self.annotations).try_for_each(|(name, text)| write!(f, ", {name} {text}"))
    }
}

impl fmt::Display for MetricMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metric {}", self.query.trim())?;
        self.value.map_or(Ok(()), |value| write!(f, " is {value}"))
    }
}

impl fmt::Display for LogMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous = if self.previous { "previous " } else { "" };
        write!(f, "{previous}log of pod {}/{}", self.namespace, self.pod)?;
        if let Some(container) = &self.container {
            write!(f, " container {container}")?;
        }
        write!(f, " has {}", self.line)
    }
}

impl fmt::Display for ExpectedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_checks = |f: &mut fmt::Formatter<'_>, checks: &[Check]| {
            for (index, check) in checks.iter().enumerate() {
                write!(f, "{}{check}", if index == 0 { " " } else { ", " })?;
            }
            Ok(())
        };
        match self {
            Self::Object(object, checks) => {
                write!(f, "{object}")?;
                write_checks(f, checks)
            }
            Self::Absent(object) => write!(f, "no {object}"),
            Self::Never(object, checks) => {
                write!(f, "never {object}")?;
                write_checks(f, checks)
            }
            Self::Insight(insight, checks) => {
                write!(f, "{insight}")?;
                write_checks(f, checks)
            }
            Self::NoInsight(insight, checks) => {
                write!(f, "no {insight}")?;
                write_checks(f, checks)
            }
            Self::NeverInsight(insight, checks) => {
                write!(f, "never {insight}")?;
                write_checks(f, checks)
            }
            Self::Command(checks) => {
                let texts: Vec<String> = checks.iter().map(ToString::to_string).collect();
                write!(f, "the command {}", texts.join(", "))
            }
            Self::Alert(alert) => write!(f, "{alert}"),
            Self::NoAlert(alert) => write!(f, "no {alert}"),
            Self::NeverAlert(alert) => write!(f, "never {alert}"),
            Self::Metric(metric) => write!(f, "{metric}"),
            Self::NoMetric(metric) => write!(f, "no {metric}"),
            Self::Requests(limit) => write!(f, "{limit}"),
            Self::Leader(leadership) => write!(f, "{leadership}"),
            Self::Log(log) => write!(f, "{log}"),
            Self::Status(status) => write!(f, "{status}"),
            Self::Phase { node, phase } => write!(f, "node {node} {phase:?}"),
            Self::Phases { node, phases } => {
                let phases: Vec<String> = phases.iter().map(|phase| format!("{phase:?}")).collect();
                write!(f, "node {node} to have been {}", phases.join(", "))
            }
            Self::Reboots { node, times } => {
                let plural = if *times == 1 { "" } else { "s" };
                write!(f, "node {node} to have been rebooted {times} time{plural}")
            }
            Self::Writes(writes, since) | Self::OnlyWrites(writes, since) => {
                let exactly = if matches!(self, Self::OnlyWrites(..)) { "exactly " } else { "" };
                let texts: Vec<String> = writes.iter().map(ToString::to_string).collect();
                write!(f, "{exactly}{}", texts.join("; then "))?;
                if *since == Since::default() { Ok(()) } else { write!(f, " {since}") }
            }
            Self::Restored(restoration) => restoration.fmt(f),
            Self::Statuses { subject, condition, statuses } => {
                write!(f, "{subject} {condition} to have been {}", statuses.join(", "))
            }
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expect {}", self.what)?;
        match self.when {
            ExpectedTime::Now => Ok(()),
            ExpectedTime::Within(span) => write!(f, " within {}", short_duration(span)),
            ExpectedTime::Throughout(span) => write!(f, " throughout {}", short_duration(span)),
        }
    }
}
