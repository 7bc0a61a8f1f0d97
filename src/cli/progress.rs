//! A bar on the terminal while scenarios are played. Where there is no terminal nothing is drawn: the results are lines of
//! their own.

#[cfg(feature = "progress")]
pub(super) struct Progress(indicatif::ProgressBar);

#[cfg(feature = "progress")]
impl Progress {
    /// A bar for so many scenarios, on standard error.
    pub(super) fn of(count: usize) -> Self {
        let bar = indicatif::ProgressBar::new(count as u64);
        let style = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// One more is done.
    pub(super) fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(not(feature = "progress"))]
pub(super) struct Progress;

#[cfg(not(feature = "progress"))]
impl Progress {
    /// Nothing is drawn by this program.
    pub(super) fn of(_: usize) -> Self {
        Self
    }

    /// One more is done.
    pub(super) fn done(&self, _: &str) {}

    /// Nothing is to be taken away.
    pub(super) fn end(&self) {}
}
