//! The one integration-test binary: public API and command line only.

mod apiserver;
mod cli;
mod insights;
mod manifests;
mod scenarios;
mod status;
mod tidy;
