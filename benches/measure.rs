//! Measures by the wall clock, and prints a table of the results.

use std::time::Duration;

use windtunnel_core::text;

/// The default number of rounds of each measurement.
pub(crate) const ROUNDS: usize = 15;

/// The times of some rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// The least processor time of this thread in a round, if Linux reports it; else that of the fastest
    /// round. Other users of the machine influence it less.
    pub(crate) cpu: Duration,
    /// The median of the rounds.
    pub(crate) median: Duration,
    /// The fastest round: the cost of the work on an idle machine.
    pub(crate) fastest: Duration,
}

impl Timing {
    /// The cost of the work without that of other work.
    pub(crate) fn less(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            median: self.median.saturating_sub(other.median),
            fastest: self.fastest.saturating_sub(other.fastest),
        }
    }
}

/// The memory of this process in kB, from Linux: `VmRSS:` now, `VmHWM:` at most; 0 on other systems.
pub(crate) fn resident_kb(which: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A section of results.
pub(crate) struct Table {
    /// Another server to compare with.
    #[cfg(feature = "serve")]
    pub(crate) against: Option<crate::https::Against>,
    rounds: usize,
    is_trial: bool,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose measurements take this many rounds. A trial only checks that everything works.
    pub(crate) fn new(section: &str, rounds: usize, is_trial: bool) -> Self {
        let head = [section, "median", "fastest", "CPU", "figure", "requirement"].map(str::to_owned).to_vec();
        Self {
            #[cfg(feature = "serve")]
            against: None,
            rounds: rounds.max(1),
            is_trial,
            rows: vec![head],
        }
    }

    /// Times `work`, each round on new input from `prepare`. Preparing, and dropping the output, do not
    /// count.
    pub(crate) fn time<I, O>(
        &self,
        mut prepare: impl FnMut() -> I,
        mut work: impl FnMut(I) -> Result<O, String>,
    ) -> Result<Timing, String> {
        let mut times = Vec::with_capacity(self.rounds);
        let mut cpu = Duration::MAX;
        for _ in 0..self.rounds {
            let input = prepare();
            let before = processor_time();
            let (output, time) = clocked(|| work(input));
            let after = processor_time();
            output?;
            times.push(time);
            cpu = cpu.min(before.zip(after).map_or(time, |(before, after)| after.saturating_sub(before)));
        }
        times.sort_unstable();
        Ok(Timing { cpu, median: times[times.len() / 2], fastest: times[0] })
    }

    /// Whether this run only checks that everything works.
    pub(crate) fn is_trial(&self) -> bool {
        self.is_trial
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, what: &str, timing: Timing, figure: String, requirement: &str) {
        self.rows.push(vec![
            what.to_owned(),
            ms(timing.median),
            ms(timing.fastest),
            ms(timing.cpu),
            figure,
            requirement.to_owned(),
        ]);
    }

    /// Adds a row about something other than time.
    pub(crate) fn note(&mut self, what: &str, figure: &str, requirement: &str) {
        let row = [what, "", "", "", figure, requirement];
        self.rows.push(row.map(str::to_owned).to_vec());
    }

    /// The rows in columns.
    pub(crate) fn text(&self) -> String {
        text::columns(&self.rows)
    }
}

#[expect(clippy::disallowed_methods, reason = "wall time is what is measured")]
fn clocked<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// The time of this thread on a processor (`/proc/thread-self/schedstat`).
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The number per second, such as `120,000/s`.
pub(crate) fn rate(count: usize, time: Duration) -> String {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    format!("{}/s", thousands(f64::from(count) / time.as_secs_f64()))
}

/// A whole number with thousands separators: `1,234,567`.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}
