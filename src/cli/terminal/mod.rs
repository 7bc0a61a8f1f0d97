//! The terminal: output formats, colours, progress, and interrupts.

pub(super) mod interrupt;
pub(super) mod output;
pub(super) mod paint;
pub(super) mod progress;
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) mod signal;
