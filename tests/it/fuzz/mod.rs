//! Random input for the API server, and what must hold whatever it says: no panic, no error of the server's own making, no
//! request that takes long, memory bounded. And random clusters for the status.
//!
//! `cargo test` plays a few seeds of each campaign, always the same ones. With `WINDTUNNEL_FUZZ_SECONDS=60` the campaigns go
//! on with fresh seeds for a minute together; with `WINDTUNNEL_FUZZ_SEED` they play that seed alone.

mod asking;
mod bodies;
mod campaign;
mod clusters;
mod dice;
mod patches;
mod policies;
mod properties;
mod queries;
mod requests;
mod schemas;
