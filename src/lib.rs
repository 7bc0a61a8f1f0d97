//! A wind tunnel for OpenShift updates.
//!
//! A simulated cluster (an in-memory Kubernetes API server, with a cluster-version operator, kubelets, operators and
//! friends as its only writers) is driven through updates and rollbacks in virtual time, while an update status
//! controller publishes insights. Modules in reading order; each uses only those above it:
//!
//! * [`base`]: clock, named random streams, YAML with positions, text columns, limits.
//! * [`model`]: the nouns as data: objects, views, writes, conditions, releases, insights.
//! * [`record`]: the append-only history of a run.
//! * [`apiserver`]: what a kube-apiserver answers. Usable alone.
//! * [`actors`]: how each cluster component behaves.
//! * [`insights`]: the update status controller.
//! * [`oc`]: the client `oc adm upgrade`: words and a ClusterVersion to texts and requests.
//! * [`scenario`]: the YAML language: text in, plan out.
//! * [`backends`]: "give me a cluster".
//! * [`engine`]: the run: time, steps, waits, expectations.
//! * [`status`]: objects to the text of `oc adm upgrade status`.
//! * [`dump`]: files of a cluster to objects.
//! * [`report`]: a record to text that people and machines read.
//! * `steps`: the Gherkin vocabulary (feature `gherkin`).
//! * [`cli`]: arguments, files, exit codes.

pub mod base;
pub mod model;
pub mod record;

pub mod apiserver;

pub mod actors;
pub mod insights;
pub mod oc;

pub mod backends;
pub mod engine;
pub mod scenario;

pub mod dump;
pub mod report;
pub mod status;

#[cfg(feature = "gherkin")]
pub mod steps;

pub mod cli;
