//! Watches: what a client sees of the changes of a kind, as lines of a reply that does not end.
//!
//! * `stream.rs`: the phases of a watch, its place in the history, bookmarks
//! * `lines.rs`: the lines of events
//! * `src/verbs/watch.rs` checks the request and starts a watch

pub(crate) mod lines;
pub(crate) mod stream;
