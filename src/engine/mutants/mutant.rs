//! Mutants: components that are wrong on purpose, one at a time.

use std::fmt;

use serde_json::{Value, json};

use super::place::Place;

/// The delay of whatever a mutant does too late, in minutes.
pub(in crate::engine) const LATE_MINUTES: i64 = 10;

/// A component that is wrong on purpose. Its name, the [`fmt::Display`] form, is the same in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutant {
    /// The component; the instances of a component on several nodes or for several operators share a name.
    pub component: String,
    /// The kind of the objects concerned, or of the insights.
    pub kind: String,
    pub(in crate::engine) how: MutantKind,
}

/// The way in which a mutant is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum MutantKind {
    /// A value keeps what it was before the component's first write.
    NeverUpdated(Place),
    /// A value is published too late for the first time.
    Late(Place),
    /// A value is published wrong.
    Altered(Place),
    /// The value before the first change is written again later.
    Returned(Place),
    /// Insights are not published.
    LostInsight,
    /// A value of insights keeps what was published first.
    FrozenInsight(Place),
    /// A value of insights is published wrong.
    AlteredInsight(Place),
    /// Requests of this kind get a positive answer and are never made.
    Skipped(Request),
    /// Objects with generated names are created twice.
    CreatedTwice,
    /// Writes of the objects get a false answer.
    Answered(FalseAnswer),
    /// An alert of this name is never reported.
    NoAlert(String),
    /// Changes of the objects do not wake the component.
    Unnoticed,
    /// The component sees the first changes of the objects too late.
    Outdated,
}

/// A false answer to the writes of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum FalseAnswer {
    /// No write is made, and each one gets an internal error.
    Failure,
    /// The first change of an object is not made, and gets a conflict.
    Conflict,
    /// The first write is made, and gets a timeout.
    Timeout,
}

impl fmt::Display for FalseAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failure => "fail with 500",
            Self::Conflict => "the first fails with 409",
            Self::Timeout => "the answer to the first is lost",
        })
    }
}

/// A kind of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Request {
    Create,
    Delete,
    Evict,
}

impl Mutant {
    pub(in crate::engine) fn new(component: &str, kind: &str, how: MutantKind) -> Self {
        Self { component: component.to_owned(), kind: kind.to_owned(), how }
    }

    /// Returns whether it concerns the insights of the update status controller.
    pub fn is_insight(&self) -> bool {
        matches!(
            self.how,
            MutantKind::LostInsight | MutantKind::FrozenInsight(_) | MutantKind::AlteredInsight(_)
        )
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, kind, how } = self;
        write!(f, "{component}: ")?;
        let separator = |place: &Place| if place.is_in_condition() { " " } else { ": " };
        match how {
            MutantKind::NeverUpdated(place) => write!(f, "{kind} {place}: never updated"),
            MutantKind::Late(place) => write!(f, "{kind} {place}: {LATE_MINUTES} minutes late"),
            MutantKind::Altered(place) => write!(f, "{kind} {place}{}altered", separator(place)),
            MutantKind::Returned(place) => {
                write!(f, "{kind} {place}: old value again after {LATE_MINUTES} minutes")
            }
            MutantKind::LostInsight => write!(f, "insight {kind}: not published"),
            MutantKind::FrozenInsight(place) => write!(f, "insight {kind} {place}: never updated"),
            MutantKind::AlteredInsight(place) => {
                write!(f, "insight {kind} {place}{}altered", separator(place))
            }
            MutantKind::Skipped(Request::Create) => write!(f, "{kind}: creation skipped"),
            MutantKind::Skipped(Request::Delete) => write!(f, "{kind}: deletion skipped"),
            MutantKind::Skipped(Request::Evict) => write!(f, "{kind}: eviction skipped"),
            MutantKind::CreatedTwice => write!(f, "{kind}: created twice"),
            MutantKind::Answered(answer) => write!(f, "writes of {kind}: {answer}"),
            MutantKind::NoAlert(name) => write!(f, "alert {name}: not reported"),
            MutantKind::Unnoticed => write!(f, "changes of {kind}: unnoticed"),
            MutantKind::Outdated => write!(f, "changes of {kind}: seen {LATE_MINUTES} minutes late"),
        }
    }
}

/// Returns a wrong value that the API accepts as well as `value`; `None` if there is none.
pub(in crate::engine) fn altered(place: &Place, value: &Value) -> Option<Value> {
    match value {
        Value::Bool(value) => Some(json!(!value)),
        Value::Number(number) => {
            number.as_i64().map(|number| json!(if number < 100 { number + 1 } else { 99 }))
        }
        Value::String(text) => {
            altered_text(place.field(), text).filter(|new| new != text).map(|new| json!(new))
        }
        _ => None,
    }
}

/// Returns another text for a field. Fields that the API restricts to a few texts get another one of these.
fn altered_text(field: &str, text: &str) -> Option<&'static str> {
    Some(match (field, text) {
        ("status", "True") => "False",
        ("status", _) => "True",
        ("state", "Completed") => "Partial",
        ("state", "Partial") => "Completed",
        ("assessment", "Degraded") => "Progressing",
        ("assessment", _) => "Degraded",
        ("level", "Unknown") => "Info",
        ("level", _) => "Unknown",
        ("type", "ControlPlane") => "WorkerPool",
        ("type", "WorkerPool") => "ControlPlane",
        ("reason", _) => "Altered",
        ("message" | "summary" | "description", _) => "an altered text",
        ("reference", _) => "https://example.com/altered",
        ("version", _) => "4.0.99",
        _ => return None,
    })
}
