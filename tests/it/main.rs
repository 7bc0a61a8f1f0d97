//! The one integration-test binary: public API and command line only.

mod apiserver;
mod cli;
#[cfg(all(unix, feature = "serve"))]
mod clients;
#[cfg(all(feature = "live", feature = "serve", feature = "gherkin"))]
mod containers;
mod controllers;
mod coverage;
mod docs;
mod fuzz;
mod insights;
#[cfg(feature = "serve")]
mod kubectl;
#[cfg(all(unix, feature = "live", feature = "serve", feature = "gherkin"))]
mod live;
mod manifests;
mod oc;
#[cfg(unix)]
mod operator;
mod real;
mod recordings;
mod rollback;
mod scenarios;
mod skipped;
mod status;
mod tidy;
mod tunnel;
mod update_status;
