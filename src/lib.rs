//! A wind tunnel for OpenShift updates.
//!
//! A simulated cluster (an in-memory Kubernetes API server, with a cluster-version operator, kubelets,
//! operators and others as its only writers) goes through updates and rollbacks in virtual time, while an
//! update status controller publishes insights. Its parts are separate crates: `windtunnel_core`,
//! `windtunnel_apiserver`, `windtunnel_controllers`, `windtunnel_openshift` and `windtunnel_update_status`.
//!
//! To test a controller in Rust, use [`tunnel::Tunnel`]: the controller gets a kube client and runs in a scenario, in virtual time.
//!
//! The modules here run the parts, in reading order:
//!
//! * [`folders`]: which folders the paths in a file may lead into.
//! * [`record`]: the append-only history of a run.
//! * [`plan`]: a scenario or a feature as data.
//! * [`scenario`]: the YAML language: text in, plan out.
//! * [`backends`]: creates clusters.
//! * [`engine`]: the run: time, steps, waits, expectations.
//! * [`dump`]: reads the files of a cluster as objects.
//! * [`rehearsal`]: the update of a cluster that exists, run in a copy.
//! * [`report`]: renders a record as text for people and machines.
//! * `steps`: the Gherkin vocabulary (feature `gherkin`).
//! * [`tunnel`]: tests of controllers in Rust.
//! * [`oracles`]: rules that every record keeps.
//! * [`explore`]: invents runs, and shrinks those that break a rule.
//! * [`cli`]: arguments, files, exit codes.

pub mod folders;
pub mod record;

pub mod plan;
pub mod scenario;

pub mod backends;
pub mod engine;

pub mod dump;
pub mod rehearsal;
pub mod report;

#[cfg(feature = "gherkin")]
pub mod steps;

pub mod tunnel;

pub mod oracles;

pub mod explore;

pub mod cli;
