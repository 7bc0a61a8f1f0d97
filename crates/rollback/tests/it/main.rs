//! The one integration-test binary of this crate: its public interface only.

mod definitions;
mod differences;
mod forward;
mod proofs;
mod support;
