//! The progress of a run: the texts of finished scenarios in order on standard output, and a bar on the
//! terminal at standard error. Without a terminal no bar is drawn.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "progress")]
use windtunnel_core::text::{one_line, visible};

use crate::cli::print_painted;

/// The progress of a run. Threads share it.
#[derive(Debug)]
pub(in crate::cli) struct Progress {
    bar: Bar,
    waiting: Mutex<Waiting>,
}

/// Texts that wait for those of earlier scenarios.
#[derive(Debug, Default)]
struct Waiting {
    next: usize,
    texts: BTreeMap<usize, String>,
    failed: usize,
}

impl Waiting {
    /// Returns the texts that no longer wait.
    fn take_ready(&mut self) -> String {
        let mut ready = String::new();
        while let Some(text) = self.texts.remove(&self.next) {
            ready += &text;
            self.next += 1;
        }
        ready
    }
}

impl Progress {
    /// Creates the progress of this many scenarios.
    pub(in crate::cli) fn of(count: usize) -> Self {
        Self { bar: Bar::of(count), waiting: Mutex::default() }
    }

    /// Advances by the scenario with this index; prints its text once those of all earlier scenarios are
    /// printed.
    pub(in crate::cli) fn done(&self, index: usize, text: String, name: &str, failed: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.failed += usize::from(failed);
        waiting.texts.insert(index, text);
        self.bar.print(&waiting.take_ready());
        self.bar.advance(name, waiting.failed);
    }

    /// Removes the bar, and prints all texts that still wait.
    pub(in crate::cli) fn end(&self) {
        self.bar.end();
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.texts.values().for_each(|text| print_painted(text));
    }
}

#[cfg(feature = "progress")]
#[derive(Debug)]
struct Bar(indicatif::ProgressBar);

#[cfg(feature = "progress")]
impl Bar {
    fn of(count: usize) -> Self {
        let bar = indicatif::ProgressBar::new(count as u64);
        let style = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Prints above the bar.
    fn print(&self, text: &str) {
        if !text.is_empty() {
            self.0.suspend(|| print_painted(text));
        }
    }

    fn advance(&self, name: &str, failed: usize) {
        let failed = if failed == 0 { String::new() } else { format!("{failed} failed, ") };
        self.0.set_message(format!("{failed}last: {}", visible(&one_line(name))));
        self.0.inc(1);
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// Draws nothing: the build has no progress bars.
#[cfg(not(feature = "progress"))]
#[derive(Debug)]
struct Bar;

#[cfg(not(feature = "progress"))]
impl Bar {
    fn of(_: usize) -> Self {
        Self
    }

    fn print(&self, text: &str) {
        print_painted(text);
    }

    fn advance(&self, _: &str, _: usize) {}

    fn end(&self) {}
}
