//! Random input for the API server, and properties that must always hold: no panic, no internal error, no
//! slow request, bounded memory. Also random clusters for the status, random values of Secrets, and damaged inputs of
//! everything that reads bytes of a user or of a network.
//!
//! `cargo test` runs the first few seeds of each campaign. With `WINDTUNNEL_FUZZ_SECONDS=60` the campaigns
//! continue with new seeds, for a minute together; with `WINDTUNNEL_FUZZ_SEED` they run that seed alone.

mod bodies;
mod campaign;
mod checked_server;
mod clusters;
mod dice;
mod patches;
#[cfg(unix)]
mod paths;
mod policies;
mod properties;
mod queries;
mod readers;
mod requests;
mod schemas;
mod secrets;
mod texts;
