//! A progress bar on the terminal during a run. Without a terminal nothing is drawn.

#[cfg(feature = "progress")]
pub(in crate::cli) struct Progress(indicatif::ProgressBar);

#[cfg(feature = "progress")]
impl Progress {
    /// Creates a bar for this many scenarios, on standard error.
    pub(in crate::cli) fn of(count: usize) -> Self {
        let bar = indicatif::ProgressBar::new(count as u64);
        let style = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Advances the bar by one scenario.
    pub(in crate::cli) fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }

    pub(in crate::cli) fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(not(feature = "progress"))]
pub(in crate::cli) struct Progress;

#[cfg(not(feature = "progress"))]
impl Progress {
    /// Does nothing in a build without progress bars.
    pub(in crate::cli) fn of(_: usize) -> Self {
        Self
    }

    pub(in crate::cli) fn done(&self, _: &str) {}

    pub(in crate::cli) fn end(&self) {}
}
