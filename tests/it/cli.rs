//! The program as people meet it: what it prints, writes and exits with.

mod environment;
#[cfg(feature = "gherkin")]
mod features;
mod input;
mod records;
mod scenarios;
#[cfg(feature = "serve")]
mod serve;
