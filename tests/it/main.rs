//! The one integration-test binary: public API and command line only.

mod apiserver;
mod cli;
mod controllers;
mod fuzz;
mod insights;
#[cfg(feature = "serve")]
mod kubectl;
mod manifests;
mod oc;
mod scenarios;
mod status;
mod tidy;
mod update_status;
