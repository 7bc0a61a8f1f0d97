//! Async edge.
