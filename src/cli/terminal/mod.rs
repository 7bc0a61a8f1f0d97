//! The terminal: what commands print, progress bars, and interrupts.

pub(super) mod interrupt;
pub(super) mod output;
pub(super) mod progress;
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) mod signal;
