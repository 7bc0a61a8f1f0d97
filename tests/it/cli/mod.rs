//! The program as users see it: its output, files and exit codes.

#[cfg(all(feature = "live", feature = "serve"))]
mod adm;
mod authoring;
#[cfg(all(feature = "live", feature = "serve", feature = "gherkin"))]
pub(crate) mod backends;
pub(crate) mod environment;
#[cfg(feature = "serve")]
mod envtest;
#[cfg(feature = "gherkin")]
mod features;
#[cfg(all(feature = "live", feature = "serve"))]
mod flights;
mod help;
mod html;
mod input;
#[cfg(all(feature = "live", feature = "serve"))]
mod insights;
#[cfg(unix)]
mod looking;
mod looking_back;
mod payloads;
mod published;
mod records;
mod reports;
mod scenarios;
#[cfg(feature = "serve")]
pub(crate) mod serve;
mod start_from;
mod status;
mod traces;
