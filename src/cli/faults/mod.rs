//! Random faults of a served API server, and the log of what they did to clients.

pub(super) mod log;
