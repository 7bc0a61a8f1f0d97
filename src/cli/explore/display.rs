//! The progress of an exploration: three lines on a terminal at standard error, and notices. Without a terminal there are only
//! notices.

use std::time::Duration;

use windtunnel_core::text::counted;
#[cfg(feature = "progress")]
use windtunnel_core::text::{one_line, visible};

use super::report;
use crate::cli::print_notice;
use crate::explore::Exploration;

/// The figures of the progress.
pub(super) struct Display {
    lines: Lines,
    /// The numbers of runs and of states at the start.
    runs: u64,
    states: usize,
    /// The end of the exploration, in words.
    goal: String,
    /// The state that was seen last, in words.
    newest: String,
    /// The number of cases in the corpus when it was seen.
    cases: usize,
}

impl Display {
    /// Begins the display of an exploration that continues this one. `goal` is its end in words, such as `of 10m`.
    pub(super) fn new(exploration: &Exploration, goal: String) -> Self {
        let display = Self {
            lines: Lines::new(),
            runs: exploration.runs,
            states: exploration.states_seen(),
            goal,
            newest: String::new(),
            cases: exploration.corpus.len(),
        };
        display.lines.show([&format!("0s {}", display.goal), "the first batch runs", ""]);
        display
    }

    /// Shows the figures after a batch.
    pub(super) fn update(&mut self, exploration: &Exploration, wall: Duration) {
        if let Some(kept) = exploration.corpus.last().filter(|_| exploration.corpus.len() > self.cases) {
            self.cases = exploration.corpus.len();
            self.newest = kept.states.last().cloned().unwrap_or_default();
        }
        let [first, second] = self.figures(exploration, wall);
        let newest =
            if self.newest.is_empty() { String::new() } else { format!("newest state: {}", self.newest) };
        self.lines.show([&first, &second, &newest]);
    }

    fn figures(&self, exploration: &Exploration, wall: Duration) -> [String; 2] {
        let whole = Duration::from_secs(wall.as_secs());
        let span = jiff::SignedDuration::try_from(whole).unwrap_or_default();
        let since = exploration.runs.saturating_sub(self.runs);
        let runs = usize::try_from(exploration.runs).unwrap_or(usize::MAX);
        let unshrunk = exploration.findings.iter().filter(|finding| !finding.is_shrunk).count();
        let shrinking = if unshrunk == 0 { String::new() } else { format!(", {unshrunk} of them shrinking") };
        [
            format!(
                "{} {}: {} ({:.1} per second), {:.2} simulated years",
                windtunnel_core::text::short_duration(span),
                self.goal,
                counted(runs, "run"),
                per_second(since, wall),
                report::years(exploration),
            ),
            format!(
                "{} ({:.1} new per minute), {}{shrinking}",
                counted(exploration.states_seen(), "state"),
                report::new_per_minute(exploration, self.states, wall),
                counted(exploration.findings.len(), "finding"),
            ),
        ]
    }

    /// Prints a notice above the lines.
    pub(super) fn print(&self, notice: &str) {
        self.lines.print(notice);
    }

    /// Removes the lines.
    pub(super) fn end(&self) {
        self.lines.end();
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn per_second(count: u64, wall: Duration) -> f64 {
    count as f64 / wall.as_secs_f64().max(0.001)
}

/// Lines that replace each other at the bottom of a terminal. Each is cut at its width.
#[cfg(feature = "progress")]
struct Lines {
    all: indicatif::MultiProgress,
    lines: [indicatif::ProgressBar; 3],
}

#[cfg(feature = "progress")]
impl Lines {
    fn new() -> Self {
        let all = indicatif::MultiProgress::new();
        let style = indicatif::ProgressStyle::with_template("{wide_msg}");
        let line = || {
            let line = all.add(indicatif::ProgressBar::new_spinner());
            if let Ok(style) = &style {
                line.set_style(style.clone());
            }
            line
        };
        let lines = [line(), line(), line()];
        Self { all, lines }
    }

    fn show(&self, texts: [&str; 3]) {
        for (line, text) in self.lines.iter().zip(texts) {
            line.set_message(visible(&one_line(text)).into_owned());
            line.tick();
        }
    }

    fn print(&self, notice: &str) {
        self.all.suspend(|| print_notice(notice));
    }

    fn end(&self) {
        self.lines.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    }
}

/// Draws nothing: the build has no progress display.
#[cfg(not(feature = "progress"))]
struct Lines;

#[cfg(not(feature = "progress"))]
impl Lines {
    fn new() -> Self {
        Self
    }

    fn show(&self, _: [&str; 3]) {}

    fn print(&self, notice: &str) {
        print_notice(notice);
    }

    fn end(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_this_process_where_they_are_rates() {
        let mut exploration = Exploration { runs: 100, ..Exploration::default() };
        let display = Display::new(&exploration, "of 10m".to_owned());
        exploration.runs = 220;
        exploration.states.insert("event A".to_owned(), 1);
        assert_eq!(
            display.figures(&exploration, Duration::from_millis(60_400)),
            [
                "1m of 10m: 220 runs (2.0 per second), 0.00 simulated years",
                "1 state (1.0 new per minute), 0 findings"
            ]
        );
    }
}
