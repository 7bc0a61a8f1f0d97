//! The ends of programs in Rust.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::super::program_site::ProgramSite;

/// The exit code of a Rust program that panics.
const PANIC: i64 = 101;

/// The reason why a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Reason {
    /// It ended because it was asked to.
    Stopped,
    /// It returned without an error.
    Returned,
    /// It returned this error.
    Failed(String),
    /// It panicked with this message.
    Panicked(String),
}

impl Reason {
    pub(in crate::engine) fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }

    pub(in crate::engine) fn is_asked_for(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// The exit code that the process would have.
    pub(in crate::engine) fn code(&self) -> i64 {
        match self {
            Self::Stopped | Self::Returned => 0,
            Self::Failed(_) => 1,
            Self::Panicked(_) => PANIC,
        }
    }
}

impl From<Result<Result<(), String>, Box<dyn Any + Send>>> for Reason {
    fn from(outcome: Result<Result<(), String>, Box<dyn Any + Send>>) -> Self {
        match outcome {
            Ok(Ok(())) => Self::Returned,
            Ok(Err(error)) => Self::Failed(error),
            Err(panic) => Self::Panicked(message(&*panic).to_owned()),
        }
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("ended as requested"),
            Self::Returned => f.write_str("returned before the end of the run"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

/// The end of a program.
#[derive(Debug)]
pub(in crate::engine) struct End {
    pub(in crate::engine) program: String,
    pub(in crate::engine) place: ProgramSite,
    pub(in crate::engine) reason: Reason,
}

/// The ends that the engine has not taken yet.
#[derive(Debug, Default)]
pub(in crate::engine) struct Ends {
    ended: Mutex<Vec<End>>,
    reported: Notify,
}

impl Ends {
    /// Reports an end, and wakes the engine.
    pub(in crate::engine) fn report(&self, end: End) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(end);
        self.reported.notify_one();
    }

    pub(in crate::engine) fn take(&self) -> Vec<End> {
        std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the next report.
    pub(in crate::engine) async fn wait(&self) {
        self.reported.notified().await;
    }
}
