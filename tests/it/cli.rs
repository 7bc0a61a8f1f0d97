//! The program as people meet it: what it prints, writes and exits with.

#[cfg(all(feature = "live", feature = "serve"))]
mod adm;
mod authoring;
pub(crate) mod environment;
#[cfg(feature = "gherkin")]
mod features;
mod input;
mod payloads;
mod records;
mod scenarios;
#[cfg(feature = "serve")]
pub(crate) mod serve;
mod status;
mod traces;
